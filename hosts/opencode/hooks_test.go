package opencode_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A host is OpenCode as the plugin sees it, played in Node, with a flame that
// records what it is told.
type host struct {
	t             *testing.T
	home, project string
	env           []string // more than what every host has
}

func newHost(t *testing.T) *host {
	t.Helper()
	h := &host{t: t, home: filepath.Join(t.TempDir(), "it's home"), project: filepath.Join(t.TempDir(), "my project")}
	require.NoError(t, os.MkdirAll(filepath.Join(h.home, ".local", "bin"), 0o755))
	require.NoError(t, os.MkdirAll(h.project, 0o755))
	h.installs(records)
	return h
}

// records is a flame that keeps the event it is told, and answers from a file.
const records = `#!/bin/sh
[ "$*" = "hook opencode" ] || exit
event=$(cat)
printf '%s\n' "$event" >> "$HOME/events"
printf '%s|%s\n' "$PWD" "$FLAME_DIR" > "$HOME/place"
cat "$HOME/answer"
`

func (h *host) installs(flame string) {
	h.write(".local/bin/flame", flame)
	require.NoError(h.t, os.Chmod(filepath.Join(h.home, ".local", "bin", "flame"), 0o755))
}

// write puts a file into the home.
func (h *host) write(name, text string) {
	h.t.Helper()
	require.NoError(h.t, os.WriteFile(filepath.Join(h.home, name), []byte(text), 0o644))
}

// read gives a file of the home, empty if there is none.
func (h *host) read(name string) string {
	text, _ := os.ReadFile(filepath.Join(h.home, name))
	return string(text)
}

// stage is what scenes are played with: event tells the plugin of an event, and
// the others of what usually comes with one.
const stage = `
	const { Flame } = await import(process.argv[1])
	const asked = [] // of the host itself
	const client = { session: { summarize: async (request) => asked.push(request) } }
	const load = () => Flame({ directory: process.argv[2], client })
	const hooks = await load()
	const event = (type, properties) => hooks.event({ event: { type, properties } })
	const session = (type, id, info) => event("session." + type, { sessionID: id, info: { id, title: "Work", ...info } })
	const status = (sessionID, type) => event("session.status", { sessionID, status: { type } })
	const said = (sessionID, text, messageID = "m") => hooks["experimental.text.complete"]({ sessionID, messageID }, { text })
	const text = (text, more) => ({ type: "text", text, ...more })
	const tool = (tool, status, state, id = "p") => ({ type: "tool", id, tool, callID: "c-" + id, sessionID: "s", messageID: "m", state: { status, input: {}, ...state } })
	const part = (part) => event("message.part.updated", { sessionID: part.sessionID, part })
	const prompt = (sessionID, ...parts) => hooks["chat.message"]({ sessionID }, { message: { id: "u", model: { providerID: "a", modelID: "b" } }, parts })
	const before = async (tool, callID, args) => { await hooks["tool.execute.before"]({ tool, sessionID: "s", callID }, { args }); return args }
	const after = (tool, callID, args, output) => hooks["tool.execute.after"]({ tool, sessionID: "s", callID, args }, output)
	const message = (id, role, parts, info) => ({ info: { id, role, sessionID: "s", time: { created: 5 }, ...info }, parts })
	const answer = (id, info) => event("message.updated", { info: { id, role: "assistant", sessionID: "s", time: { created: 5, completed: 9 },
		tokens: { input: 1, output: 2, reasoning: 3, cache: { read: 4, write: 5 } }, cost: 0.5, ...info } })
	const request = async (...messages) => { await hooks["experimental.chat.messages.transform"]({}, { messages }); return messages }
`

