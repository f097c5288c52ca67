package codex

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"flame/core"
	"flame/hosts/hooks"
)

// An event is what Codex sends a hook, as far as flame reads it. Session is that of the root, in
// subagents too; Transcript is the log of the thread.
type event struct {
	hooks.Event
	Turn string `json:"turn_id"`
}

// serverPrefix begins the names of the tools of flame's server, registered by hand or by the plugin.
const serverPrefix = "mcp__flame__"

// toolOfFlame returns the tool's name in flame's server, or "" for another tool.
func (e event) toolOfFlame() string {
	name, ok := strings.CutPrefix(e.Tool, serverPrefix)
	if !ok {
		return ""
	}
	return name
}

// A spawnCall is the input of the tool that starts a subagent.
type spawnCall struct {
	Message string `json:"message"`
	Type    string `json:"agent_type"`
}

// A spawnResult is its answer, as JSON in a text.
type spawnResult struct {
	Agent string `json:"agent_id"`
}

// answered returns the answer to the call that started a subagent; empty if it is an error.
func (e event) answered() (result spawnResult) {
	var text string
	if json.Unmarshal(e.Response, &text) != nil || json.Unmarshal([]byte(text), &result) != nil {
		return spawnResult{}
	}
	return result
}

// patched matches the lines of a patch that name a file.
var patched = core.Pattern(`(?m)^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+)$`)

// maxFiles bounds how many files of one patch are recorded.
const maxFiles = 500

// files returns the files that a call of apply_patch writes.
func (e event) files() (files []string) {
	var call struct {
		Patch string `json:"command"`
	}
	if json.Unmarshal(e.Input, &call) != nil {
		return nil
	}
	for _, found := range patched().FindAllStringSubmatch(call.Patch, maxFiles) {
		file := strings.TrimSpace(found[1])
		if !filepath.IsAbs(file) {
			file = filepath.Join(e.Folder, file)
		}
		files = append(files, file)
	}
	return files
}

// maxTail bounds how much of a log a hook reads, in bytes.
const maxTail = 512 << 10

// manifest is the file of our plugin that names it.
const manifest = ".codex-plugin/plugin.json"
