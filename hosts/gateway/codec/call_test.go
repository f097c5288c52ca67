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
		codec.Describe(&m, []codec.Call{call}, claudecode.Host().Gateway)
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
		"passes": {claudecode.Host().Gateway, "Bash", `{"command":"make"}`, "ok", false, fold.Command{Line: "make"}, nil},
		"fails": {claudecode.Host().Gateway, "Bash", `{"command":"make"}`, "Exit code 2\nmake: working\nx.c:3: error: no", true,
			fold.Command{Line: "make", Why: "x.c:3: error: no"}, nil},
		"fails at the end": {claudecode.Host().Gateway, "Bash", `{"command":"make"}`, "Exit code 2\n" + strings.Repeat("é working\n", 9000) + "fatal: no", true,
			fold.Command{Line: "make", Why: "fatal: no"}, nil},
		"says nothing": {claudecode.Host().Gateway, "Bash", `{"command":"false"}`, "Exit code 1", true, fold.Command{Line: "false", Why: "Exit code 1"}, nil},
		"changes":      {claudecode.Host().Gateway, "Edit", `{"file_path":"/a"}`, "ok", false, fold.Command{}, []string{"/a"}},
		"changes not":  {claudecode.Host().Gateway, "Edit", `{"file_path":"/a"}`, "no", true, fold.Command{}, nil},
		"codex": {codex.Host(nil).Gateway, "exec_command", `{"cmd":"make"}`, "Wall time: 1 s\nProcess exited with code 2\nOutput:\nmake: *** no rule", false,
			fold.Command{Line: "make", Why: "make: *** no rule"}, nil},
		"gemini": {gemini.Host(nil).Gateway, "run_shell_command", `{"command":"make"}`, "Output: broken\nExit Code: 1", false,
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
