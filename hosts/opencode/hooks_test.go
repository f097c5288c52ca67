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
	"flame/tests/cases"
	"flame/tests/effort"
	"flame/tests/projecttest"
)

func TestPluginTellsFlame(t *testing.T) {
	t.Parallel()
	for name, tt := range scenes(t, "tells.txtar") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			h.plays(tt[""])
			heard, err := json.Marshal(h.heard())
			require.NoError(t, err)
			assert.JSONEq(t, tt["heard"], string(heard))
		})
	}
}

// history is a conversation with a frame that came and went in it.
const history = `[
	message("u1", "user", [text("Go")]),
	message("a1", "assistant", [text("x".repeat(1100) + "I begin."),
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
		{"name": "a1", "tokens": 291, "role": "assistant", "time": 1, "summary": false, "open": false,
		 "moves": [{"kind": "enter", "frame": "frame-abcdefgh", "first": true}], "tail": "`+strings.Repeat("x", 992)+`I begin."},
		{"name": "a2", "tokens": 12, "role": "assistant", "time": 2, "summary": false, "open": true, "moves": [], "tail": ""},
		{"name": "u2", "tokens": 3, "role": "user", "time": 2, "summary": false, "open": false, "moves": [], "tail": ""},
		{"name": "a3", "tokens": 17, "role": "assistant", "time": 3, "summary": true, "open": false,
		 "moves": [{"kind": "leave", "frame": "frame-abcdefgh", "first": true}, {"kind": "enter", "frame": "plan-abcdefgh"}], "tail": "",
		 "calls": []}]`,
		string(skeleton))
}

func TestPluginKeepsWhatTheUserSaysInDialogs(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.plays(`
		await hooks.config({ mcp: { "a.b": { command: ["x"] } } })
		const user = { info: { id: "u1", sessionID: "s", role: "user", time: { created: 1 } }, parts: [] }
		const refused = "The user rejected permission to use this specific tool call with the following feedback: never there"
		const part = (callID, tool, state) => ({ id: callID, callID, tool, type: "tool", messageID: "a1", sessionID: "s", state: { input: {}, ...state } })
		const says = (id, ...parts) => ({ info: { id, sessionID: "s", role: "assistant", time: { created: 2, completed: 3 } }, parts })
		await hooks["experimental.chat.messages.transform"]({}, { messages: [
			user,
			says("a1", part("c1", "question", { status: "completed", output: 'User has answered your questions: "Which?"="14 only".' }),
				part("c2", "bash", { status: "error", input: { command: "rm" }, error: refused })),
			says("a2", part("c3", "a_b_z", { status: "error", error: refused })), says("a3", part("c4", "bash", { status: "error", error: "no such file" })),
		] })`)
	var messages []struct {
		Said string
		Open bool
	}
	raw, err := json.Marshal(h.heard()[0]["messages"])
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &messages))
	require.Len(t, messages, 4)
	assert.Equal(t, "User has answered your questions: \"Which?\"=\"14 only\".\nRefused: bash {\"command\":\"rm\"}\nnever there", messages[1].Said)
	assert.False(t, messages[1].Open)
	assert.Empty(t, messages[2].Said+messages[3].Said)
	assert.True(t, messages[2].Open, "a server's tool may write as a refusal does")
	assert.False(t, messages[3].Open)
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
	tests := cases.Read[struct{ Config, Tool, Args string }](t, "testdata/stamps.yaml")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			h.write("answer", `{"key": "`+hostKey+`"}`)
			args := h.plays(`await hooks.config(` + tt.Config + `); return before("` + tt.Tool + `", "1", ` + plain + `)`)
			if tt.Args == stamped {
				var by project.Caller
				_, name, _ := strings.Cut(strings.TrimPrefix(tt.Tool, "my_"), "_")
				args, by = projecttest.Proven(t, f.Project, name, "", []byte(args))
				assert.Equal(t, project.Caller{Session: "s", Trust: project.TrustHook}, by)
			}
			assert.JSONEq(t, tt.Args, args)
		})
	}
}

func TestPluginLetsFlamesCallsTakeTurns(t *testing.T) {
	t.Parallel()
	for name, tt := range scenes(t, "turns.txtar") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.JSONEq(t, tt["order"], newHost(t).plays(`const order = []; `+tt[""]+`; return order.slice()`))
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
	tests := cases.Read[string](t, "testdata/without.yaml") // how flame behaves, as a script
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
	late := h.plays(timed + `
		prompt("s", text("Go"))
		const now = performance.now.bind(performance)
		performance.now = () => now() + 3_600_000
		await request(message("a", "user", []))
		return late`)
	assert.Equal(t, "false", late)
	h.awaitEnd()
}

// awaitEnd waits until the flame after a hanging one has read the last event.
func (h *host) awaitEnd() {
	h.t.Helper()
	require.Eventually(h.t, func() bool { return strings.Contains(h.read("events"), `"dispose"`) }, 2*time.Minute, 10*time.Millisecond)
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
		"nothing that fits":          {`session("created", "s"); prompt("s", text("long ".repeat(100_000)))`, []string{"s session.created", "s chat.message"}},
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
			h.awaitEnd()
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
	for name, tt := range scenes(t, "thinking.txtar") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			h.write("answer", `{"edition": 3, "drop": ["a3"], "stale": ["a4"]}`)
			h.installs(lateOnce)
			assert.JSONEq(t, tt["sent"], h.plays(thinking+"let h\n"+tt[""]))
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
			assert.JSONEq(t, tt["editions"], string(told))
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
	tests := cases.Read[struct {
		Env    []string
		Scene  string
		Events int
	}](t, "testdata/silent.yaml")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			h.env = tt.Env
			assert.JSONEq(t, `["config"]`, h.plays(tt.Scene))
			assert.Len(t, h.heard(), tt.Events)
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
	for name, tt := range scenes(t, "sends.txtar") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			h.write("answer", tt["answer"])
			assert.Regexp(t, strings.TrimSpace(tt["sent"]), h.plays(tt[""]))
			heard := h.heard()
			assert.Regexp(t, strings.TrimSpace(tt["told"]), fmt.Sprint(heard[len(heard)-1]["messages"]))
		})
	}
}
