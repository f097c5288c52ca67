// Package claudecode is what flame knows of Claude Code. It is set up by our plugin,
// which Claude Code's own command line installs from a marketplace folder that we
// write. No file of Claude Code's is edited here.
package claudecode

import "flame/hosts"

// Name is the host's name in flame, Program that of its binary.
const (
	Name    = "claude-code"
	Program = "claude"
)

// byHand registers the server in Claude Code.
const byHand = "claude mcp add flame -- flame serve"

// facts returns what stands fast of Claude Code.
func facts() hosts.Host {
	h := hosts.Known().Of(Name)
	h.Adds, h.ByHand = "our plugin", byHand
	h.Session, h.Folder, h.CallID = "CLAUDE_CODE_SESSION_ID", "CLAUDE_PROJECT_DIR", "claudecode/toolUseId"
	h.Keys = []string{"mcpServers", "hooks", "initialPrompt"}
	return h
}
