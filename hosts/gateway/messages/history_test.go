package messages_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/fold"
	"flame/hosts/claudecode"
	"flame/hosts/gateway/dialect"
	"flame/hosts/gateway/messages"
)

// in puts messages into a request.
func in(all ...string) string {
	return `{"model":"m","messages":[` + strings.Join(all, ",\n ") + `],"max_tokens":5}`
}

func parse(t *testing.T, body string) (*messages.Request, []fold.Message) {
	t.Helper()
	r, err := messages.Parse([]byte(body))
	require.NoError(t, err)
	return r, r.History(claudecode.Host().Wire)
}

const (
	asks    = `{"role":"user","content":[{"type":"text","text":"<system-reminder>x</system-reminder>"},{"type":"text","text":"please"}]}`
	env     = `{"role":"system","content":"# Environment"}`
	thinks  = `{"type":"thinking","thinking":"hm","signature":"c2ln"},`
	pushes  = `{"role":"assistant","content":[` + thinks + `{"type":"tool_use","id":"t1","name":"mcp__flame__flame_push","input":{"goal":"g"}}]}`
	pushed  = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"Started frame-aaaaaaaa \"g\". Parent: x."}]}]}`
	call    = `{"type":"tool_use","id":"t2","name":"Read","input":{"file":"a","description":"why"}}`
	reads   = `{"role":"assistant","content":[{"type":"text","text":"I read"},` + call + `]}`
	result  = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","content":"out"}]}`
	pops    = `{"role":"assistant","content":[{"type":"tool_use","id":"t3","name":"mcp__plugin_flame_flame__flame_pop","input":{}}]}`
	ended   = `"frame-aaaaaaaa is completed: \"g\"\nStarted frame-bbbbbbbb as your current frame."`
	popped  = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t3","content":` + ended + `}]}`
	answers = `{"role":"assistant","content":[{"type":"text","text":"all done"}]}`
)

func TestHistory(t *testing.T) {
	t.Parallel()
	_, history := parse(t, in(asks, env, pushes, pushed, reads, result, pops, popped, answers))
	names, roles, moves, calls := []string{}, []core.Role{}, []fold.Move{}, []fold.Call{}
	for _, m := range history {
		names, roles = append(names, m.Name), append(roles, m.Role)
		moves, calls = append(moves, m.Moves...), append(calls, m.Calls...)
		assert.Positive(t, m.Tokens)
		assert.False(t, m.Open, m.Name)
		assert.Equal(t, strings.HasPrefix(m.Name, "r:"), m.Answers, m.Name)
		assert.Equal(t, m.Role == core.RoleOther, m.Host, m.Name)
	}
	assert.Equal(t, []string{"c:t1", "r:t1", "c:t2", "r:t2", "c:t3", "r:t3"}, names[2:8])
	assert.Equal(t, []core.Role{core.RoleUser, core.RoleOther, core.RoleAssistant}, roles[:3])
	assert.Equal(t, []fold.Move{
		{Kind: fold.Enter, Frame: "frame-aaaaaaaa", First: true},
		{Kind: fold.Leave, Frame: "frame-aaaaaaaa", First: true, Call: "t3", Rest: `frame-aaaaaaaa is completed: "g"`},
		{Kind: fold.Enter, Frame: "frame-bbbbbbbb"},
	}, moves)
	require.Len(t, calls, 1)
	assert.Equal(t, "t2", calls[0].ID)
	assert.NotContains(t, calls[0].Key, "why")
	assert.Equal(t, "I read", history[4].Text)
}

func TestNamesStayTheSame(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ one, other string }{
		"a text, or a list of one": {env, `{"role":"system","content":[{"type":"text","text":"# Environment"}]}`},
		"with a mark of the cache": {env, `{"role":"system","content":[{"type":"text","text":"# Environment","cache_control":{"type":"ephemeral"}}]}`},
		"without its thinking":     {pushes, strings.Replace(pushes, thinks, "", 1)},
		"with other reminders":     {asks, strings.Replace(asks, "reminder>x<", "reminder>y<", 1)},
		"with other white space":   {answers, strings.Replace(answers, "all done", "all  done\\n", 1)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, one := parse(t, in(test.one))
			_, other := parse(t, in(test.other))
			assert.Equal(t, one[0].Name, other[0].Name)
		})
	}
	_, twice := parse(t, in(answers, answers))
	assert.NotEqual(t, twice[0].Name, twice[1].Name)
}

