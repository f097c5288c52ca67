package changes_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/changes"
	"flame/core"
	"flame/tests/cases"
	"flame/tests/hoststest"
)

// A call is one of a tool, as a log has it.
type call struct {
	Tool   string          `json:"tool"`
	Input  json.RawMessage `json:"input"`
	Failed bool            `json:"failed"`
}

// changed returns what an agent in the folder /dir changed that made these calls.
func changed(calls ...call) []changes.Change {
	var log []core.Message
	for i, c := range calls {
		id := fmt.Sprint("call-", i)
		log = append(log,
			core.Message{Parts: []core.Part{{Type: core.PartToolCall, Tool: c.Tool, CallID: id, Input: c.Input}}},
			core.Message{Parts: []core.Part{{Type: core.PartToolResult, CallID: id, Failed: c.Failed}}})
	}
	return changes.FromLog(slices.Values(log), hoststest.Known().Tools(), "/dir")
}

func TestChangesAreReadFromAnAgentsLog(t *testing.T) {
	t.Parallel()
	for name, tt := range cases.Read[struct {
		Calls []call   `json:"calls"`
		Paths []string `json:"paths"`
	}](t, "testdata/calls.yaml") {
		got := changed(tt.Calls...)
		assert.Equal(t, append([]string{}, tt.Paths...), changes.Paths(got), name)
		for _, c := range got {
			assert.Len(t, c.Hash, 64)
		}
	}
}

func TestTheSameEditsHaveTheSameHash(t *testing.T) {
	t.Parallel()
	hash := func(input string) string {
		return changed(call{Tool: "Edit", Input: []byte(input)})[0].Hash
	}
	first := hash(`{"file_path":"/dir/a.go","old_string":"x","new_string":"y"}`)
	assert.Equal(t, first, hash(`{"new_string":"y","file_path":"a.go","old_string":"x"}`), "the order of arguments and the form of the path do not matter")
	assert.NotEqual(t, first, hash(`{"file_path":"/dir/a.go","old_string":"x","new_string":"z"}`))

	patch := func(text string) []changes.Change {
		return changed(call{Tool: "apply_patch", Input: []byte(`{"patchText":"*** Begin Patch\n` + text + `*** End Patch"}`)})
	}
	update := `*** Update File: a.go\n@@\n-x\n+y\n`
	one, other := patch(update+`*** Add File: b.go\n+new\n`), patch(`*** Add File: c.go\n+c\n`+update)
	assert.Equal(t, []string{"a.go", "b.go", "a.go", "c.go"}, changes.Paths(slices.Concat(one, other)))
	assert.Equal(t, one[0].Hash, other[0].Hash, "an equal change in another patch has the same hash")
	assert.True(t, one[0].Existed)
	assert.False(t, one[1].Existed)
}

func TestAPatchIsSplitByFile(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for name, text := range map[string]string{"sp ace b": "a\n-- b\n", "q\"uo\tte": "x", "bin": "\x00\x01", "ü": "1\n"} {
		s.write(name, text)
	}
	s.commit()
	for name, text := range map[string]string{"sp ace b": "a\n", "bin": "\x00\x02", "ü": "2\n", "new": "diff --git a/x b/x\n"} {
		s.write(name, text)
	}
	require.NoError(t, os.Remove(filepath.Join(s.checkout, "q\"uo\tte")))
	s.git(s.checkout, "add", "-N", ".")
	patch := s.git(s.checkout, "diff", "--no-color", "--no-renames", "--src-prefix=a/", "--dst-prefix=b/", "--binary", "HEAD", "--")
	var told []string
	for _, c := range changes.SplitPatch(patch, false) {
		told = append(told, fmt.Sprint(c.Path, " ", c.Kind, " +", c.Added, " -", c.Removed))
	}
	assert.ElementsMatch(t, []string{
		"sp ace b modified +0 -1", "q\"uo\tte deleted +0 -1", "bin modified +0 -0", "ü modified +1 -1", "new added +1 -0",
	}, told)
	for cut := range len(patch) { // whatever is left of it
		for _, c := range changes.SplitPatch(patch[:cut], true) {
			assert.NotEmpty(t, c.Path)
		}
	}
	for _, odd := range []string{"", "diff --git ", "diff --git \n", "diff --git a b\n", "diff --git \"a/\\9\" \"b/\\9\"\n@@ ", "\x00\xff", "@@ -1 +1 @@\n+a\n"} {
		assert.NotPanics(t, func() { changes.SplitPatch(odd, true) }, odd)
	}
}
