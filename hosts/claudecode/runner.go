package claudecode

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"flame/hosts"
)

// A runner runs Claude Code's own command line.
type runner struct {
	machine hosts.Machine
	path    string
}

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

// isFlame reports whether this is flame's plugin, from whatever marketplace.
func (p listedPlugin) isFlame() bool {
	return strings.HasPrefix(p.ID, "flame@")
}

// A listedMarketplace is one listed by `claude plugin marketplace list --json`.
type listedMarketplace struct {
	Name string `json:"name"`
	Path string `json:"path"` // if it is a folder
}

func (r runner) plugins(ctx context.Context) ([]listedPlugin, error) {
	var list []listedPlugin
	err := r.ask(ctx, &list, "plugin", "list", "--json")
	return list, err
}

func (r runner) marketplaces(ctx context.Context) ([]listedMarketplace, error) {
	var list []listedMarketplace
	err := r.ask(ctx, &list, "plugin", "marketplace", "list", "--json")
	return list, err
}

func (r runner) ask(ctx context.Context, answer any, args ...string) error {
	out, err := r.machine.Run(ctx, r.machine.ProjectDir, r.path, args...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(out), answer); err != nil {
		return fmt.Errorf("flame cannot read the answer of %s (a version without plugins?): %w", commandLine(args...), err)
	}
	return nil
}

// callingSince is the first version known to have hooks that call MCP servers.
var callingSince = []int{2, 1, 328}

// loads reports whether the client loads a form of the plugin whose hooks call its server:
// one that does not know such hooks loads nothing of the plugin (observed). The client
// itself is asked; older versions than the known one may behave otherwise.
func (r runner) loads(ctx context.Context, f form) bool {
	if slices.Compare(numbers(r.machine.Version(ctx, r.path)), callingSince) < 0 {
		return false
	}
	scratch, err := os.MkdirTemp("", "flame-plugin-")
	if err != nil {
		return false
	}
	defer os.RemoveAll(scratch)
	err = hosts.Apply(ctx, hosts.WriteFolder(scratch, f.files), func(hosts.Step) {})
	return err == nil && r.refuses(ctx, filepath.Join(scratch, "plugin")) == ""
}

// refuses returns why the client does not load the plugin in a folder; empty if it does.
func (r runner) refuses(ctx context.Context, folder string) string {
	if _, err := r.machine.Run(ctx, r.machine.ProjectDir, r.path, "plugin", "validate", folder); err != nil {
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

// step returns one Claude Code command, described as a user would type it.
func (r runner) step(args ...string) hosts.Step {
	return hosts.Step{Says: "run " + commandLine(args...), Do: func(ctx context.Context) error {
		_, err := r.machine.Run(ctx, r.machine.ProjectDir, r.path, args...)
		return err
	}}
}

// commandLine returns what a user would type; it is only for display.
func commandLine(args ...string) string {
	line := Program
	for _, arg := range args {
		if strings.ContainsAny(arg, " \t\"'$\\") {
			arg = strconv.Quote(arg)
		}
		line += " " + arg
	}
	return line
}
