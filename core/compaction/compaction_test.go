package compaction_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/compaction"
)

var update = flag.Bool("update", false, "rewrite the expected texts in testdata")

const now core.Millis = 1_766_600_000_000

// typical is a frame in the midst of its work, beside one that is finished.
func typical() compaction.Input {
	return compaction.Input{
		Frame: core.Frame{
			ID: "frame-current1", Status: core.InProgress, Goal: "Verify tokens", SuccessCriteria: "expired & forged tokens are refused",
			Artifacts: []string{"auth/token.go"}, Decisions: []string{"HS256 only", "5 minutes of leeway"}, CreatedAt: now - 3_600_000,
		},
		Parent: &core.Frame{Status: core.InProgress, Goal: "Build the login"},
		Siblings: []core.Frame{
			{Status: core.Completed, Goal: "Choose a token library", Summary: "None: the standard library does."},
			{Status: core.Failed, Goal: "Use opaque tokens", Summary: "Too slow."},
		},
		Now: now, Note: "mind the leeway",
	}
}

func TestPrompts(t *testing.T) {
	t.Parallel()
	for _, kind := range []compaction.Type{compaction.FrameCompletion, compaction.ManualSummary, compaction.Overflow} {
		in := typical()
		in.Type = kind
		in.Parent.Summary = strings.Repeat("p", 499) + "😀 and more"
		in.Siblings[0].Decisions = []string{"no library", strings.Repeat("d", 300)}
		prompt := compaction.Prompt(in)
		file := filepath.Join("testdata", string(kind)+".txt")
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(prompt), 0o644))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, string(want), prompt)
		assert.Contains(t, prompt, strings.Repeat("p", 499)+"...", "a character is not cut in half")
	}
}

func TestThePromptOfABareFrameHasNoEmptySections(t *testing.T) {
	t.Parallel()
	prompt := compaction.Prompt(compaction.Input{Type: compaction.Overflow, Frame: core.Frame{ID: "frame-bare0001", Goal: "Alone"}, Now: now})
	for _, section := range []string{"Parent", "Artifacts", "Decisions", "Finished beside it", "Requested in particular", "Done means"} {
		assert.NotContains(t, prompt, section)
	}
}

func TestANoteHasWholeLines(t *testing.T) {
	t.Parallel()
	in := typical()
	in.Type = compaction.Overflow
	whole := compaction.Note(in, 2000)
	for limit := range len(whole) {
		note := compaction.Note(in, limit)
		assert.LessOrEqual(t, len(note), limit)
		for line := range strings.Lines(note) {
			assert.Contains(t, whole, line)
		}
	}
	assert.True(t, strings.HasPrefix(whole, "Flame frame frame-current1 (in_progress): Verify tokens\n"), whole)
	for _, text := range []string{"HS256 only", "mind the leeway", "Build the login"} {
		assert.Contains(t, compaction.Note(in, 600), text)
	}
}

func TestCombineSummaries(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "mine\n\n---\n\nmade", compaction.CombineSummaries(" mine", "made\n"))
	assert.Equal(t, "mine", compaction.CombineSummaries("mine", " \n"))
	assert.Equal(t, "made", compaction.CombineSummaries("", "made"))
	assert.Empty(t, compaction.CombineSummaries("", ""))
}

func TestStripAnalysis(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ summary, want string }{
		"a summary without one":     {" plain\n", "plain"},
		"a part before it":          {"<analysis>\nthoughts\n</analysis>\n\ntext", "text"},
		"parts around it":           {"<analysis>a</analysis>text<analysis>b</analysis>", "text"},
		"tags around what is left":  {"<analysis>a</analysis>\n<summary>\ntext\n</summary>", "text"},
		"a part that never ends":    {"<analysis>a text", "<analysis>a text"},
		"nothing but a part":        {"<analysis>a</analysis>", ""},
		"a closing tag by mistake":  {"a</analysis>b", "a</analysis>b"},
		"a summary about summaries": {"use <summary> here", "use <summary> here"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, compaction.StripAnalysis(tt.summary))
		})
	}
}