func TestTheSpeakerOfAMessage(t *testing.T) {
	t.Parallel()
	user := func(blocks string) string { return `{"role":"user","content":[` + blocks + `]}` }
	text := func(s string) string { return `{"type":"text","text":"` + s + `"}` }
	const out = `{"type":"tool_result","tool_use_id":"t2","content":"out"}`
	tests := map[string]struct {
		message string
		want    fold.Message // Name and Tokens aside
		bound   bool         // the answer before must stay
	}{
		"the user":               {user(text("please")), fold.Message{Role: core.RoleUser}, false},
		"a notification":         {user(text("<task-notification>done</task-notification>")), fold.Message{Role: core.RoleUser, Host: true}, false},
		"a picture":              {user(`{"type":"image","source":{"type":"base64","data":"aaaa"}}`), fold.Message{Role: core.RoleUser}, false},
		"results":                {user(out), fold.Message{Role: core.RoleUser, Answers: true}, false},
		"results, and the host":  {user(out + "," + text("<system-reminder>x")), fold.Message{Role: core.RoleUser, Answers: true}, false},
		"results, and an escape": {user(out + "," + text("[Request interrupted by user for tool use]")), fold.Message{Role: core.RoleUser, Answers: true}, false},
		"results, and the user":  {user(out + "," + text("stop that")), fold.Message{Role: core.RoleUser}, true},
		"a summary": {
			user(text("This session is being continued from a previous conversation that ran out.")), fold.Message{Role: core.RoleUser, Summary: true}, false,
		},
		"the host": {`{"role":"system","content":"hook says"}`, fold.Message{Role: core.RoleOther, Host: true}, false},
		"the user, meanwhile": {
			`{"role":"system","content":"The user sent a new message while you were working:\nfaster"}`,
			fold.Message{Role: core.RoleOther, Host: true, Said: "faster"}, false,
		},
		"nobody":        {`{"role":"system","content":[]}`, fold.Message{Role: core.RoleOther, Host: true}, false},
		"something new": {user(`{"type":"hologram"}`), fold.Message{Role: core.RoleUser, Host: true, Open: true}, false},
		"a server's tool": {
			`{"role":"assistant","content":[{"type":"server_tool_use","id":"s1","name":"web_search","input":{}}]}`,
			fold.Message{Role: core.RoleAssistant, Open: true}, false,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, history := parse(t, in(reads, test.message))
			got := history[1]
			got.Name, got.Tokens = "", 0
			assert.Equal(t, test.want, got)
			assert.Equal(t, test.bound, history[0].Open && strings.Contains(test.message, "tool_result"))
		})
	}
}

