package opencode

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"flame/hosts"
)

// registrations finds flame among the servers in the configuration files of
// user and project, which are only read.
func (s Setup) registrations() ([]hosts.Registration, error) {
	var found []hosts.Registration
	for _, file := range s.configFiles() {
		content, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var names []string
		if err == nil {
			names, err = flameServers(content)
		}
		if err != nil {
			return nil, fmt.Errorf("look for flame in %s: %w", file, err)
		}
		for _, name := range names {
			found = append(found, hosts.Registration{
				Name: name, File: file, Undo: fmt.Sprintf("delete %q from \"mcp\" in %s", name, file),
			})
		}
	}
	return found, nil
}

// configFiles are those OpenCode merges for a session in the project's folder.
func (s Setup) configFiles() []string {
	var files []string
	for _, dir := range []string{s.userFolder(), s.Machine.ProjectDir, filepath.Join(s.Machine.ProjectDir, ".opencode")} {
		files = append(files, filepath.Join(dir, "opencode.json"), filepath.Join(dir, "opencode.jsonc"))
	}
	if extra := s.Machine.Getenv("OPENCODE_CONFIG"); extra != "" {
		files = append(files, extra)
	}
	return files
}

// flameServers gives the names under which a configuration has flame's server.
// An entry that is switched off starts nothing, so it is not one.
func flameServers(config []byte) ([]string, error) {
	var document struct {
		MCP map[string]struct {
			Command []string `json:"command"`
			Enabled *bool    `json:"enabled"`
		} `json:"mcp"`
	}
	if plain := standardize(config); len(plain) > 0 {
		if err := json.Unmarshal(plain, &document); err != nil {
			return nil, err
		}
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(document.MCP)) {
		server := document.MCP[name]
		off := server.Enabled != nil && !*server.Enabled
		if !off && hosts.IsFlame(name, append(server.Command, "")[0]) {
			names = append(names, name)
		}
	}
	return names, nil
}
