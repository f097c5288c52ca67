package opencode

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"flame/config/env"
	"flame/core"
	"flame/core/op"
	"flame/hosts"
)

//go:embed flame.js
var source []byte

// placeholder is the line of flame.js in the repository that setup replaces by what it knows.
const placeholder = `const given = { version: "dev", tools: [], commands: {} }`

// pluginConfig is what setup tells flame.js.
type pluginConfig struct {
	Version  string                  `json:"version"`
	Tools    []string                `json:"tools"` // names of flame's
	Commands map[string]slashCommand `json:"commands"`
	Profile  string                  `json:"profile"`
	Moves    op.MovePatterns         `json:"moves"`
	Parts    string                  `json:"parts,omitempty"` // in an npm package: how the names of the packages with the program begin
}

// A slashCommand is a slash command in OpenCode's configuration.
type slashCommand struct {
	Description string `json:"description"`
	Template    string `json:"template"`
}

// slashCommands returns flame's slash commands by their names in OpenCode.
func slashCommands() map[string]slashCommand {
	commands := map[string]slashCommand{}
	for _, c := range op.Commands {
		commands["flame:"+c.Name] = slashCommand{c.Description, c.Prompt(op.CommandLine)}
	}
	return commands
}

// plugin returns flame.js as installed, and its version: a digest, which shows
// the content that OpenCode has loaded.
func (h Client) plugin() (content []byte, version string) { return pluginOf(h.OwnTools(), "") }

func pluginOf(ownTools []string, parts string) (content []byte, version string) {
	g := pluginConfig{Tools: ownTools, Commands: slashCommands(), Profile: hosts.LeanTools, Moves: op.PatternsOfMoves(), Parts: parts}
	digest := sha256.Sum256(g.written())
	g.Version = hex.EncodeToString(digest[:6])
	return g.written(), g.Version
}

// Package returns flame.js for an npm package. The program is in other packages, whose names begin
// with that of the package and end in a system.
func Package(ownTools func() []string, name string) []byte {
	content, _ := pluginOf(ownTools(), name)
	return content
}

// written returns flame.js with what setup knows.
func (g pluginConfig) written() []byte {
	known, err := json.Marshal(g)
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return bytes.Replace(source, []byte(placeholder), fmt.Appendf(nil, "const given = %s", known), 1)
}

// ours begins every flame.js that a setup wrote, of any version.
var ours = []byte("// Flame for OpenCode")

// A Client is OpenCode on a machine (a hosts.Client).
type Client struct {
	Machine  hosts.Machine
	OwnTools func() []string // lists the names of flame's tools
}

// Install plans to write the file. A flame.js that no setup wrote stays: the
// error is a Problem.
func (h Client) Install(_ context.Context, scope hosts.Scope) ([]hosts.SetupStep, error) {
	if _, err := facts().Find(h.Machine); err != nil {
		return nil, err
	}
	file, files := h.file(scope), h.Machine.Files(scope)
	if there, err := files.Read(file); err == nil && !bytes.HasPrefix(there, ours) {
		return nil, core.Invalidf("%s exists and is not flame's", file).WithHint("rename it, then run this again")
	}
	content, _ := h.plugin()
	return files.Write(file, content, 0o644)
}

