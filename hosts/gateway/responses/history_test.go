package responses_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/fold"
	"flame/hosts"
	"flame/hosts/codex"
	"flame/hosts/gateway/dialect"
	"flame/hosts/gateway/responses"
)

// in puts items into a request.
func in(all ...string) string {
	return `{"model":"m","input":[` + strings.Join(all, ",\n ") + `],"stream":true}`
}

func wire() *hosts.Wire { return codex.Host(func() []string { return nil }).Wire }

func parse(t *testing.T, body string) (*responses.Request, []fold.Message) {
	t.Helper()
	r, err := responses.Parse([]byte(body))
	require.NoError(t, err)
	return r, r.History(wire())
}

func said(role, text string) string {
	return `{"type":"message","role":"` + role + `","content":[{"type":"input_text","text":"` + text + `"}]}`
}

const (
	thinks  = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"sealed"}`
	pushes  = `{"type":"function_call","id":"fc_1","namespace":"mcp__flame","name":"flame_push","arguments":"{\"goal\":\"g\"}","call_id":"c1"}`
	hook    = `{"type":"message","role":"developer","content":[{"type":"input_text","text":"<flame-changes>x</flame-changes>"}]}`
	pushed  = `{"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"Wall time: 0.1 seconds\nOutput:"},` + started + `]}`
	started = `{"type":"input_text","text":"Started frame-aaaaaaaa \"g\". Parent: x."}`
	runs    = `{"type":"function_call","id":"fc_2","name":"exec_command","arguments":"{\"cmd\":\"ls\"}","call_id":"c2"}`
	patches = `{"type":"custom_tool_call","id":"ct_3","name":"apply_patch","input":"*** Begin Patch","call_id":"c3"}`
	ran     = `{"type":"function_call_output","call_id":"c2","output":"out"}`
	patched = `{"type":"custom_tool_call_output","call_id":"c3","output":"ok"}`
	pops    = `{"type":"function_call","id":"fc_4","namespace":"mcp__flame","name":"flame_pop","arguments":"{}","call_id":"c4"}`
	popped  = `{"type":"function_call_output","call_id":"c4","output":"Wall time: 0.1 seconds\nOutput:\nframe-aaaaaaaa is completed: \"g\""}`
	answers = `{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"all done"}]}`
)

var (
	rules  = said("developer", "<permissions instructions>")
	place  = said("user", "<environment_context>here</environment_context>")
	please = said("user", "please")
	all    = []string{rules, place, please, thinks, pushes, hook, pushed, thinks, runs, patches, ran, hook, patched, pops, popped, answers}
)

func TestHistory(t *testing.T) {
	t.Parallel()
	_, history := parse(t, in(all...))
	names, moves, calls := []string{}, []fold.Move{}, []fold.Call{}
	for _, m := range history {
		names, moves, calls = append(names, m.Name[:min(4, len(m.Name))]), append(moves, m.Moves...), append(calls, m.Calls...)
		assert.Equal(t, strings.HasPrefix(m.Name, "r:"), m.Answers, m.Name)
		assert.Equal(t, strings.HasPrefix(m.Name, "h:"), m.Host, m.Name)
		assert.Equal(t, m.Host, m.Open, "Codex's own texts stay: %s", m.Name)
	}
	assert.Equal(t, []string{"c:c1", "r:c1", "c:c2", "r:c2", "c:c4", "r:c4"}, names[3:9])
	assert.Equal(t, "t:", names[9][:2])
	assert.Equal(t, []string{"h:", "h:", "u:"}, []string{names[0][:2], names[1][:2], names[2][:2]})
	assert.Equal(t, []fold.Move{
		{Kind: fold.Enter, Frame: "frame-aaaaaaaa", First: true}, {Kind: fold.Leave, Frame: "frame-aaaaaaaa", First: true},
	}, moves)
	require.Len(t, calls, 2)
	assert.Equal(t, []string{"c2", "c3"}, []string{calls[0].ID, calls[1].ID})
	assert.NotEqual(t, calls[0].Key, calls[1].Key)
	assert.Equal(t, "all done", history[9].Text)
}

