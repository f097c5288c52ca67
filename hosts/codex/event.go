package codex

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"flame/core"
	"flame/hosts"
	"flame/hosts/hooks"
	"flame/local/safefile"
)

// An event is what Codex sends a hook, as far as flame reads it. Session is that of the root, in
// subagents too; Transcript is the log of the thread.
type event struct {
	hooks.Event
	Turn string `json:"turn_id"`
}

// serverPrefix begins the names of the tools of flame's server, registered by hand or by the plugin.
const serverPrefix = "mcp__flame__"

// toolOfFlame returns the tool's name in flame's server, or "" for another tool, or if the project
// in a folder may have a server of that name: Codex does not say whose server it is.
func (e event) toolOfFlame(project string) string {
	name, ok := strings.CutPrefix(e.Tool, serverPrefix)
	if !ok || comesWithProject(project, e.Folder) {
		return ""
	}
	return name
}

// namesFlame matches a TOML key that is, or ends with, the name of flame's server.
var namesFlame = core.Pattern(`\bflame["']?\s*[].=]`)

// comesWithProject reports whether one of the project's configurations, in its folder or above the
// one where Codex works, may have a server with the name of flame's.
func comesWithProject(project, folder string) bool {
	home, _ := os.UserHomeDir() // its configuration is the user's own
	for dir := folder; filepath.IsAbs(dir); dir = filepath.Dir(dir) {
		if dir != home {
			content, err := safefile.ReadFile(filepath.Join(dir, ".codex", "config.toml"), maxTail)
			if err != nil && !hosts.IsMissing(err) ||
				bytes.Contains(content, []byte("mcp_servers")) && (namesFlame().Match(content) || escaped().Match(content)) {
				return true
			}
		}
		if dir == project || dir == filepath.Dir(dir) {
			break
		}
	}
	return false
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