// plays runs a scene, the body of an asynchronous function, until the process is
// disposed of. It gives what the scene returned, as JSON.
func (h *host) plays(scene string) string {
	h.t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		h.t.Skip("no Node on PATH to run the plugin in; the tests with the real OpenCode run it as well")
	}
	plugin, err := os.ReadFile("flame.js")
	require.NoError(h.t, err)
	h.write("flame.mjs", string(plugin))
	script := stage + "const result = await (async () => {" + scene + "})()\nawait hooks.dispose?.()\nprocess.stdout.write(JSON.stringify(result ?? null))"
	cmd := exec.CommandContext(h.t.Context(), node, "--input-type=module", "-e", script, filepath.Join(h.home, "flame.mjs"), h.project)
	cmd.Env = append([]string{"HOME=" + h.home, "PATH=/usr/bin:/bin"}, h.env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(h.t, err, stderr.String())
	assert.Empty(h.t, stderr.String(), "the plugin prints nothing")
	return string(out)
}

// heard gives the events that flame was told of, but for the last, and checks
// that this is the end of all sessions and that each names the version.
func (h *host) heard() (events []map[string]any) {
	h.t.Helper()
	for line := range strings.Lines(h.read("events")) {
		var event map[string]any
		require.NoError(h.t, json.Unmarshal([]byte(line), &event))
		assert.Equal(h.t, "dev", event["plugin"])
		delete(event, "plugin")
		if event["event"] == "dispose" {
			assert.NotEmpty(h.t, event["sessions"])
			continue
		}
		events = append(events, event)
	}
	return events
}

