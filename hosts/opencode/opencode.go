// Package opencode is what flame knows of OpenCode. It is set up by one JavaScript
// file in a folder that OpenCode loads plugins from, which adds the MCP server and the
// slash commands when OpenCode starts. No file of OpenCode's is edited.
package opencode

import (
	"path/filepath"

	"flame/hosts"
)

// Name is the host's name in flame, Program that of its binary.
const (
	Name    = "opencode"
	Program = "opencode"
)

// byHand registers the server in OpenCode.
const byHand = `"mcp": {"flame": {"type": "local", "command": ["flame", "serve"]}}   in opencode.json`

// ownKeys are those of a definition that are OpenCode's to understand.
var ownKeys = []string{"temperature", "top_p", "variant", "options"}

// facts returns what stands fast of OpenCode.
func facts() hosts.Host {
	h := hosts.Known().Of(Name)
	h.Adds, h.ByHand, h.Keys = "one JavaScript file", byHand, ownKeys
	h.Store = func(m hosts.Machine) string { return filepath.Join(m.DataHome(), "opencode", "opencode.db") }
	return h
}