func TestTheSpeakerOfAMessage(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		items string // after a call of c2
		want  fold.Message
		bound bool // the answer before must stay
	}{
		"an output":                   {ran, fold.Message{Role: core.RoleUser, Answers: true}, false},
		"an output, after a hook":     {hook + "," + ran, fold.Message{Role: core.RoleUser, Answers: true}, false},
		"an output, after rules":      {rules + "," + ran, fold.Message{Role: core.RoleUser, Answers: true, Open: true}, true},
		"an output, after the user":   {please + "," + ran, fold.Message{Role: core.RoleUser}, true},
		"no output":                   {please, fold.Message{Role: core.RoleUser}, true},
		"another output":              {strings.Replace(ran, "c2", "c9", 1), fold.Message{Role: core.RoleUser, Answers: true, Open: true}, true},
		"an output twice":             {ran + "," + ran, fold.Message{Role: core.RoleUser, Answers: true, Open: true}, true},
		"something new":               {`{"type":"hologram"}`, fold.Message{Role: core.RoleUser, Host: true, Open: true}, true},
		"a compaction by the API":     {`{"type":"compaction","encrypted_content":"x"}`, fold.Message{Role: core.RoleUser, Host: true, Summary: true}, true},
		"an output of an older shell": {strings.Replace(ran, "function_call", "local_shell_call", 1), fold.Message{Role: core.RoleUser, Answers: true}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, history := parse(t, in(runs, test.items))
			got := history[1]
			got.Name, got.Tokens = "", 0
			assert.Equal(t, test.want, got)
			assert.Equal(t, test.bound, history[0].Open)
		})
	}
}

// The user may speak between two calls of an answer.
func TestWordsWithinAnAnswerStay(t *testing.T) {
	t.Parallel()
	_, history := parse(t, in(runs, please, patches, ran, patched))
	assert.True(t, history[0].Open)
	_, history = parse(t, in(runs, hook, patches, ran, patched))
	assert.False(t, history[0].Open)
}

func TestOtherSpeakers(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		item string
		want fold.Message
	}{
		"a context of flame's":       {hook, fold.Message{Role: core.RoleUser, Host: true}},
		"instructions":               {rules, fold.Message{Role: core.RoleUser, Host: true, Open: true}},
		"a message without its type": {`{"role":"user","content":"please"}`, fold.Message{Role: core.RoleUser}},
		"a picture":                  {`{"type":"message","role":"user","content":[{"type":"input_image","image_url":"data:,"}]}`, fold.Message{Role: core.RoleUser}},
		"a summary": {
			said("user", "Another language model started to solve this problem:\\nDONE"), fold.Message{Role: core.RoleUser, Host: true, Summary: true, Open: true},
		},
		"a search of the API's own": {`{"type":"web_search_call","id":"ws_1","action":{}}`, fold.Message{Role: core.RoleAssistant, Open: true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, history := parse(t, in(test.item))
			got := history[0]
			got.Name, got.Tokens = "", 0
			assert.Equal(t, test.want, got)
		})
	}
}

func TestAHookBetweenTwoCallsOfAnAnswer(t *testing.T) {
	t.Parallel()
	_, history := parse(t, in(please, runs, hook, patches, ran, patched))
	require.Len(t, history, 3)
	assert.False(t, history[1].Open)
	assert.Len(t, history[1].Calls, 2)
}

