package codec_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/tidwall/gjson"

	"flame/core/fold"
	"flame/hosts"
	"flame/hosts/claudecode"
	"flame/hosts/codex"
	"flame/hosts/gateway/codec"
	"flame/hosts/gemini"
)

func TestCallsThatAskTheSameHaveTheSameKey(t *testing.T) {
	t.Parallel()
	key := func(tool, input string) string {
		var m fold.Message
		call := codec.Call{ID: "t1", Tool: tool, Input: gjson.Parse(input), Result: &codec.Result{Said: func() string { return "" }}}
		codec.Describe(&m, []codec.Call{call}, claudecode.Host().Gateway.Spec)
		return m.Calls[0].Key
	}
	read := key("Read", `{"file":"a","description":"why"}`)
	assert.Equal(t, read, key("Read", `{"description":"for another reason","file":"a"}`))
	assert.NotEqual(t, read, key("Read", `{"file":"b"}`))
	assert.NotEqual(t, read, key("Write", `{"file":"a"}`))
	assert.Equal(t, "t1", key("Read", `{"file":"`+strings.Repeat("a", 3000)+`"}`), "too long to be compared")
}

func TestCallsTellWhatRan(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		wire                *hosts.GatewaySpec
		tool, input, result string
		failed              bool
		want                fold.Command
		files               []string
	}{
		"passes": {claudecode.Host().Gateway.Spec, "Bash", `{"command":"make"}`, "ok", false, fold.Command{Line: "make"}, nil},
		"fails": {claudecode.Host().Gateway.Spec, "Bash", `{"command":"make"}`, "Exit code 2\nmake: working\nx.c:3: error: no", true,
			fold.Command{Line: "make", Why: "x.c:3: error: no"}, nil},
		"fails at the end": {claudecode.Host().Gateway.Spec, "Bash", `{"command":"make"}`, "Exit code 2\n" + strings.Repeat("é working\n", 9000) + "fatal: no", true,
			fold.Command{Line: "make", Why: "fatal: no"}, nil},
		"says nothing": {claudecode.Host().Gateway.Spec, "Bash", `{"command":"false"}`, "Exit code 1", true, fold.Command{Line: "false", Why: "Exit code 1"}, nil},
		"changes":      {claudecode.Host().Gateway.Spec, "Edit", `{"file_path":"/a"}`, "ok", false, fold.Command{}, []string{"/a"}},
		"changes not":  {claudecode.Host().Gateway.Spec, "Edit", `{"file_path":"/a"}`, "no", true, fold.Command{}, nil},
		"codex": {codex.Host(nil).Gateway.Spec, "exec_command", `{"cmd":"make"}`, "Wall time: 1 s\nProcess exited with code 2\nOutput:\nmake: *** no rule", false,
			fold.Command{Line: "make", Why: "make: *** no rule"}, nil},
		"fails without a word of blame": {claudecode.Host().Gateway.Spec, "Bash", `{"command":"make"}`, "Exit code 2\nworking\nE44 cursor closed", true,
			fold.Command{Line: "make", Why: "E44 cursor closed"}, nil},
		"gemini": {gemini.Host(nil).Gateway.Spec, "run_shell_command", `{"command":"make"}`, "Output: broken\nExit Code: 1", false,
			fold.Command{Line: "make", Why: "Exit Code: 1"}, nil},
	}
	for name, tt := range tests {
		var m fold.Message
		result := &codec.Result{Failed: tt.failed, Said: func() string { return tt.result }}
		codec.Describe(&m, []codec.Call{{ID: "t1", Tool: tt.tool, Input: gjson.Parse(tt.input), Result: result}}, tt.wire)
		if tt.want.Line == "" {
			assert.Empty(t, m.Commands, name)
		} else {
			assert.Equal(t, []fold.Command{tt.want}, m.Commands, name)
		}
		assert.Equal(t, tt.files, m.Files, name)
	}
}

func TestCallsTellWhatWasReadAndWhatSubagentsAnswered(t *testing.T) {
	t.Parallel()
	said := func(text string) *codec.Result { return &codec.Result{Said: func() string { return text }} }
	const trailer = "\nagentId: a05a (use SendMessage with to: 'a05a')\n<usage>subagent_tokens: 15633</usage>\n"
	var m fold.Message
	codec.Describe(&m, []codec.Call{
		{ID: "t1", Tool: "Read", Input: gjson.Parse(`{"file_path":"/p/a.png"}`), Result: said("")},
		{ID: "t2", Tool: "Agent", Result: said("FOUND 14 of them" + trailer)},
		{ID: "t3", Tool: "Task", Result: said("[Subagent hand-back] The text below is the report. The report follows:\n  FOUND\n  MORE" + trailer)},
		{ID: "t4", Tool: "Agent", Result: said("Async agent launched successfully.\nagentId: a05a")},
		{ID: "t5", Tool: "Agent", Result: &codec.Result{Failed: true, Said: func() string { return "no such type" }}},
	}, claudecode.Host().Gateway.Spec)
	assert.Equal(t, []string{"/p/a.png"}, m.Reads)
	assert.Equal(t, []string{"FOUND 14 of them", "FOUND\n  MORE"}, m.Results)
	m = fold.Message{}
	codec.Describe(&m, []codec.Call{{ID: "t1", Tool: "spawn_agent", Result: said(`{"agent_id":"0199"}`)}}, codex.Host(nil).Gateway.Spec)
	assert.Empty(t, m.Results, "the answer of a Codex subagent comes later")
}
