package app

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/outline"
	"flame/local/place"
)

func TestPrintableTextDoesNotSteerATerminal(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"plain text stays":             {"Größe ✓ 世界\n\ttabs", "Größe ✓ 世界\n\ttabs"},
		"escape sequences lose ESC":    {"a\x1b[31mb", "a[31mb"},
		"so do those of 8 bits":        {"a\u009b31mb", "a31mb"},
		"a carriage return is dropped": {"good\rbad", "goodbad"},
		"directions cannot be turned":  {"a\u202eb\u2066c", "abc"},
		"invalid UTF-8 is replaced":    {"a\xffb", "a\ufffdb"},
	} {
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
	assert.False(t, bytes.ContainsFunc(got, core.IsTerminalControl), "%q", got)
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

func TestADurationIsSecondsOrHasUnits(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90": 90 * time.Second, "0.5": 500 * time.Millisecond, "0": 0, "90s": 90 * time.Second, "5m": 5 * time.Minute,
		"2h": 2 * time.Hour, "1h30m": 90 * time.Minute, "7d": 7 * 24 * time.Hour,
	} {
		got, err := parseSpan(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "abc", "-1", "-1h", "2h30", "Inf", "NaN", "1e300", "d", "-7d", "99999d"} {
		_, err := parseSpan(text)
		assert.Error(t, err, text)
	}
}

func TestASizeHasAUnit(t *testing.T) {
	for text, want := range map[string]int64{"500MB": 500 << 20, "20gb": 20 << 30, " 1 TB ": 1 << 40, "0MB": 0} {
		got, err := parseSize(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "5", "GB", "-1GB", "1.5GB", "9999999999TB", "99999999999999999999MB", "5XB"} {
		_, err := parseSize(text)
		assert.Error(t, err, text)
	}
}
