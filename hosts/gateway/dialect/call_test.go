package dialect_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/tidwall/gjson"

	"flame/core/fold"
	"flame/hosts/claudecode"
	"flame/hosts/gateway/dialect"
)

func TestCallsThatAskTheSameHaveTheSameKey(t *testing.T) {
	t.Parallel()
	key := func(tool, input string) string {
		var m fold.Message
		call := dialect.Call{ID: "t1", Tool: tool, Input: gjson.Parse(input), Result: &dialect.Result{Said: func() string { return "" }}}
		dialect.Describe(&m, []dialect.Call{call}, claudecode.Host().Wire)
		return m.Calls[0].Key
	}
	read := key("Read", `{"file":"a","description":"why"}`)
	assert.Equal(t, read, key("Read", `{"description":"for another reason","file":"a"}`))
	assert.NotEqual(t, read, key("Read", `{"file":"b"}`))
	assert.NotEqual(t, read, key("Write", `{"file":"a"}`))
	assert.Equal(t, "t1", key("Read", `{"file":"`+strings.Repeat("a", 3000)+`"}`), "too long to be compared")
}
