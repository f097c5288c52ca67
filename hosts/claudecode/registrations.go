package claudecode

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"flame/hosts"
)

// A serverList is the part of Claude Code's configuration that names MCP servers.
type serverList struct {
	Servers map[string]struct {
		Command string `json:"command"`
	} `json:"mcpServers"`
}

// registrations finds flame among the servers that `claude mcp add` or an
// editor put into the user's file or the project's. The files are only read:
// asking `claude mcp list` would start every server.
func (h Client) registrations() ([]hosts.Registration, error) {
	var user struct {
		serverList
		Projects map[string]serverList `json:"projects"`
	}
	var project serverList
	userFile, projectFile := h.userFile(), filepath.Join(h.Machine.ProjectDir, ".mcp.json")
	err := errors.Join(h.read(hosts.User, userFile, &user), h.read(hosts.Project, projectFile, &project))
	if err != nil {
		return nil, err
	}
	found := user.registrations(userFile, "user")
	for dir, list := range user.Projects {
		if hosts.Same(dir, h.Machine.ProjectDir) {
			found = append(found, list.registrations(userFile, "local")...)
		}
	}
	return append(found, project.registrations(projectFile, "project")...), nil
}

// userFile returns where Claude Code keeps servers of scope user and local.
func (h Client) userFile() string {
	if dir := h.Machine.Getenv("CLAUDE_CONFIG_DIR"); dir != "" {
		return filepath.Join(dir, ".claude.json")
	}
	return filepath.Join(h.Machine.Home, ".claude.json")
}

func (l serverList) registrations(file, scope string) []hosts.Registration {
	var found []hosts.Registration
	for _, name := range slices.Sorted(maps.Keys(l.Servers)) {
		if hosts.IsFlame(name, l.Servers[name].Command) {
			found = append(found, hosts.Registration{Name: name, File: file, Undo: commandLine("mcp", "remove", name, "--scope", scope)})
		}
	}
	return found
}

// errNoJSON is returned for a settings file that Claude Code cannot read
// either.
var errNoJSON = errors.New("not what Claude Code writes")

// read decodes a file of a scope into into, which stays empty if the file does
// not exist.
func (h Client) read(scope hosts.Scope, file string, into any) error {
	content, err := h.Machine.Files(scope).Read(file)
	if hosts.IsMissing(err) || err == nil && len(content) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(content, into); err != nil {
		return fmt.Errorf("look for flame in %s: %w: %w", file, errNoJSON, err)
	}
	return nil
}
