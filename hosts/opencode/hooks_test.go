package opencode_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/project"
	"flame/tests/effort"
	"flame/tests/projecttest"
)

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
			`after("write", "1", { filePath: "a", content: "x" }, { metadata: { exists: false } }); after("bash", "3", {}, {})
			 after("edit", "2", { filePath: "b", oldString: "x" }, { metadata: { diff: "D", filediff: { patch: "D", before: "x" } } })
			 after("apply_patch", "4", {}, { metadata: { diff: "D", files: [{ filePath: "c" }, { filePath: "d", movePath: "e" }] } })
			 after("write", "5", { filePath: "long", content: "x".repeat(1 << 20) }, {})`,
			`[{"event": "tool.after", "session": "s", "tool": "write", "call": "1", "files": ["a"],
			   "did": {"input": {"filePath": "a", "content": "x"}, "metadata": {"exists": false}}},
			  {"event": "tool.after", "session": "s", "tool": "edit", "call": "2", "files": ["b"],
			   "did": {"input": {"filePath": "b"}, "metadata": {"filediff": {"patch": "D"}}}},
			  {"event": "tool.after", "session": "s", "tool": "apply_patch", "call": "4", "files": ["c", "e"],
			   "did": {"input": {}, "metadata": {"files": [{"filePath": "c"}, {"filePath": "d", "movePath": "e"}]}}},
			  {"event": "tool.after", "session": "s", "tool": "write", "call": "5", "files": ["long"]}]`,
		},
		"of a child's result": {
			`after("task", "1", {}, { output: "done", metadata: { sessionId: "child" } })`,
			`[{"event": "tool.after", "session": "s", "tool": "task", "call": "1", "child": "child", "output": "done"}]`,
		},
		"of a background child's end when it comes": {
			`after("task", "1", {}, { output: "begun", metadata: { sessionId: "child", background: true } })
			 prompt("s", text('<task id="child" state="error">\nno', { synthetic: true }))
			 prompt("s", text('<task id="child" state="completed">\nyes', { synthetic: true }))`,
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
			`part(tool("bash", "running")); part(tool("bash", "completed"))
			 answer("m"); answer("m"); answer("n", { time: { created: 7 } }); answer("n", { role: "user" })
			 below("child", "s"); below("grandchild", "child"); below("other")
			 for (const id of ["s", "child", "grandchild", "other"]) status(id, "busy")
			 status("child", "idle"); said("s", "first"); said("s", "last"); event("session.idle", { sessionID: "s" })
			 await prompt("s"); event("session.idle", { sessionID: "s" })`,
			`[{"event": "session.idle", "session": "s", "text": "last", "running": ["grandchild"],
			   "usage": [{"id": "m", "at": 5, "in": 1, "out": 5, "cacheRead": 4, "cacheWrite": 5, "cost": 0.5, "tools": 1}]},
			  {"event": "session.idle", "session": "s", "text": "", "running": ["grandchild"], "model": "b", "usage": []}]`,
		},
		"of the calls of a turn, in short": {
			`prompt("s", text("One")); after("bash", "1", { command: "go test ./..." + " ".repeat(300), description: "test" },
			   { output: "x".repeat(400) + "FAIL", metadata: { exit: 1 } })
			 after("read", "2", { filePath: "a.go" }, { output: "text", metadata: {} }); after("flame_flame_push", "3", { goal: "x" }, { content: [] })
			 part(tool("grep", "error", { input: { pattern: "x" }, error: "no" }))
			 event("session.idle", { sessionID: "s" }); await prompt("s", text("Two")); event("session.idle", { sessionID: "s" })`,
			`[{"event": "chat.message", "session": "s", "message": "u", "text": "One"},
			  {"event": "tool.failed", "session": "s", "tool": "grep", "error": "no", "aborted": false},
			  {"event": "session.idle", "session": "s", "text": "", "running": [], "model": "b", "usage": [], "calls": [
			   {"tool": "bash", "input": "go test ./...` + strings.Repeat(" ", 187) + `", "ok": false, "exit": 1, "output": "` + strings.Repeat("x", 296) + `FAIL"},
			   {"tool": "read", "input": "a.go", "ok": true, "output": "text"}, {"tool": "grep", "input": "x", "ok": false, "output": "no"}]},
			  {"event": "chat.message", "session": "s", "message": "u", "text": "Two"},
			  {"event": "session.idle", "session": "s", "text": "", "running": [], "model": "b", "usage": []}]`,
		},
		"of a turn that an error of the model's ended, as one that failed": {
			`answer("m", { error: { name: "APIError", data: { message: "Overloaded" } } }); event("session.idle", { sessionID: "s" })`,
			`[{"event": "session.idle", "session": "s", "text": "", "running": [], "aborted": true, "error": "Overloaded",
			   "usage": [{"id": "m", "at": 5, "in": 1, "out": 5, "cacheRead": 4, "cacheWrite": 5, "cost": 0.5, "tools": 0}]}]`,
		},
		"of a turn that was stopped, as one that failed": {
			`answer("m", { error: { name: "MessageAbortedError" } }); event("session.idle", { sessionID: "s" })
			 await prompt("s"); event("session.idle", { sessionID: "s" })`,
			`[{"event": "session.idle", "session": "s", "text": "", "running": [], "aborted": true,
			   "usage": [{"id": "m", "at": 5, "in": 1, "out": 5, "cacheRead": 4, "cacheWrite": 5, "cost": 0.5, "tools": 0}]},
			  {"event": "session.idle", "session": "s", "text": "", "running": [], "model": "b", "usage": []}]`,
		},
		"of a background child as at work until its end is told": {
			`after("task", "1", {}, { metadata: { sessionId: "child", background: true } }); below("child", "s")
			 event("session.idle", { sessionID: "s" }); answer("x", { sessionID: "child", error: { name: "MessageAbortedError" } })
			 event("session.idle", { sessionID: "s" })`,
			`[{"event": "session.idle", "session": "s", "text": "", "running": ["child"], "usage": [],
			   "calls": [{"tool": "task", "input": "{}", "ok": true, "output": ""}]},
			  {"event": "session.idle", "session": "s", "text": "", "running": [], "usage": []}]`,
		},
		"of the summary that a compaction made, and of no other text": {
			`said("s", "words"); const compaction = { context: [] }; await hooks["experimental.session.compacting"]({ sessionID: "s" }, compaction)
			 await request(message("a", "user", [])); said("s", "summary")
			 event("session.compacted", { sessionID: "s" }); await request(message("a", "user", [])); said("s", "more words")`,
			`[{"event": "session.compacting", "session": "s"},
			  {"event": "messages.transform", "session": "s", "compacting": true, "usage": [],
			   "messages": [{"name": "u0", "tokens": 0, "role": "user", "time": 0, "summary": false, "open": false, "moves": [], "tail": ""}]},
			  {"event": "text.complete", "session": "s", "message": "m", "text": "summary"},
			  {"event": "session.compacted", "session": "s"},
			  {"event": "messages.transform", "session": "s", "compacting": false, "usage": [],
			   "messages": [{"name": "u0", "tokens": 0, "role": "user", "time": 0, "summary": false, "open": false, "moves": [], "tail": ""}]}]`,
		},
		"of a session's deletion, and of nothing that comes after": {
			`session("deleted", "s"); event("session.idle", { sessionID: "s" })`,
			`[{"event": "session.deleted", "session": "s"}]`,
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
			assert.JSONEq(t, tt.heard, string(heard))
		})
	}
}

