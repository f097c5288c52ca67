package web_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/render/board"
	"flame/web"
)

func written(t *testing.T, r web.Report, format web.ReportFormat) string {
	var b bytes.Buffer
	require.NoError(t, r.Write(&b, format))
	return b.String()
}

func TestCyclesInAReportAreAtTheTop(t *testing.T) {
	t.Parallel()
	var r web.Report
	for id, parent := range map[string]string{"a": "c", "b": "a", "c": "b", "hangs": "a", "top": "", "below": "top", "lost": "gone", "own": "own"} {
		r.Board.Frames = append(r.Board.Frames, board.Row{ID: id, Parent: parent, Goal: id, Status: core.Completed})
	}
	text := written(t, r, web.Markdown)
	for _, id := range []string{"a", "b", "c", "top", "lost", "own"} {
		assert.Regexp(t, `(?m)^- .*\*\*`+id+`\*\*`, text)
	}
	for _, id := range []string{"below", "hangs"} {
		assert.Regexp(t, `(?m)^  - .*\*\*`+id+`\*\*`, text)
	}
}

func TestTheHeadingOfAReportIsOneLine(t *testing.T) {
	t.Parallel()
	r := web.Report{Root: "/home/me/thing\n\n<img onerror=x>\x1b[31m"}
	r.Board.Frames = []board.Row{{ID: "a", Goal: "one\ntwo \x1b[31m\u009b31m\u202e", Host: "h\x1b", Status: core.Completed}}
	text := written(t, r, web.Markdown)
	assert.Contains(t, text, "**one two ")
	assert.True(t, strings.HasPrefix(text, "# "))
	heading, _, _ := strings.Cut(text, "\n")
	assert.Regexp(t, `thing.*onerror`, heading)
	assert.NotRegexp(t, `[\x1b\x{9b}\x{202e}]`, text)
}

func TestAReportBeginsWithWhatIsBlockedAndWhatFailed(t *testing.T) {
	t.Parallel()
	var r web.Report
	r.Board.Frames = []board.Row{{ID: "a", Goal: "Go on", Status: core.Completed}, {ID: "old", Goal: "Long ago", Status: core.Blocked, Archived: true}}
	assert.NotContains(t, written(t, r, web.Markdown), "All:")
	for i := range 14 {
		row := board.Row{ID: fmt.Sprint("f", i), Goal: fmt.Sprint("*Try* ", i), Status: core.Failed, From: 1, Until: core.Millis(i + 1)}
		r.Board.Frames = append(r.Board.Frames, row)
	}
	text := written(t, r, web.Markdown)
	assert.NotContains(t, text, "Blocked:")
	_, after, found := strings.Cut(text, "Failed:\n\n")
	require.True(t, found)
	first, rest, found := strings.Cut(after, "\nAll:\n\n")
	require.True(t, found)
	lines := strings.Split(strings.TrimSpace(first), "\n")
	require.Len(t, lines, 11)
	assert.Contains(t, lines[0], `**\*Try\* 13**`, "the last one first, and as text")
	assert.Equal(t, "- and 4 more", lines[10])
	assert.Contains(t, rest, `**\*Try\* 0**`)
}
