// Package claudecode sets Claude Code up for flame: our plugin, installed by
// Claude Code's own command line from a marketplace folder that we write. No
// file of Claude Code's is edited here.
package claudecode

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"flame/hosts"
)

// Name is the host's name in flame, Program that of its binary.
const (
	Name    = "claude-code"
	Program = "claude"
)

// The marketplace is declared in the user's settings for either scope: its path
// is in the user's home, so a project's settings, which may be committed, only
// name the plugin. Without the marketplace that line does nothing (ran).
const (
	marketplaceName = "flame-setup"
	pluginName      = "flame@" + marketplaceName
)

// A Setup is a hosts.Setup for Claude Code.
type Setup struct {
	Machine hosts.Machine
}

// ByHand returns the command that registers the server in Claude Code.
func (s Setup) ByHand() string {
	return "claude mcp add flame -- flame serve"
}

// Install plans the marketplace folder, its registration and the plugin in
// scope. A plugin that is there but older, or switched off, is brought back.
func (s Setup) Install(ctx context.Context, scope hosts.Scope) ([]hosts.Step, error) {
	claude, err := s.client()
	if err != nil {
		return nil, err
	}
	if err := s.mayWrite(scope); err != nil {
		return nil, err
	}
	files, version, err := marketplace(s.Machine.Binary())
	if err != nil {
		return nil, err
	}
	known, err := claude.marketplaces(ctx)
	if err != nil {
		return nil, err
	}
	plugins, err := claude.plugins(ctx)
	if err != nil {
		return nil, err
	}
	steps := hosts.WriteFolder(s.folder(), files)
	if !slices.ContainsFunc(known, s.isOurs) {
		steps = append(steps, claude.step("plugin", "marketplace", "add", s.folder()))
	}
	ours, found := s.installed(plugins, scope)
	switch {
	case !found || !ours.Enabled:
		steps = append(steps, claude.step("plugin", "install", pluginName, "--scope", string(scope)))
	case ours.Version != version:
		steps = append(steps, claude.step("plugin", "update", pluginName, "--scope", string(scope)))
	}
	return steps, nil
}

// Remove plans to uninstall the plugin from scope, and to take the marketplace
// and its folder away when no other scope or project has the plugin. Where
// Claude Code itself is gone only the folder is left to delete.
func (s Setup) Remove(ctx context.Context, scope hosts.Scope) ([]hosts.Step, error) {
	var steps []hosts.Step
	if claude, err := s.client(); err == nil {
		if err := s.mayWrite(scope); err != nil {
			return nil, err
		}
		plugins, err := claude.plugins(ctx)
		if err != nil {
			return nil, err
		}
		if _, found := s.installed(plugins, scope); found {
			steps = append(steps, claude.step("plugin", "uninstall", pluginName, "--scope", string(scope)))
		}
		if s.usedBeside(plugins, scope) {
			return steps, nil
		}
		known, err := claude.marketplaces(ctx)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(known, func(m listedMarketplace) bool { return m.Name == marketplaceName }) {
			steps = append(steps, claude.step("plugin", "marketplace", "remove", marketplaceName))
		}
	}
	return append(steps, s.Machine.Files(hosts.User).Remove(s.folder(), s.Machine.DataHome())...), nil
}

// Status asks Claude Code for its plugins and reads its files for servers that
// were added by hand.
func (s Setup) Status(ctx context.Context) (hosts.Status, error) {
	byHand, err := s.registrations()
	status := hosts.Status{ByHand: byHand}
	if err != nil {
		return status, err
	}
	claude, err := s.client()
	if err != nil {
		return status, nil // not installed: an empty Program says so
	}
	status.Program, status.Version = claude.path, s.Machine.Version(ctx, claude.path)
	plugins, err := claude.plugins(ctx)
	if err != nil {
		return status, err
	}
	files, version, err := marketplace(s.Machine.Binary())
	if err != nil {
		return status, err
	}
	status.Offers = version
	written := len(hosts.WriteFolder(s.folder(), files)) == 0
	for _, p := range plugins {
		switch {
		case p.ID == pluginName:
			status.Installed = append(status.Installed, hosts.Installation{
				Scope: p.Scope, Where: p.where(), Current: written && p.Version == version,
			})
		case p.isFlame():
			status.ByHand = append(status.ByHand, hosts.Registration{
				Name: p.ID, File: p.InstallPath, Undo: fmt.Sprintf("claude plugin uninstall %s --scope %s", p.ID, p.Scope),
			})
		}
	}
	return status, nil
}

// mayWrite refuses a scope whose settings Claude Code would write to somewhere else
// than the project.
func (s Setup) mayWrite(scope hosts.Scope) error {
	if scope != hosts.Project {
		return nil
	}
	return s.Machine.Files(scope).Check(filepath.Join(s.Machine.ProjectDir, ".claude", "settings.json"))
}

// folder is the marketplace's; it must outlast this process and any checkout.
func (s Setup) folder() string {
	return filepath.Join(s.Machine.DataHome(), "flame", "claude-code")
}

func (s Setup) isOurs(m listedMarketplace) bool {
	return m.Name == marketplaceName && m.Path == s.folder()
}

// installed finds our plugin in scope, for Project that of this project.
func (s Setup) installed(plugins []listedPlugin, scope hosts.Scope) (listedPlugin, bool) {
	i := slices.IndexFunc(plugins, func(p listedPlugin) bool { return p.ID == pluginName && s.in(p, scope) })
	if i < 0 {
		return listedPlugin{}, false
	}
	return plugins[i], true
}

// usedBeside reports whether our plugin is anywhere but in scope. Projects that
// are gone do not count: Claude Code lists them forever.
func (s Setup) usedBeside(plugins []listedPlugin, scope hosts.Scope) bool {
	return slices.ContainsFunc(plugins, func(p listedPlugin) bool {
		_, err := os.Stat(p.where())
		return p.ID == pluginName && !s.in(p, scope) && err == nil
	})
}

func (s Setup) in(p listedPlugin, scope hosts.Scope) bool {
	return p.Scope == scope && (scope == hosts.User || hosts.Same(p.ProjectPath, s.Machine.ProjectDir))
}

// client finds Claude Code, whose command line works for the project's folder.
func (s Setup) client() (client, error) {
	path, err := s.Machine.LookPath(Program)
	if err != nil {
		return client{}, hosts.Missing(Name, Program, s.ByHand())
	}
	return client{machine: s.Machine, path: path}, nil
}