// history is a conversation with a frame that came and went in it.
const history = `[
	message("u1", "user", [text("Go")]),
	message("a1", "assistant", [text("x".repeat(600) + "I begin."),
		tool("flame_flame_push", "completed", { input: { goal: "g", session_id: "s", flame_proof: "p" }, output: "Started frame-abcdefgh below frame-12345678" })]),
	message("a2", "assistant", [tool("bash", "running"), tool("flame_flame_push", "error", { error: "not frame-abcdefgh" }),
		tool("flame_x_flame_pop", "completed", { output: "frame-abcdefgh" })]),
	message("u2", "user", [text("Mind this")]),
	message("a3", "assistant", [
		tool("flame_flame_pop", "completed", { output: "frame-abcdefgh is completed: x.\nActivated plan-abcdefgh 'next'." })], { summary: true }),
]`

func TestPluginEditsRequestsAsFlameAnswers(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.write(
		"answer",
		`{"drop": ["a2"], "before": [{"message": "u2", "text": "ahead"}, {"message": "a3", "text": "between"}], "after": [{"message": "u1", "text": "behind"}]}`,
	)
	result := h.plays(`
		const stored = ` + history + `, kept = structuredClone(stored)
		const sent = await request(...stored)
		await request(...structuredClone(stored))
		return {
			untouched: JSON.stringify(stored) === JSON.stringify(kept),
			sent: sent.map(({ info, parts }) => [info.id, info.role, ...parts.map((p) => p.text?.slice(-8) ?? p.state.input)]),
			added: sent.flatMap(({ parts }) => parts).filter((p) => p.synthetic).map((p) => [p.type, p.sessionID, p.messageID]),
			ids: sent.flatMap(({ info, parts }) => [info.id, ...parts.map((p) => p.id)]).filter((id) => /flame/.test(id)).map((id) => id.slice(0, 4)),
		}`)
	assert.JSONEq(t, `{
		"untouched": true,
		"sent": [["u1", "user", "Go", "behind"], ["a1", "assistant", "I begin.", {"goal": "g"}],
		         ["u2", "user", "ahead", "ind this"], ["msg_flame_a3", "user", "between"], ["a3", "assistant", {}]],
		"added": [["text", "s", "u1"], ["text", "s", "u2"], ["text", "s", "a3"]],
		"ids": ["prt_", "prt_", "msg_", "prt_"]}`, result)

	requests := h.heard()
	require.Len(t, requests, 2)
	skeleton, err := json.Marshal(requests[0]["messages"])
	require.NoError(t, err)
	assert.JSONEq(t, `[
		{"name": "u1", "tokens": 1, "role": "user", "time": 1, "summary": false, "open": false, "moves": [], "tail": ""},
		{"name": "a1", "tokens": 166, "role": "assistant", "time": 1, "summary": false, "open": false,
		 "moves": [{"kind": "enter", "frame": "frame-abcdefgh", "first": true}], "tail": "`+strings.Repeat("x", 492)+`I begin."},
		{"name": "a2", "tokens": 12, "role": "assistant", "time": 2, "summary": false, "open": true, "moves": [], "tail": ""},
		{"name": "u2", "tokens": 3, "role": "user", "time": 2, "summary": false, "open": false, "moves": [], "tail": ""},
		{"name": "a3", "tokens": 17, "role": "assistant", "time": 3, "summary": true, "open": false,
		 "moves": [{"kind": "leave", "frame": "frame-abcdefgh", "first": true}, {"kind": "enter", "frame": "plan-abcdefgh"}], "tail": "",
		 "calls": []}]`,
		string(skeleton))
}

