package opencode

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"flame/config/env"
	"flame/hosts"
)

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
	return m.Naming(projectConfigs(m), hosts.PlainJSON, name)
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
			_ = json.Unmarshal(entry, &[]any{&name}) // otherwise it is none that OpenCode knows
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
