package app

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/outline"
	"flame/local/place"
)

func TestPrintableTextDoesNotSteerATerminal(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"plain text stays":             {"Größe ✓ 世界\n\ttabs", "Größe ✓ 世界\n\ttabs"},
		"escape sequences lose ESC":    {"a\x1b[31mb", "a[31mb"},
		"so do those of 8 bits":        {"a\u009b31mb", "a31mb"},
		"a carriage return is dropped": {"good\rbad", "goodbad"},
		"directions cannot be turned":  {"a\u202eb\u2066c", "abc"},
		"invalid UTF-8 is replaced":    {"a\xffb", "a\ufffdb"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tt.want, core.Printable(tt.text))
		})
	}
}

func TestEscapedJSONKeepsItsMeaning(t *testing.T) {
	text := "a\x1b\x7f\u009b\u200e\u202e 世界 \U0001f525"
	raw, err := json.Marshal(text)
	require.NoError(t, err)
	got := plainJSON(raw)
	assert.False(t, bytes.ContainsFunc(got, core.SteersTerminal), "%q", got)
	var back string
	require.NoError(t, json.Unmarshal(got, &back))
	assert.Equal(t, text, back)
}

func TestListsAreNeverNull(t *testing.T) {
	raw, _, err := TreeJSON([]outline.Line{{Frame: core.Frame{ID: "frame-1"}}}, "")
	require.NoError(t, err)
	assert.NotContains(t, string(raw), "null")
}

func TestTheCommandForAFolderOfAnotherUserIsOneWord(t *testing.T) {
	_, hint := Foreign(place.Place{Foreign: "/srv/it's; rm -rf ~"})
	assert.Contains(t, hint, `safe.directory '/srv/it'\''s; rm -rf ~'`)
}