func TestPluginAsksFlameForWhatACompactionNeeds(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ answer, output string }{
		"adds to the host's instructions":    {`{"context": ["heed this"]}`, `{"context": ["theirs", "heed this"]}`},
		"puts others in their place":         {`{"prompt": "only this"}`, `{"context": ["theirs"], "prompt": "only this"}`},
		"leaves them where flame says none":  {``, `{"context": ["theirs"]}`},
		"leaves them where that is nonsense": {`{"context": 7}`, `{"context": ["theirs"]}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			h.write("answer", tt.answer)
			assert.JSONEq(
				t, tt.output,
				h.plays(`const output = { context: ["theirs"] }; await hooks["experimental.session.compacting"]({ sessionID: "s" }, output); return output`),
			)
		})
	}
}

func TestPluginStampsFlamesCalls(t *testing.T) {
	t.Parallel()
	const stamped, plain = `{}`, `{"session_id":"mine","agent_id":"a","flame_proof":7}`
	f := projecttest.New(t)
	tests := map[string]struct{ config, tool, args string }{
		"a tool of the server it added":        {`{}`, "flame_flame_push", stamped},
		"a call through another tool":          {`{}`, "flame_flame_more", stamped},
		"a tool that is not called flame":      {`{}`, "flame_spawn_agent", stamped},
		"a server that the user named":         {`{"mcp": {"my f": {"command": ["/opt/flame"]}}}`, "my_f_spawn_agent", stamped},
		"a server of the user's at an address": {`{"mcp": {"flame": {"url": "http://localhost"}}}`, "flame_flame_pop", stamped},
		"a server by another name":             {`{"mcp": {"other": {"url": "http://localhost"}}}`, "other_flame_pop", plain},
		"the tool of another server":           {`{}`, "other_spawn_agent", plain},
		"a server that begins as ours":         {`{}`, "flame_x_flame_push", plain},
		"one that begins as ours does twice":   {`{}`, "flame_flame_x_flame_push", plain},
		"one whose tool is called as ours":     {`{}`, "flame_flame_x", plain},
		"one that ends as ours":                {`{}`, "x_flame_flame_push", plain},
		"our name of another server's":         {`{"mcp": {"my f": {"command": ["/opt/flame"]}}}`, "flame_flame_push", plain},
		"a tool that there is none of":         {`{}`, "flame_flame_rm", plain},
		"a tool with a tail":                   {`{}`, "flame_flame_push_x", plain},
		"a tool in capitals":                   {`{}`, "flame_FLAME_PUSH", plain},
		"a letter that looks the same":         {`{}`, "flame_flame_\u0440ush", plain},
		"no server":                            {`{}`, "flame_push", plain},
		"nothing":                              {`{}`, "", plain},
		"a tool of the host's":                 {`{}`, "bash", plain},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			h.write("answer", `{"key": "`+hostKey+`"}`)
			args := h.plays(`await hooks.config(` + tt.config + `); return before("` + tt.tool + `", "1", ` + plain + `)`)
			if tt.args == stamped {
				var by project.Caller
				_, name, _ := strings.Cut(strings.TrimPrefix(tt.tool, "my_"), "_")
				args, by = projecttest.Proven(t, f.Project, name, "", []byte(args))
				assert.Equal(t, project.Caller{Session: "s", Trust: project.Stamped}, by)
			}
			assert.JSONEq(t, tt.args, args)
		})
	}
}

func TestPluginLetsFlamesCallsTakeTurns(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ scene, order string }{
		"one after the other": {
			`const all = [1, 2, 3].map((n) => before("flame_flame_push", n, {}).then(() => {
				order.push("begin " + n)
				setTimeout(() => { order.push("end " + n); after("flame_flame_push", n, {}, {}) }, 20)
			 })); await Promise.all(all)`,
			`["begin 1", "end 1", "begin 2", "end 2", "begin 3"]`,
		},
		"the next after one that failed": {
			`const real = globalThis.setTimeout; globalThis.setTimeout = (f) => real(() => f(order.push("gave up")), 1000)
			 before("flame_flame_push", "c-p", {}); const next = before("flame_flame_push", "2", {}).then(() => order.push("next")); await new Promise(setImmediate)
			 order.push("failed"); part(tool("flame_flame_push", "error", { error: "no" })); await next`,
			`["failed", "next"]`,
		},
		"no other tool has to wait": {
			`before("flame_flame_push", 1, {}); await before("bash", 2, {}); order.push("bash")`,
			`["bash"]`,
		},
		"one that does not end holds the next for 2 s": {
			`const real = globalThis.setTimeout; globalThis.setTimeout = (f, ms, ...more) => real(f, (ms === 2000 && order.push(ms), 1), ...more)
			 before("flame_flame_push", 1, {}); await before("flame_flame_push", 2, {})`,
			`[2000, 2000]`,
		},
		"the first waits 5 s for the key of stamps: without a proof it would count as its server's": {
			`const real = globalThis.setTimeout; globalThis.setTimeout = (f, ms, ...more) => real(f, (ms === 5000 && order.push(ms), 1), ...more)
			 await before("flame_flame_push", 1, {})`,
			`[5000]`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.JSONEq(t, tt.order, newHost(t).plays(`const order = []; `+tt.scene+`; return order.slice()`))
		})
	}
}

func TestPluginHasTheHostSummarize(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ args, asked string }{
		"when the agent asks for a summary":   {`{}`, `[{"path": {"id": "s"}, "body": {"providerID": "a", "modelID": "b", "auto": true}}]`},
		"not when the agent brings its own":   {`{ summary: "done" }`, `[]`},
		"not for a frame that is not at hand": {`{ frameID: "frame-abcdefgh" }`, `[]`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := newHost(t).plays(`prompt("s", text("Go"))
				const begin = performance.now(), order = []
				const ended = after("flame_flame_summarize", "1", ` + tt.args + `, {}).then(() => order.push("turn goes on"))
				setTimeout(() => { order.push("compaction is next"); part({ type: "compaction", sessionID: "s" }) }, 20)
				await ended
				return { asked, waits: order[0] === "compaction is next", quick: performance.now() - begin < 10_000 }`)
			assert.JSONEq(t, fmt.Sprintf(`{"asked": %s, "waits": %t, "quick": true}`, tt.asked, tt.asked != "[]"), result)
		})
	}
}

func TestPluginContinuesWithoutFlame(t *testing.T) {
	t.Parallel()
	tests := map[string]string{ // how flame behaves, as a script
		"that is missing":                "",
		"that hangs":                     "#!/bin/sh\nexec sleep 60",
		"whose child hangs":              "#!/bin/sh\nsleep 5 &",
		"that floods":                    "#!/bin/sh\nexec head -c 100000000 /dev/zero",
		"that answers nonsense":          "#!/bin/sh\necho '{\"n\": 2, \"answer\": {\"drop\": [\"a2\"'; exec cat > /dev/null",
		"that answers a number":          "#!/bin/sh\necho 7; exec cat > /dev/null",
		"that answers other things":      "#!/bin/sh\necho '{\"n\": 2, \"answer\": {\"drop\": 7, \"append\": null}}'; exec cat > /dev/null",
		"that answers what is not asked": "#!/bin/sh\necho '{\"n\": 7}'; exec cat > /dev/null",
		"that fails":                     "#!/bin/sh\necho no >&2; exit 3",
		"that reads nothing":             "#!/bin/sh\nexec <&-",
		"that is no program":             "not one",
	}
	for name, script := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			h.installs(script)
			h.patience = 300 * time.Millisecond
			if script == "" {
				require.NoError(t, os.Remove(filepath.Join(h.home, ".local", "bin", "flame")))
			}
			assert.JSONEq(t, `["u1", "a1", "a2", "u2", "a3"]`, h.plays(`
				prompt("s", text("long ".repeat(100_000)))
				const sent = await request(...`+history+`)
				return sent.map(({ info }) => info.id)`))
		})
	}
}

// timed has late tell whether the patience of a second or more passed, whatever else took time.
const timed = `
	let late = false
	const real = globalThis.setTimeout
	globalThis.setTimeout = (f, ms, ...more) => real((...all) => { late ||= ms >= 1_000; f(...all) }, ms, ...more)
`

func TestPluginDoesNotWaitForAHangingFlame(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.installs("#!/bin/sh\necho called >> \"$HOME/calls\"\nexec sleep 60")
	h.patience = time.Second
	result := h.plays(timed + `
		const waits = []
		for (let n = 0; n < 6; n++) {
			late = false
			await request(...` + history + `)
			waits.push(late)
		}
		return waits`)
	assert.JSONEq(t, `[true, true, true, false, false, false]`, result)
	assert.Eventually(t, func() bool { return h.read("calls") == "called\ncalled\n" }, 2*time.Minute, 10*time.Millisecond,
		"it is not killed; what it has not answered goes to another at the end")
}

// dying is a flame that ends as soon as it has read an event, the first time.
var dying = strings.Replace(records, "while IFS=", "[ -e \"$HOME/dead\" ] || { touch \"$HOME/dead\"; read -r told; exit 1; }\nwhile IFS=", 1)

func TestPluginSendsUnacknowledgedUsageAgain(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.installs(dying)
	h.plays(`answer("m"); for (let n = 0; n < 2; n++) await request(message("a", "user", []))`)
	told := h.heard()
	require.Len(t, told, 1, "a request that was sent without an answer is not repeated")
	assert.Len(t, told[0]["usage"], 1)
}

func TestPluginSendsUnansweredEventsToTheNextFlame(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.installs(dying)
	h.plays(`session("created", "s"); prompt("s", text("Go")); session("created", "other"); await new Promise((end) => setTimeout(end, 100))`)
	assert.Equal(t, []string{"s session.created", "s chat.message", "other session.created"}, h.order())
}

// order returns the sessions and names of the events that flame was told of.
func (h *host) order() (all []string) {
	for _, event := range h.heard() {
		all = append(all, fmt.Sprint(event["session"], " ", event["event"]))
	}
	return all
}

// hanging is a flame that reads nothing, the first time.
var hanging = strings.Replace(records, "while IFS=", "[ -e \"$HOME/hanging\" ] || { touch \"$HOME/hanging\"; exec sleep 60; }\nwhile IFS=", 1)

func TestPluginSendsAHangingFlameNoPassingEvents(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.installs(hanging)
	h.patience = 3 * time.Second
	assert.Equal(t, "false", h.plays(timed+`
		prompt("s", text("Go"))
		const now = performance.now.bind(performance)
		performance.now = () => now() + 3_600_000
		await request(message("a", "user", []))
		return late`))
}

func TestPluginKeepsNoMoreForAHangingFlameThanItHasRoomFor(t *testing.T) {
	t.Parallel()
	const fill = `const fill = (...sessions) => sessions.forEach((s) => prompt(s, text("x".repeat(300_000))))`
	tests := map[string]struct {
		scene string
		want  []string
	}{
		"what passes goes first": {
			`session("created", "a"); request(...Array.from({ length: 600 }, (_, n) => message("m" + n, "assistant", [text("x".repeat(500))]))); fill("b", "c", "d")`,
			[]string{"a session.created", "b chat.message", "c chat.message", "d chat.message"},
		},
		"then the oldest":            {`fill("a", "b", "c", "d", "e")`, []string{"c chat.message", "d chat.message", "e chat.message"}},
		"but not for what is larger": {`fill("a"); prompt("b", text("x".repeat(2_000_000)))`, []string{"a chat.message"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			h.installs(hanging)
			h.patience, h.room = 300*time.Millisecond, "1_000_000"
			h.plays(fill + "\n" + tt.scene)
			require.Eventually(t, func() bool { return strings.Contains(h.read("events"), `"dispose"`) }, 2*time.Minute, 10*time.Millisecond)
			assert.Equal(t, tt.want, h.order())
		})
	}
}

func TestPluginTellsAFlameThatReadsSlowlyEverything(t *testing.T) {
	effort.Heavy(t)
	t.Parallel()
	h := newHost(t)
	h.plays(`
		for (let n = 0; n < 300; n++) prompt("s" + n, text("x".repeat(10_000)))
		await new Promise((end) => setTimeout(end, 10))`)
	var want []string
	for n := range 300 {
		want = append(want, fmt.Sprintf("s%d chat.message", n))
	}
	assert.Equal(t, want, h.order())
}

func TestPluginLeavesUnansweredEventsToAnotherFlame(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.installs(hanging)
	h.patience = 300 * time.Millisecond
	h.plays(`session("created", "s"); prompt("s", text("long ".repeat(100_000)))`)
	require.Eventually(t, func() bool { return strings.Contains(h.read("events"), `"dispose"`) }, 2*time.Minute, 10*time.Millisecond)
	assert.Equal(t, []string{"s session.created", "s chat.message"}, h.order())
}

func TestPluginRepeatsEventsThatFlameMayHaveMissed(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.plays(`
		below("child", "s")
		const task = (id, status, state) =>
			tool("task", status, { input: { description: "look " + id, subagent_type: "general" }, metadata: { sessionId: id }, ...state }, id)
		const done = [message("u1", "user", [text("Go")]), message("u2", "user", [text("host's", { synthetic: true })]), message("u3", "user", [text("and on")]),
			message("a", "assistant", [task("c1", "completed", { output: "one" }), task("c2", "error", { error: "Cancelled" }), task("c3", "running")])]
		await request(...done)
		await request(...done)
		await request(message("u4", "user", [text("a child's")], { sessionID: "child" }))`)
	var told []string
	for _, event := range h.heard() {
		if event["event"] == "messages.transform" {
			shown, err := json.Marshal([]any{event["parent"], event["words"], event["tasks"]})
			require.NoError(t, err)
			told = append(told, string(shown))
		}
	}
	require.Len(t, told, 3)
	assert.JSONEq(t, `[null, [{"message": "u1", "text": "Go"}, {"message": "u3", "text": "and on"}], [
		{"child": "c1", "title": "look c1 (@general subagent)", "state": "completed", "output": "one"},
		{"child": "c2", "title": "look c2 (@general subagent)", "state": "aborted", "error": "Cancelled"},
		{"child": "c3", "title": "look c3 (@general subagent)"}]]`, told[0])
	assert.JSONEq(t, `[null, null, [{"child": "c3", "title": "look c3 (@general subagent)"}]]`, told[1], "answered events are not sent again")
	assert.JSONEq(t, `["s", null, null]`, told[2])
}

// lateOnce is a flame whose answers come too late while there is a file called late.
var lateOnce = strings.Replace(records, "	n=${told#*:}\n", "	n=${told#*:}\n	"+
	`[ -e "$HOME/late" ] && printf '{"n": %s, "late": true}\n' "${n%%,*}" && continue`+"\n", 1)

func TestPluginSendsNoThinkingOfAnotherPast(t *testing.T) {
	t.Parallel()
	const thinking = `
		const { writeFileSync } = await import("node:fs")
		const says = (id, ...parts) => message(id, "assistant", [thought("t" + id), ...parts, text(id)])
		const sent = async (...messages) => (await request(...messages)).flatMap(({ parts }) => parts.map((p) => p.text)).join(" ")
		const all = [message("u1", "user", [text("Go")]), says("a2"), says("a3"), says("a4")]
	`
	tests := map[string]struct{ scene, sent, editions string }{
		"as flame says; newer answers keep theirs": {
			`const first = await sent(...all); return [first, await sent(...all, says("a5"))]`,
			`["Go ta2 a2 a4", "Go ta2 a2 a4 ta5 a5"]`, `[[], [["a5", 3]]]`,
		},
		"what was sent before an answer of flame's is not known to fit": {
			`writeFileSync(process.env.HOME + "/late", ""); const first = await sent(...all)
			 const { rmSync } = await import("node:fs"); rmSync(process.env.HOME + "/late"); await sent(...all, says("a5"))
			 writeFileSync(process.env.HOME + "/late", ""); return [first, await sent(...all, says("a5"), says("a6"))]`,
			`["Go ta2 a2 ta3 a3 ta4 a4", "Go ta2 a2 a4 ta5 a5 ta6 a6"]`, `[[], [["a5", 0]], [["a5", 0], ["a6", 3]]]`,
		},
		"what was made after another past is left out until flame knows it": {
			`await sent(...all); h = await sent(...all, says("a5")); writeFileSync(process.env.HOME + "/answer", '{"edition": 4, "drop": ["a3"]}')
			 const second = await sent(...all, says("a5")); writeFileSync(process.env.HOME + "/late", "")
			 return [second, await sent(...all, says("a5"), says("a6"))]`,
			`["Go ta2 a2 ta4 a4 ta5 a5", "Go ta2 a2 ta4 a4 ta5 a5 ta6 a6"]`, `[[], [["a5", 3]], [["a5", 3]], [["a5", 3], ["a6", 4]]]`,
		},
		"a history that was cut short": {
			`await sent(...all); writeFileSync(process.env.HOME + "/late", "")
			 const second = await sent(...all.slice(0, 2), message("u7", "user", [text("No")]))
			 return [second, await sent(...all.slice(0, 2), message("u7", "user", [text("No")]), says("a8"))]`,
			`["Go a2 No", "Go a2 No a8"]`, `[[], [], [["a8", -1]]]`,
		},
		"but where a round of tools has to begin with it": {
			`const model = { cost: { input: 4, cache: { read: 1, write: 5 } } }
			 await hooks["chat.params"]({ sessionID: "s", model }, { options: { thinking: { type: "enabled" } } })
			 return [await sent(...all)]`,
			`["Go ta2 a2 ta4 a4"]`, `[[]]`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			h.write("answer", `{"edition": 3, "drop": ["a3"], "stale": ["a4"]}`)
			h.installs(lateOnce)
			assert.JSONEq(t, tt.sent, h.plays(thinking+"let h\n"+tt.scene))
			editions := [][][]any{}
			for _, request := range h.heard() {
				known := [][]any{}
				for _, m := range request["messages"].([]any) {
					if edition, told := m.(map[string]any)["edition"]; told {
						known = append(known, []any{m.(map[string]any)["name"], edition})
					}
				}
				editions = append(editions, known)
			}
			told, err := json.Marshal(editions)
			require.NoError(t, err)
			assert.JSONEq(t, tt.editions, string(told))
		})
	}
}

func TestPluginCallsFlameInTheProject(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.env = []string{"FLAME_DIR=else where"}
	h.plays(`session("created", "s")`)
	assert.Equal(t, h.project+"|else where\n", h.read("place"))
}

func TestPluginStaysSilent(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		env    []string
		scene  string
		events int
	}{
		"as FLAME_OFF says": {[]string{"FLAME_OFF=true"}, `return Object.keys(hooks)`, 0},
		"where the user switched flame off": {
			nil, `await hooks.config({ mcp: { flame: { enabled: false } } }); session("created", "s"); return ["config"]`, 0,
		},
		"where OpenCode has loaded it another time": {
			nil, `const again = await load(); session("created", "s")
			await again.event({ event: { type: "session.idle", properties: { sessionID: "s" } } }); await again.dispose(); return ["config"]`, 1,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			h.env = tt.env
			assert.JSONEq(t, `["config"]`, h.plays(tt.scene))
			assert.Len(t, h.heard(), tt.events)
		})
	}
}

// Flame leaves both out with the frame that the pop began.
func TestPluginTellsOfTheWordsBesideAPopAndOfTheLineAboutItsNextFrame(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]any{
		"frame-aaaaaaaa is completed.\nStarted frame-bbbbbbbb as your current frame.": "frame-aaaaaaaa is completed.",
		"frame-aaaaaaaa is completed.\nActivated frame-bbbbbbbb \"b\".":               nil, // only this line has the goal
		"frame-aaaaaaaa is completed.\nCurrent frame: frame-bbbbbbbb":                 nil,
		"frame-aaaaaaaa is completed: \"Started frame-c as your current frame.\"":     nil,
	} {
		h := newHost(t)
		h.plays(`await request(message("u1", "user", [text("Go")]), message("a2", "assistant", [
			text("Next comes b."), tool("flame_flame_pop", "completed", { output: ` + strconv.Quote(output) + ` }, "p")]))`)
		messages := h.heard()[0]["messages"].([]any)
		pop := messages[1].(map[string]any)
		assert.Equal(t, "Next comes b.", pop["tail"])
		assert.Equal(t, want, pop["moves"].([]any)[0].(map[string]any)["rest"], output)
	}
}

func TestPluginUsesTheLastAnswerIfThereIsNone(t *testing.T) {
	t.Parallel()
	for name, flame := range map[string]string{"it is late": lateOnce, "flame failed": strings.Replace(lateOnce, `"late": true`, `"error": "no"`, 1)} {
		h := newHost(t)
		h.write("answer", `{"edition": 3, "drop": ["a2"]}`)
		h.installs(flame)
		assert.JSONEq(t, `[["u1", "a1", "u2", "a3"], ["u1", "a1", "u2", "a3"]]`, h.plays(`
			const { writeFileSync } = await import("node:fs")
			const sent = async () => (await request(...`+history+`)).map(({ info }) => info.id)
			const first = await sent()
			writeFileSync(process.env.HOME + "/late", "")
			return [first, await sent()]`), name)
	}
}

func TestPluginSendsAndTellsNoMoreThanItShould(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		answer, scene string
		sent          string // a regular expression; empty: any
		told          string // a regular expression for the last request that flame is told of; empty: any
	}{
		"no thinking that a reminder is gone from": {
			answer: `{}`, scene: `const u = (id, ...parts) => message(id, "user", [text(id), ...parts], { agent: "plan" })
			 const reminder = () => text("PLAN", { synthetic: true }); await request(u("u1", reminder()))
			 return shown(await request(u("u1"), message("a2", "assistant", [thought("ta2"), text("a2")], { agent: "plan" }), u("u3", reminder())))`,
			sent: `^"u1 a2 u3 PLAN"$`,
		},
		"the cut output of its message alone": {
			answer: `{"edition": 3, "calls": true, "cuts": [{"message": "a2", "call": "c-0", "text": "LINE"}]}`,
			scene: `const call = (id, output) => message(id, "assistant", [{ ...tool("bash", "completed", { output }, "0"), messageID: id }])
			 return shown(await request(message("u1", "user", [text("Go")]), call("a2", "OLD"), call("a3", "NEWEST")))`,
			sent: `^"Go LINE NEWEST"$`,
		},
		"no call whose line is empty": {
			answer: `{"edition": 3, "cuts": [{"message": "a2", "call": "c-r", "text": ""}]}`,
			scene: `const pop = tool("flame_flame_pop", "completed", { output: "frame-aaaaaaaa is completed: x\nStarted frame-bbbbbbbb as your current frame." }, "p")
			 return shown(await request(message("u1", "user", [text("Go")]), message("a2", "assistant", [pop, tool("bash", "completed", { output: "OUTPUT" }, "r")])))`,
			sent: `^"Go frame-aaaaaaaa.*Started frame-bbbbbbbb as your current frame."$`, told: `id:c-r`,
		},
		"no words of a message that is to go without": {
			answer: `{"edition": 3, "cuts": [{"message": "a2", "call": "", "text": ""}]}`,
			scene: `const says = (id, said) => message(id, "assistant", [text(said), tool("bash", "completed", { output: "OUT-" + id }, id)])
			 return shown(await request(message("u1", "user", [text("Go")]), says("a2", "MUTE"), says("a3", "LOUD")))`,
			sent: `^"Go OUT-a2 LOUD OUT-a3"$`,
		},
		"no thinking is counted": {
			scene: `await request(message("u1", "user", [text("Go")]), message("a2", "assistant", [thought("x".repeat(4000)), text("four")]))`,
			told:  `name:a2 open:false role:assistant summary:false tail: time:2 tokens:1\b`,
		},
		"nothing is known of a request that it could not amend": {
			answer: `{"edition": 3, "drop": ["a2"]}`,
			scene: `const all = () => [message("u1", "user", [text("Go")]), message("a2", "assistant", [text("a2")]), message("a3", "assistant", [text("a3")])]
			 await request(...all()); await request(...all(), message("u4", "user", null))
			 await request(...all(), message("u4", "user", [text("x")]), message("a5", "assistant", [text("a5")]))`,
			told: `edition:-1 .*name:a5`,
		},
		"no id is taken out of texts of frames": {
			scene: `await request(message("u1", "user", [text("Go")]), message("a2", "assistant", [
			 tool("flame_flame_pop", "completed", { output: 'ses-imported is completed: "as frame-aaaaaaaa did"\nMore: x' })]))`,
			told: `moves:\[map\[first:true frame:ses-imported kind:leave\]\] name:a2`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			h.write("answer", tt.answer)
			assert.Regexp(t, tt.sent, h.plays(`const shown = (sent) => sent.flatMap(({ parts }) => parts.map((p) => p.text ?? p.state.output)).join(" ")
				`+tt.scene))
			heard := h.heard()
			assert.Regexp(t, tt.told, fmt.Sprint(heard[len(heard)-1]["messages"]))
		})
	}
}
