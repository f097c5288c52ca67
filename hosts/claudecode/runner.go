package claudecode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"flame/hosts"
)

// A runner runs Claude Code's own command line.
type runner struct{ hosts.Program }

// A listedPlugin is one installation listed by `claude plugin list --json`.
type listedPlugin struct {
	ID          string      `json:"id"`
	Version     string      `json:"version"`
	Scope       hosts.Scope `json:"scope"`
	Enabled     bool        `json:"enabled"`
	InstallPath string      `json:"installPath"`
	ProjectPath string      `json:"projectPath"` // for scopes other than user
}

func (p listedPlugin) where() string {
	if p.ProjectPath != "" {
		return p.ProjectPath
	}
	return p.InstallPath
}

// A listedMarketplace is one listed by `claude plugin marketplace list --json`.
type listedMarketplace struct {
	Name string `json:"name"`
	Path string `json:"path"` // if it is a folder
}

func (r runner) plugins(ctx context.Context) ([]listedPlugin, error) {
	var list []listedPlugin
	err := r.RunJSON(ctx, &list, "plugin", "list", "--json")
	return list, err
}

func (r runner) marketplaces(ctx context.Context) ([]listedMarketplace, error) {
	var list []listedMarketplace
	err := r.RunJSON(ctx, &list, "plugin", "marketplace", "list", "--json")
	return list, err
}

// callingSince is the first version known to have hooks that call MCP servers.
var callingSince = []int{2, 1, 328}

// loads reports whether the client loads a form of the plugin whose hooks call its server:
// one that does not know such hooks loads nothing of the plugin (observed). The client
// itself is asked; older versions than the known one may behave otherwise.
func (r runner) loads(ctx context.Context, f form) bool {
	if slices.Compare(numbers(r.Machine.Version(ctx, r.Path)), callingSince) < 0 {
		return false
	}
	scratch, err := os.MkdirTemp("", "flame-plugin-")
	if err != nil {
		return false
	}
	defer os.RemoveAll(scratch)
	err = hosts.Apply(ctx, hosts.WriteFolder(scratch, f.files), func(hosts.SetupStep) {})
	return err == nil && r.refuses(ctx, filepath.Join(scratch, "plugin")) == ""
}

// refuses returns why the client does not load the plugin in a folder; empty if it does.
func (r runner) refuses(ctx context.Context, folder string) string {
	if _, err := r.Machine.Run(ctx, r.Machine.ProjectDir, r.Path, "plugin", "validate", folder); err != nil {
		return err.Error()
	}
	return ""
}

// numbers returns the numbers of a version that begins with them, as in "2.1.328 (Claude
// Code)".
func numbers(version string) (all []int) {
	first, _, _ := strings.Cut(version, " ")
	for part := range strings.SplitSeq(first, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			break
		}
		all = append(all, n)
	}
	return all
}

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
	err := errors.Join(h.read(hosts.ScopeUser, userFile, &user), h.read(hosts.ScopeProject, projectFile, &project))
	if err != nil {
		return nil, err
	}
	found := user.registrations(userFile, "user")
	for dir, list := range user.Projects {
		if hosts.SameFolder(dir, h.Machine.ProjectDir) {
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
			found = append(found, hosts.Registration{Name: name, File: file, Undo: hosts.Program{Name: Program}.Line("mcp", "remove", name, "--scope", scope)})
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