func TestAmended(t *testing.T) {
	t.Parallel()
	note := said("user", `a \"note\"`)
	_, history := parse(t, in(all...))
	last := history[9].Name
	bare := func(item string) string {
		return strings.NewReplacer(`"id":"fc_1",`, "", `"id":"fc_2",`, "", `"id":"ct_3",`, "").Replace(item)
	}
	tests := map[string]struct {
		a    fold.Amendment
		want []string
	}{
		"nothing":  {fold.Amendment{}, all},
		"left out": {fold.Amendment{Drop: []string{"c:c1", "r:c1", "c:c2", "r:c2"}}, append(all[:3:3], all[13:]...)},
		"noted":    {fold.Amendment{Before: []fold.Note{{Before: last, Text: `a "note"`}}}, append(append(all[:15:15], note), answers)},
		"noted beside outputs": {
			fold.Amendment{Before: []fold.Note{{Before: "r:c4", Text: `a "note"`}}}, append(append(all[:15:15], note), answers),
		},
		"not thought": {
			fold.Amendment{Stale: []string{"c:c1", "c:c2", "c:c4", last}},
			append([]string{rules, place, please, bare(pushes), hook, pushed, bare(runs), bare(patches)}, all[10:]...),
		},
		"cut": {
			fold.Amendment{Cuts: []fold.Cut{{Message: "c:c2", Call: "c2", Text: "a line"}}},
			append(append(all[:10:10], strings.Replace(ran, `"out"`, `"a line"`, 1)), all[11:]...),
		},
		"without a call": {
			fold.Amendment{Cuts: []fold.Cut{{Message: "c:c2", Call: "c2"}}}, append(append(append(all[:8:8], patches), hook, patched), all[13:]...),
		},
		"without all calls": {
			fold.Amendment{Cuts: []fold.Cut{{Message: "c:c2", Call: "c2"}, {Message: "c:c2", Call: "c3"}}}, append(append(all[:7:7], hook), all[13:]...),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, history := parse(t, in(all...))
			got := string(r.Amended(history, test.a))
			require.True(t, json.Valid([]byte(got)), got)
			compact := strings.NewReplacer("\n ", "").Replace
			assert.Equal(t, compact(in(test.want...)), compact(got))
		})
	}
}

func TestWordsGoUnlessReasoningStaysThatLedToThem(t *testing.T) {
	t.Parallel()
	spoken := strings.Replace(answers, "all done", "now the next", 1)
	next := strings.Replace(pops, `"id":"fc_4",`, "", 1)
	for name, tt := range map[string]struct {
		items, want []string
		stale       []string
	}{
		"without reasoning":      {[]string{please, spoken, pops, popped}, []string{please, pops, popped}, nil},
		"with stale reasoning":   {[]string{please, thinks, spoken, pops, popped}, []string{please, next, popped}, []string{"c:c4"}},
		"with reasoning to keep": {[]string{please, thinks, spoken, pops, popped}, []string{please, thinks, spoken, pops, popped}, nil},
	} {
		r, history := parse(t, in(tt.items...))
		got := string(r.Amended(history, fold.Amendment{Stale: tt.stale, Cuts: []fold.Cut{{Message: "c:c4"}}}))
		assert.JSONEq(t, in(tt.want...), got, name)
	}
}

func TestAnAnswerWithASearchOfTheAPIsOwnKeepsItsReasoning(t *testing.T) {
	t.Parallel()
	body := in(please, thinks, `{"type":"web_search_call","id":"ws_1"}`, answers)
	r, history := parse(t, body)
	require.Len(t, history, 2)
	assert.Equal(t, body, string(r.Amended(history, fold.Amendment{Stale: []string{history[1].Name}})))
}

func TestUnexpectedBodiesAreNotRead(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"nothing": "", "no JSON": "{", "no object": "[]", "no input": `{"model":"m"}`, "a text as input": `{"input":"x"}`,
		"two inputs": `{"input":[],"input":[]}`, "items of another kind": in("5"), "a member twice": in(`{"type":"message","type":"reasoning"}`),
		"the end of a conversation that the API keeps": `{"previous_response_id":"resp_1","input":[]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := responses.Parse([]byte(body))
			assert.ErrorIs(t, err, dialect.ErrUnread)
		})
	}
}