func TestPluginTellsFlame(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ scene, heard string }{
		"of a session, without the title that says nothing": {
			`session("created", "s", { title: "New session - 2026" })`,
			`[{"event": "session.created", "session": "s"}]`,
		},
		"of a child, and in its later events of its parent": {
			`session("created", "s", { title: "dig (@worker subagent)", parentID: "top" }); prompt("s", text("Dig"))`,
			`[{"event": "session.created", "session": "s", "parent": "top", "title": "dig (@worker subagent)"},
			  {"event": "chat.message", "session": "s", "parent": "top", "message": "u", "text": "Dig"}]`,
		},
		"of a title once": {
			`session("updated", "s", { title: "New session - 2026" }); session("updated", "s"); session("updated", "s")`,
			`[{"event": "session.updated", "session": "s", "title": "Work"}]`,
		},
		"of the user's own words": {
			`prompt("s", text("One"), text("made up", { synthetic: true }), { type: "file" }, text("two")); prompt("s", text("made up", { synthetic: true }))`,
			`[{"event": "chat.message", "session": "s", "message": "u", "text": "One\ntwo"}]`,
		},
		"of files that tools wrote, and of no other tools": {
			`after("write", "1", { filePath: "a" }, {}); after("edit", "2", { filePath: "b" }, {}); after("bash", "3", {}, {})
			 after("apply_patch", "4", {}, { metadata: { files: [{ filePath: "c" }, { filePath: "d", movePath: "e" }] } })`,
			`[{"event": "tool.after", "session": "s", "tool": "write", "files": ["a"]},
			  {"event": "tool.after", "session": "s", "tool": "edit", "files": ["b"]},
			  {"event": "tool.after", "session": "s", "tool": "apply_patch", "files": ["c", "e"]}]`,
		},
		"of a child's result": {
			`after("task", "1", {}, { output: "done", metadata: { sessionId: "child" } })`,
			`[{"event": "tool.after", "session": "s", "tool": "task", "child": "child", "output": "done"}]`,
		},
		"of a background child's end when it comes": {
			`after("task", "1", {}, { output: "begun", metadata: { sessionId: "child", background: true } })
			 prompt("s", text('<task id="child" state="error">\nno', { synthetic: true })); prompt("s", text('<task id="child" state="completed">\nyes', { synthetic: true }))`,
			`[{"event": "tool.failed", "session": "s", "tool": "task", "child": "child", "error": "<task id=\"child\" state=\"error\">\nno"},
			  {"event": "tool.after", "session": "s", "tool": "task", "child": "child", "output": "<task id=\"child\" state=\"completed\">\nyes"}]`,
		},
		"of a failed tool once": {
			`part(tool("bash", "error", { error: "no" })); part(tool("bash", "error", { error: "no" })); part(tool("bash", "completed", {}, "q"))`,
			`[{"event": "tool.failed", "session": "s", "tool": "bash", "error": "no", "aborted": false}]`,
		},
		"which child a user stopped": {
			`part(tool("task", "running", { metadata: { sessionId: "child" } })); part(tool("task", "error", { error: "Task cancelled" }))`,
			`[{"event": "tool.failed", "session": "s", "tool": "task", "child": "child", "error": "Task cancelled", "aborted": true}]`,
		},
		"of a turn's end, what was said last, who still works and what it cost, once": {
			`part(tool("bash", "running")); part(tool("bash", "completed")); answer("m"); answer("m"); answer("n", { time: { created: 7 } }); answer("n", { role: "user" })
			 await session("updated", "child", { parentID: "s" }); session("updated", "grandchild", { parentID: "child" }); session("updated", "other")
			 for (const id of ["s", "child", "grandchild", "other"]) status(id, "busy")
			 status("child", "idle"); said("s", "first"); said("s", "last"); event("session.idle", { sessionID: "s" }); await prompt("s"); event("session.idle", { sessionID: "s" })`,
			`[{"event": "session.idle", "session": "s", "text": "last", "running": ["grandchild"],
			   "usage": [{"id": "m", "at": 5, "in": 1, "out": 5, "cacheRead": 4, "cacheWrite": 5, "cost": 0.5, "tools": 1}]},
			  {"event": "session.idle", "session": "s", "text": "", "running": ["grandchild"], "usage": []}]`,
		},
		"of a background child as at work until its end is told": {
			`after("task", "1", {}, { metadata: { sessionId: "child", background: true } }); session("updated", "child", { parentID: "s" })
			 event("session.idle", { sessionID: "s" }); answer("x", { sessionID: "child", error: { name: "MessageAbortedError" } }); event("session.idle", { sessionID: "s" })`,
			`[{"event": "session.idle", "session": "s", "text": "", "running": ["child"], "usage": []},
			  {"event": "session.idle", "session": "s", "text": "", "running": [], "usage": []}]`,
		},
		"of the summary that a compaction made, and of no other text": {
			`said("s", "words"); const compaction = { context: [] }; await hooks["experimental.session.compacting"]({ sessionID: "s" }, compaction)
			 await request(message("a", "user", [])); said("s", "summary"); event("session.compacted", { sessionID: "s" }); await request(message("a", "user", [])); said("s", "more words")`,
			`[{"event": "session.compacting", "session": "s"},
			  {"event": "messages.transform", "session": "s", "first": false, "compacting": true, "usage": [], "messages": [{"id": "a", "role": "user", "time": 5, "summary": false, "open": false, "moves": [], "tail": ""}]},
			  {"event": "text.complete", "session": "s", "message": "m", "text": "summary"},
			  {"event": "session.compacted", "session": "s"},
			  {"event": "messages.transform", "session": "s", "first": true, "compacting": false, "usage": [], "messages": [{"id": "a", "role": "user", "time": 5, "summary": false, "open": false, "moves": [], "tail": ""}]}]`,
		},
		"of a session's deletion, and of nothing that comes after": {
			`session("created", "other"); session("deleted", "s"); event("session.idle", { sessionID: "s" })`,
			`[{"event": "session.created", "session": "other", "title": "Work"}, {"event": "session.deleted", "session": "s"}]`,
		},
		"of no event that it does not know": {
			`session("created", "s"); event("catalog.updated", {}); event("session.error", { sessionID: "s" }); event("message.updated", {}); event("session.idle")`,
			`[{"event": "session.created", "session": "s", "title": "Work"}]`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			h.plays(tt.scene)
			heard, err := json.Marshal(h.heard())
			require.NoError(t, err)
			if strings.Contains(tt.scene, `"other"); session("deleted"`) { // sessions do not wait for each other
				assert.ElementsMatch(t, list(t, tt.heard), list(t, string(heard)))
				return
			}
			assert.JSONEq(t, tt.heard, string(heard))
		})
	}
}

func list(t *testing.T, text string) (items []any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &items))
	return items
}
