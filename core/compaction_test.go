package core_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/core"
)

func TestCompactionPrompts(t *testing.T) {
	t.Parallel()
	s := typical()
	s.Ancestors[0].Summary = strings.Repeat("p", 499) + "😀 and more"
	for _, kind := range []core.CompactionType{core.FrameCompletion, core.ManualSummary, core.Overflow} {
		prompt := core.CompactionPrompt(core.CompactionInput{
			Type: kind, Frame: s.Current, Parent: &s.Ancestors[0], Siblings: s.Children, Now: now, Note: "mind the leeway",
		})
		checkText(t, "compaction/"+string(kind)+".txt", prompt)
		assert.Contains(t, prompt, strings.Repeat("p", 499)+"...", "a character is not cut in half")
	}
}

func TestCompactionPromptOfABareFrameHasNoEmptySections(t *testing.T) {
	t.Parallel()
	prompt := core.CompactionPrompt(core.CompactionInput{Type: core.Overflow, Frame: aFrame("frame-bare0001", core.InProgress, "Alone", 0), Now: now})
	for _, section := range []string{"Parent", "Artifacts", "Decisions", "Finished beside it", "Asked for", "Done means"} {
		assert.NotContains(t, prompt, section)
	}
}

func TestCombineSummaries(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "mine\n\n---\n\nmade", core.CombineSummaries(" mine", "made\n"))
	assert.Equal(t, "mine", core.CombineSummaries("mine", " \n"))
	assert.Equal(t, "made", core.CombineSummaries("", "made"))
	assert.Empty(t, core.CombineSummaries("", ""))
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
			assert.Equal(t, tt.want, core.StripAnalysis(tt.summary))
		})
	}
}
