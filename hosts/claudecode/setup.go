package claudecode

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"flame/config/env"
	"flame/hosts"
)

// The marketplace is declared in the user's settings for either scope: its path
// is in the user's home, so a project's settings, which may be committed, only
// name the plugin. Without the marketplace that line has no effect (observed).
const (
	marketplaceName = "flame-setup"
	pluginName      = "flame@" + marketplaceName
)

// A Client is Claude Code on a machine (a hosts.Client).
type Client struct {
	Machine hosts.Machine
}

// Install plans the marketplace folder, its registration and the plugin in
// scope. A plugin that is outdated or switched off is restored.
func (h Client) Install(ctx context.Context, scope hosts.Scope) ([]hosts.SetupStep, error) {
	claude, err := h.runner()
	if err != nil {
		return nil, err
	}
	if err := h.mayWrite(scope); err != nil {
		return nil, err
	}
	offered, err := h.offers(ctx, claude)
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
	steps := hosts.WriteFolder(h.folder(), offered.files)
	if !slices.ContainsFunc(known, h.isOurs) {
		steps = append(steps, claude.Step("plugin", "marketplace", "add", h.folder()))
	}
	ours, found := h.installed(plugins, scope)
	switch {
	case !found || !ours.Enabled:
		steps = append(steps, claude.Step("plugin", "install", pluginName, "--scope", string(scope)))
	case ours.Version != offered.version:
		steps = append(steps, claude.Step("plugin", "update", pluginName, "--scope", string(scope)))
	}
	return steps, nil
}

// Remove plans to uninstall the plugin from scope, and to remove the
// marketplace and its folder if no other scope or project has the plugin. If
// Claude Code itself is gone, only the folder is left to delete.
func (h Client) Remove(ctx context.Context, scope hosts.Scope) ([]hosts.SetupStep, error) {
	var steps []hosts.SetupStep
	if claude, err := h.runner(); err == nil {
		if err := h.mayWrite(scope); err != nil {
			return nil, err
		}
		plugins, err := claude.plugins(ctx)
		if err != nil {
			return nil, err
		}
		if _, found := h.installed(plugins, scope); found {
			steps = append(steps, h.tidily(scope, claude.Step("plugin", "uninstall", pluginName, "--scope", string(scope))))
		}
		if h.usedBeside(plugins, scope) {
			return steps, nil
		}
		known, err := claude.marketplaces(ctx)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(known, func(m listedMarketplace) bool { return m.Name == marketplaceName }) {
			steps = append(steps, claude.Step("plugin", "marketplace", "remove", marketplaceName))
		}
	}
	return append(steps, h.Machine.Files(hosts.ScopeUser).Remove(h.folder(), h.Machine.DataHome())...), nil
}

// Status asks Claude Code for its plugins and reads its files for servers that
// were added by hand.
func (h Client) Status(ctx context.Context) (hosts.Status, error) {
	byHand, err := h.registrations()
	status := hosts.Status{ByHand: byHand}
	if err != nil {
		return status, err
	}
	claude, err := h.runner()
	if err != nil {
		return status, nil // not installed, which an empty Program says
	}
	status.Program, status.Version = claude.Path, h.Machine.Version(ctx, claude.Path)
	plugins, err := claude.plugins(ctx)
	if err != nil {
		return status, err
	}
	there, written, err := h.written()
	if err != nil {
		return status, err
	}
	status.AvailableVersion, status.Tools = there.version, profile
	for _, p := range plugins {
		switch {
		case p.ID == pluginName:
			status.Installed = append(status.Installed, hosts.Installation{
				Scope: p.Scope, Where: p.where(), Current: written && p.Version == there.version, Off: !p.Enabled,
			})
		case strings.HasPrefix(p.ID, "flame@") && p.Enabled: // from another marketplace
			status.ByHand = append(status.ByHand, hosts.Registration{
				Name: p.ID, File: p.InstallPath, Undo: fmt.Sprintf("claude plugin uninstall %s --scope %s", p.ID, p.Scope), Plugin: true,
			})
		}
	}
	if written && len(status.Installed) > 0 && there.calling {
		status.Refused = claude.refuses(ctx, filepath.Join(h.folder(), "plugin"))
	}
	return status, nil
}

