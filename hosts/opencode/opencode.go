// Package opencode sets OpenCode up for flame: one JavaScript file in a folder
// that OpenCode loads plugins from, which adds the MCP server and the slash
// commands when OpenCode starts. No file of OpenCode's is edited.
package opencode

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"

	"flame/core"
	"flame/core/op"
	"flame/hosts"
)

// Name is the host's name in flame, Program that of its binary.
const (
	Name    = "opencode"
	Program = "opencode"
)

//go:embed flame.js
var source []byte

// What the plugin has in the repository in place of its version, of the names of
// flame's tools and of the slash commands.
const (
	unversioned     = `const version = "dev"`
	withoutOwn      = `const ownTools = []`
	withoutCommands = `const commands = {}`
)

// A slashCommand is a slash command as OpenCode's configuration has it.
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

// plugin returns flame.js as it is installed, and its version: a digest, so that
// it tells which content OpenCode has loaded.
func (s Setup) plugin() (content []byte, version string) {
	names, err := json.Marshal(s.Tools())
	commands, failed := json.Marshal(slashCommands())
	if err := errors.Join(err, failed); err != nil {
		panic(err) // strings are JSON
	}
	content = bytes.Replace(source, []byte(withoutOwn), fmt.Appendf(nil, "const ownTools = %s", names), 1)
	content = bytes.Replace(content, []byte(withoutCommands), fmt.Appendf(nil, "const commands = %s", commands), 1)
	digest := sha256.Sum256(content)
	version = hex.EncodeToString(digest[:6])
	return bytes.Replace(content, []byte(unversioned), fmt.Appendf(nil, "const version = %q", version), 1), version
}

// ours begins every flame.js that a setup wrote, of any version.
var ours = []byte("// Flame for OpenCode")

// A Setup is a hosts.Setup for OpenCode.
type Setup struct {
	Machine hosts.Machine
	Tools   func() []string // lists the names of flame's tools
}

// ByHand returns the entry of opencode.json that registers the server.
func (s Setup) ByHand() string {
	return `"mcp": {"flame": {"type": "local", "command": ["flame", "serve"]}}   in opencode.json`
}

// Install plans to write the file. A flame.js that no setup wrote stays: that
// is a Problem.
func (s Setup) Install(_ context.Context, scope hosts.Scope) ([]hosts.Step, error) {
	if _, err := s.Machine.LookPath(Program); err != nil {
		return nil, hosts.Missing(Name, Program, s.ByHand())
	}
	file, files := s.file(scope), s.Machine.Files(scope)
	if there, err := files.Read(file); err == nil && !bytes.HasPrefix(there, ours) {
		return nil, core.Invalidf("%s is there and not flame's", file).WithHint("rename it, then run this again")
	}
	content, _ := s.plugin()
	return files.Write(file, content, 0o644)
}

// Remove plans to delete the file, if a setup wrote it.
func (s Setup) Remove(_ context.Context, scope hosts.Scope) ([]hosts.Step, error) {
	file, files, stop := s.file(scope), s.Machine.Files(scope), s.Machine.ConfigHome()
	if scope == hosts.Project {
		stop = s.Machine.ProjectDir
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
func (s Setup) Status(ctx context.Context) (hosts.Status, error) {
	byHand, err := s.registrations()
	status := hosts.Status{ByHand: byHand, GivesWay: true} // our plugin sees to it
	if err != nil {
		return status, err
	}
	if path, err := s.Machine.LookPath(Program); err == nil {
		status.Program, status.Version = path, s.Machine.Version(ctx, path)
	}
	content, version := s.plugin()
	status.Offers = version
	for scope, there := range s.installed() {
		status.Installed = append(status.Installed, hosts.Installation{
			Scope: scope, Where: s.file(scope), Current: bytes.Equal(there, content),
		})
	}
	return status, nil
}

// installed returns what setup wrote, by scope.
func (s Setup) installed() iter.Seq2[hosts.Scope, []byte] {
	return func(yield func(hosts.Scope, []byte) bool) {
		for _, scope := range []hosts.Scope{hosts.User, hosts.Project} {
			there, err := s.Machine.Files(scope).Read(s.file(scope))
			if err == nil && bytes.HasPrefix(there, ours) && !yield(scope, there) {
				return
			}
		}
	}
}

// file is our plugin's. All versions of OpenCode read the folder "plugin", newer
// ones "plugins" as well.
func (s Setup) file(scope hosts.Scope) string {
	dir := filepath.Join(s.Machine.ProjectDir, ".opencode")
	if scope == hosts.User {
		dir = s.userFolder()
	}
	return filepath.Join(dir, "plugin", "flame.js")
}

func (s Setup) userFolder() string {
	return filepath.Join(s.Machine.ConfigHome(), "opencode")
}
