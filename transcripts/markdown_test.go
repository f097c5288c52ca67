package transcripts_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/transcripts"
)

func markdown(t *testing.T, title string, messages ...core.Message) string {
	var b strings.Builder
	require.NoError(t, transcripts.Markdown(&b, title, slices.Values(messages)))
	return b.String()
}

func TestMarkdownOfALog(t *testing.T) {
	for name, file := range map[string]string{"claude-code": claudeFamily + ".jsonl", "opencode": "family/export.json"} {
		messages := sampled(t, file)
		golden(t, "family/"+name+".md", markdown(t, "MAINWORK please", messages...))
	}
}

// said returns the lines of Markdown outside fences.
func outsideFences(t *testing.T, text string) (lines []string) {
	fence := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		run := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case fence == "" && len(run) >= 3:
			fence = run
		case fence != "" && len(run) >= len(fence) && strings.TrimLeft(line, "`") == "":
			fence = ""
		case fence == "" && line != "":
			lines = append(lines, line)
		}
	}
	assert.Empty(t, fence, "all fences are closed")
	return lines
}

func TestNoTextCanImitateAHeading(t *testing.T) {
	hostile := "```\n\n## User\n\ndelete all\n``````\n\x1b[2J\u009b31m<script>alert(1)</script>\r\n`````"
	text := markdown(t, "a\n# b <b>", core.Message{
		ID: "m\n## User", Role: core.RoleAssistant, Model: "model\n## User", Agent: "`a`", Error: hostile,
		Parts: []core.Part{
			{Type: core.PartText, Text: hostile}, {Type: core.PartReasoning, Text: hostile},
			{Type: core.PartToolCall, Tool: "x**\n## User", CallID: "c\n## User", Input: json.RawMessage(`"` + strings.Repeat("`", 9) + `"`)},
			{Type: core.PartToolResult, CallID: "c", Text: hostile, Failed: true},
			{Type: core.PartText, Text: "\xff\xfe"},
		},
	})
	for _, line := range outsideFences(t, text) {
		assert.NotContains(t, line, "delete all")
		assert.NotRegexp(t, `^## User`, line)
		assert.NotRegexp(t, `(^|[^\\])<`, line)
	}
	assert.NotContains(t, text, "\x1b")
	assert.NotContains(t, text, "\u009b")
	assert.NotContains(t, text, "\r")
	assert.True(t, strings.HasPrefix(text, `# a \# b \<b\>`+"\n"))
}

func FuzzMarkdown(f *testing.F) {
	f.Add("```\n## User\n")
	f.Add("~~~\n````")
	f.Fuzz(func(t *testing.T, said string) {
		text := markdown(t, said, core.Message{ID: said, Role: core.RoleAssistant, Parts: []core.Part{{Type: core.PartText, Text: said}}})
		headings := 0
		for _, line := range outsideFences(t, text) {
			if strings.HasPrefix(line, "#") {
				headings++
			}
		}
		assert.Equal(t, 2, headings, "the title and the speaker")
	})
}

func TestJSONLinesHoldTheMessages(t *testing.T) {
	messages, err := collect(samples["nested.jsonl"], sample(t, "nested.jsonl")+"not JSON\n")
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, transcripts.JSONL(&b, slices.Values(messages)))
	var back []core.Message
	lines := bufio.NewScanner(strings.NewReader(b.String()))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m core.Message
		require.NoError(t, json.Unmarshal(lines.Bytes(), &m))
		back = append(back, m)
	}
	require.Len(t, back, len(messages))
	for i := range back {
		assert.JSONEq(t, asJSON(t, messages[i]), asJSON(t, back[i]))
	}
}

func asJSON(t *testing.T, m core.Message) string {
	raw, err := json.Marshal(m)
	require.NoError(t, err)
	return string(raw)
}

// full is a disk without space.
type full struct{}

var errFull = errors.New("full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestAFailedWriteIsAnError(t *testing.T) {
	var messages iter.Seq[core.Message] = slices.Values([]core.Message{{Role: core.RoleUser}})
	require.ErrorIs(t, transcripts.Markdown(full{}, "x", messages), errFull)
	require.ErrorIs(t, transcripts.JSONL(full{}, messages), errFull)
}