// offers returns the form of the plugin that suits the client: its hooks call the server
// unless the user chose commands, or the client does not load such a plugin.
func (h Client) offers(ctx context.Context, claude runner) (form, error) {
	calling, err := formOf(h.Machine.Binary(), true)
	if err != nil || !strings.EqualFold(h.Machine.Getenv(env.Hooks), env.Commands) && claude.loads(ctx, calling) {
		return calling, err
	}
	return formOf(h.Machine.Binary(), false)
}

// written returns the form of the plugin that is in our folder, and whether it is there as
// this flame writes it; otherwise a form that may be offered.
func (h Client) written() (there form, is bool, err error) {
	for _, calling := range []bool{false, true} {
		if there, err = formOf(h.Machine.Binary(), calling); err != nil {
			return there, false, err
		}
		if len(hosts.WriteFolder(h.folder(), there.files)) == 0 {
			return there, true, nil
		}
	}
	return there, false, nil
}

// tidily returns a step after which the project has no settings file that the client made
// for the plugin and left with nothing in it.
func (h Client) tidily(scope hosts.Scope, step hosts.SetupStep) hosts.SetupStep {
	if scope != hosts.ScopeProject {
		return step
	}
	uninstall := step.Do
	step.Do = func(ctx context.Context) error {
		if err := uninstall(ctx); err != nil {
			return err
		}
		file := filepath.Join(h.Machine.ProjectDir, ".claude", "settings.json")
		raw, err := os.ReadFile(file)
		var settings, plugins map[string]json.RawMessage
		if err != nil || json.Unmarshal(raw, &settings) != nil {
			return nil // the file does not exist, or is not for us to judge
		}
		if json.Unmarshal(settings["enabledPlugins"], &plugins) == nil && len(plugins) == 0 {
			delete(settings, "enabledPlugins")
		}
		if len(settings) > 0 {
			return nil
		}
		if err := os.Remove(file); err != nil {
			return err
		}
		_ = os.Remove(filepath.Dir(file)) // unless there is more in it
		return nil
	}
	return step
}

// mayWrite refuses a scope whose settings Claude Code would write outside the
// project.
func (h Client) mayWrite(scope hosts.Scope) error {
	if scope != hosts.ScopeProject {
		return nil
	}
	return h.Machine.Files(scope).Check(filepath.Join(h.Machine.ProjectDir, ".claude", "settings.json"))
}

// folder returns the marketplace's folder; it must outlast this process and any
// checkout.
func (h Client) folder() string {
	return filepath.Join(h.Machine.DataHome(), "flame", "claude-code")
}

func (h Client) isOurs(m listedMarketplace) bool {
	return m.Name == marketplaceName && m.Path == h.folder()
}

// installed finds our plugin in scope; for Project, the plugin of this project.
func (h Client) installed(plugins []listedPlugin, scope hosts.Scope) (listedPlugin, bool) {
	i := slices.IndexFunc(plugins, func(p listedPlugin) bool { return p.ID == pluginName && h.in(p, scope) })
	if i < 0 {
		return listedPlugin{}, false
	}
	return plugins[i], true
}

// usedBeside reports whether our plugin is installed outside scope. Projects
// that are gone do not count: Claude Code lists them forever.
func (h Client) usedBeside(plugins []listedPlugin, scope hosts.Scope) bool {
	return slices.ContainsFunc(plugins, func(p listedPlugin) bool {
		_, err := os.Stat(p.where())
		return p.ID == pluginName && !h.in(p, scope) && err == nil
	})
}

func (h Client) in(p listedPlugin, scope hosts.Scope) bool {
	return p.Scope == scope && (scope == hosts.ScopeUser || hosts.SameFolder(p.ProjectPath, h.Machine.ProjectDir))
}

// runner finds Claude Code; its command line works in the project's folder.
func (h Client) runner() (runner, error) {
	program, err := facts().On(h.Machine)
	return runner{program}, err
}