// Remove plans to delete the file, if a setup wrote it.
func (h Client) Remove(_ context.Context, scope hosts.Scope) ([]hosts.SetupStep, error) {
	file, files, stop := h.file(scope), h.Machine.Files(scope), h.Machine.ConfigHome()
	if scope == hosts.ScopeProject {
		stop = h.Machine.ProjectDir
	}
	there, err := files.Read(file)
	switch {
	case hosts.IsMissing(err) || err == nil && !bytes.HasPrefix(there, ours):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return files.Remove(file, stop), nil
}

// Status looks for our file in both scopes and for flame in the configurations
// of user and project.
func (h Client) Status(ctx context.Context) (hosts.Status, error) {
	byHand, err := h.registrations()
	status := hosts.Status{ByHand: byHand, ManualWins: true} // our plugin makes sure of that
	if err != nil {
		return status, err
	}
	if path, err := facts().Find(h.Machine); err == nil {
		status.Program, status.Version = path, h.Machine.Version(ctx, path)
	}
	content, version := h.plugin()
	status.AvailableVersion, status.Tools = version, hosts.LeanTools
	for scope, there := range h.installed() {
		status.Installed = append(status.Installed, hosts.Installation{
			Scope: scope, Where: h.file(scope), Current: bytes.Equal(there, content),
		})
	}
	return status, nil
}

// installed yields what setup wrote, by scope.
func (h Client) installed() iter.Seq2[hosts.Scope, []byte] {
	return func(yield func(hosts.Scope, []byte) bool) {
		for _, scope := range []hosts.Scope{hosts.ScopeUser, hosts.ScopeProject} {
			there, err := h.Machine.Files(scope).Read(h.file(scope))
			if err == nil && bytes.HasPrefix(there, ours) && !yield(scope, there) {
				return
			}
		}
	}
}

// file returns our plugin's path. All versions of OpenCode read the folder
// "plugin", newer ones "plugins" as well.
func (h Client) file(scope hosts.Scope) string {
	dir := filepath.Join(h.Machine.ProjectDir, ".opencode")
	if scope == hosts.ScopeUser {
		dir = h.userFolder()
	}
	return filepath.Join(dir, "plugin", "flame.js")
}

func (h Client) userFolder() string {
	return filepath.Join(h.Machine.ConfigHome(), "opencode")
}

// registrations finds flame among the servers in the configuration files of
// user and project, which are only read.
func (h Client) registrations() ([]hosts.Registration, error) {
	configs, err := h.configs()
	if err != nil {
		return nil, err
	}
	var found []hosts.Registration
	for _, config := range configs {
		servers, plugins, err := flamesOf(config.content)
		if err != nil {
			return nil, fmt.Errorf("look for flame in %s: %w", config.file, err)
		}
		for _, name := range servers {
			found = append(found, hosts.Registration{
				Name: name, File: config.file, Undo: fmt.Sprintf("delete %q from \"mcp\" in %s", name, config.file),
			})
		}
		for _, name := range plugins {
			found = append(found, hosts.Registration{
				Name: name, File: config.file, Undo: fmt.Sprintf("delete %q from \"plugin\" in %s", name, config.file), Plugin: true,
			})
		}
	}
	return found, nil
}

// A config is one of OpenCode's configuration files.
type config struct {
	file    string
	content []byte
}

// configs returns the existing files that OpenCode merges for a session in the
// project's folder, in its order. An unreadable file is an error: OpenCode
// itself may act on it.
func (h Client) configs() (all []config, err error) {
	own, projects := h.Machine.Files(hosts.ScopeUser), h.Machine.Files(hosts.ScopeProject)
	read := func(files hosts.Files, file string) {
		if err != nil {
			return
		}
		var content []byte
		if content, err = files.Read(file); err == nil {
			all = append(all, config{file, content})
		} else if hosts.IsMissing(err) {
			err = nil
		}
	}
	for _, name := range []string{"opencode.json", "opencode.jsonc"} {
		read(own, filepath.Join(h.userFolder(), name))
	}
	for _, file := range projectConfigs(h.Machine) {
		read(projects, file)
	}
	if extra := h.Machine.Getenv("OPENCODE_CONFIG"); extra != "" {
		read(own, extra)
	}
	return all, err
}

// projectConfigs returns where a project has configuration files, in OpenCode's order.
func projectConfigs(m hosts.Machine) (files []string) {
	for _, dir := range []string{m.ProjectDir, filepath.Join(m.ProjectDir, ".opencode")} {
		files = append(files, filepath.Join(dir, "opencode.json"), filepath.Join(dir, "opencode.jsonc"))
	}
	return files
}

// setsVariable returns the project's file that sets a variable for a server of OpenCode's.
func setsVariable(m hosts.Machine, name string) string {
	return m.FindMember(projectConfigs(m), hosts.PlainJSON, name)
}

// flamesOf returns the names of flame's servers and plugins in a configuration. A server
// that is switched off starts nothing and does not count.
func flamesOf(config []byte) (servers, plugins []string, err error) {
	var document struct {
		MCP map[string]struct {
			Command []string `json:"command"`
			Enabled *bool    `json:"enabled"`
		} `json:"mcp"`
		Plugin []json.RawMessage `json:"plugin"` // each a name, or a list of a name and options
	}
	if plain := hosts.PlainJSON(config); len(plain) > 0 {
		if err := json.Unmarshal(plain, &document); err != nil {
			return nil, nil, err
		}
	}
	for _, entry := range document.Plugin {
		var name string
		if json.Unmarshal(entry, &name) != nil {
			_ = json.Unmarshal(entry, &[]any{&name}) // OpenCode does not know an entry of another form either
		}
		if base, _, _ := strings.Cut(name, "@"); base == env.NPM {
			plugins = append(plugins, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(document.MCP)) {
		server := document.MCP[name]
		off := server.Enabled != nil && !*server.Enabled
		if !off && hosts.IsFlame(name, append(server.Command, "")[0]) {
			servers = append(servers, name)
		}
	}
	return servers, plugins, nil
}