func TestPicturesCountWhatTheyTakeNotTheirFiles(t *testing.T) {
	t.Parallel()
	picture := `{"type":"image","source":{"type":"base64","data":"` + strings.Repeat("a", 1<<20) + `"}}`
	_, history := parse(t, in(`{"role":"user","content":[`+picture+`]}`, reads,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","content":[`+picture+`]}]}`))
	assert.Less(t, history[0].Tokens, 5000)
	assert.Less(t, history[2].Tokens, 5000)
}

func TestAmended(t *testing.T) {
	t.Parallel()
	const note = `{"role":"user","content":[{"type":"text","text":"a \"note\""}]}`
	all := []string{asks, env, pushes, pushed, reads, result, pops, popped, answers}
	tests := map[string]struct {
		a    fold.Amendment
		want []string
	}{
		"nothing":  {fold.Amendment{}, all},
		"left out": {fold.Amendment{Drop: []string{"c:t1", "r:t1", "c:t2", "r:t2"}}, []string{asks, env, pops, popped, answers}},
		"noted":    {fold.Amendment{Before: []fold.Note{{Before: "c:t3", Text: `a "note"`}}}, append(append(all[:6:6], note), all[6:]...)},
		"not thought": {fold.Amendment{Stale: []string{"c:t1", "c:t2"}},
			append([]string{asks, env, strings.Replace(pushes, thinks, "", 1)}, all[3:]...)},
		"noted beside results": {
			fold.Amendment{Before: []fold.Note{{Before: "r:t2", Text: `a "note"`}}},
			append(append(all[:5:5], strings.Replace(result, `"out"}`, `"out"},{"type":"text","text":"a \"note\""}`, 1)), all[6:]...),
		},
		"cut": {
			fold.Amendment{Cuts: []fold.Cut{{Message: "c:t2", Call: "t2", Text: "a line"}}},
			append(append(all[:5:5], strings.Replace(result, `"out"`, `"a line"`, 1)), all[6:]...),
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

func TestACallGoesWithItsResultWhereTheLineIsEmpty(t *testing.T) {
	t.Parallel()
	both := strings.Replace(pops, `"input":{}}`, `"input":{}},`+call, 1)
	results := strings.Replace(popped, `]}`, `,{"type":"tool_result","tool_use_id":"t2","content":"out"}]}`, 1)
	r, history := parse(t, in(asks, both, results, answers))
	assert.Equal(t, "t2", history[1].Calls[0].ID)
	got := string(r.Amended(history, fold.Amendment{Cuts: []fold.Cut{{Message: "c:t3", Call: "t2"}}}))
	assert.JSONEq(t, in(asks, pops, popped, answers), got)
}

func TestWordsOfAMessageGoAlone(t *testing.T) {
	t.Parallel()
	words := strings.Replace(pops, `"content":[`, `"content":[{"type":"text","text":"now the next"},`, 1)
	r, history := parse(t, in(asks, words, popped, answers))
	got := string(r.Amended(history, fold.Amendment{Cuts: []fold.Cut{{Message: "c:t3"}}}))
	assert.JSONEq(t, in(asks, pops, popped, answers), got)
}

func TestAMessageOfThinkingAloneDoesNotBecomeEmpty(t *testing.T) {
	t.Parallel()
	r, history := parse(t, in(asks, `{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"}]}`))
	got := string(r.Amended(history, fold.Amendment{Stale: []string{history[1].Name}}))
	assert.NotContains(t, got, `"content":[]`)
	assert.NotContains(t, got, "hm")
}

func TestUnexpectedBodiesAreNotRead(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"nothing": "", "no JSON": "{", "no object": "[]", "no messages": `{"model":"m"}`, "messages of another kind": `{"messages":{}}`,
		"two lists":       `{"messages":[],"messages":[]}`,
		"an unknown role": in(`{"role":"oracle","content":"x"}`), "no content": in(`{"role":"user"}`), "a number for content": in(`{"role":"user","content":5}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := messages.Parse([]byte(body))
			assert.ErrorIs(t, err, dialect.ErrUnread)
		})
	}
}

func TestCleared(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		have  string
		edits []string // types, as they are sent
	}{
		"none":     {``, []string{"clear_tool_uses_20250919"}},
		"null":     {`,"context_management":null`, []string{"clear_tool_uses_20250919"}},
		"empty":    {`,"context_management":{}`, []string{"clear_tool_uses_20250919"}},
		"no edits": {`,"context_management":{"edits":[]}`, []string{"clear_tool_uses_20250919"}},
		"that thinking": {
			`,"context_management":{"x":1,"edits":[{"type":"clear_thinking_20251015","keep":"all"}]}`,
			[]string{"clear_thinking_20251015", "clear_tool_uses_20250919"},
		},
		"it already": {`,"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]}`, []string{"clear_tool_uses_20250919"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _ := parse(t, `{"messages":[`+asks+`]`+test.have+`,"tools":[{"name":"Read"},{"name":"mcp__flame__flame_pop"}]} `)
			var got struct {
				Context struct {
					Edits []struct {
						Type    string
						Exclude []string `json:"exclude_tools"`
					}
				} `json:"context_management"`
			}
			require.NoError(t, json.Unmarshal(r.Cleared(allowed, claudecode.Host().Wire), &got))
			var types []string
			for _, e := range got.Context.Edits {
				types = append(types, e.Type)
			}
			assert.Equal(t, test.edits, types)
			if name != "it already" {
				assert.Equal(t, []string{"mcp__flame__flame_pop"}, got.Context.Edits[len(types)-1].Exclude)
			}
		})
	}
}
