package outline_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/outline"
	"flame/tests/cases"
)

var update = flag.Bool("update", false, "rewrite the expected texts in testdata")

// forest has a frame of every status and texts of every kind.
func forest() []outline.Line {
	line := func(depth int32, id string, s core.Status, goal string) outline.Line {
		return outline.Line{Branch: outline.Branch{Depth: depth}, Frame: core.Frame{ID: id, Status: s, Goal: goal}}
	}
	old := line(0, "frame-old00001", core.Completed, "An older tree")
	old.Frame.Summary = "It stands.\nAll of it, with tests and a description that goes on for more than one line can hold."
	old.Frame.Artifacts = []string{"a.go", "b.go", "c.go", "d.go", "e.go"}
	old.Frame.Decisions = []string{"Go only,\nno scripts", "SQLite", "one binary", "no daemon"}
	gone := line(1, "plan-gone0001", core.Invalidated, "Given up")
	gone.Frame.InvalidationReason = "the requirement went away when the customer found out that nobody used it"
	lines := []outline.Line{
		line(0, "frame-shop0001", core.InProgress, "Ship the shop that sells more things than this line has room for"),
		line(1, "frame-login001", core.InProgress, "Login"),
		line(2, "frame-form0001", core.InProgress, "Form"),
		{Branch: outline.Branch{Depth: 2}, More: map[core.Status]int{core.Completed: 12, core.Failed: 1}},
		line(1, "plan-pay00001", core.Planned, "Payment"),
		gone,
		line(1, "frame-fail0001", core.Failed, "Opaque tokens"),
		line(1, "frame-block001", core.Blocked, "Mail \x1b[31mred\x1b[0m\nlink"),
		line(1, "frame-done0001", core.Completed, "Done"),
		old,
	}
	outline.SetBranches(lines)
	return lines
}

func TestDrawTree(t *testing.T) {
	t.Parallel()
	leftOut := outline.Line{More: map[core.Status]int{core.InProgress: 1, core.Planned: 2}}
	faulty := []outline.Line{{Frame: core.Frame{Status: "odd", Goal: "no id"}}}
	for fault := outline.NoParent; fault <= outline.TooDeep; fault++ {
		faulty = append(faulty, outline.Line{Branch: outline.Branch{Fault: fault}, Frame: core.Frame{ID: "frame-1", Goal: "goal"}})
	}
	tests := map[string]struct {
		lines []outline.Line
		opt   outline.DrawOptions
	}{
		"plain":    {forest(), outline.DrawOptions{}},
		"current":  {forest(), outline.DrawOptions{Current: "frame-form0001"}},
		"details":  {forest(), outline.DrawOptions{Details: true}},
		"narrow":   {forest(), outline.DrawOptions{MaxLine: 40, Details: true}},
		"leftover": {append(forest(), leftOut), outline.DrawOptions{}},
		"faulty":   {faulty, outline.DrawOptions{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			drawn, file := outline.Draw(tt.lines, tt.opt), filepath.Join("testdata", name+".txt")
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(drawn), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Equal(t, string(want), drawn)
		})
	}
	assert.Empty(t, outline.Draw(nil, outline.DrawOptions{}))
}

func TestDrawnTreesAreTextForATerminal(t *testing.T) {
	t.Parallel()
	lines := forest()
	lines[0].Frame.ID, lines[0].Frame.Goal = "id\n\x1b[2J", "line\nline\x9b\u202E"
	drawn := outline.Draw(lines, outline.DrawOptions{Details: true})
	assert.NotContains(t, drawn, "\x1b")
	assert.NotContains(t, drawn, "\u202E")
	assert.Equal(t, 1, strings.Count(drawn, "line line"))
}

// chain is a tree in which each frame has one child.
func chain(n int) []outline.Line {
	lines := make([]outline.Line, n)
	for i := range lines {
		lines[i] = outline.Line{Branch: outline.Branch{Depth: int32(i)}, Frame: core.Frame{
			ID: fmt.Sprintf("frame-%08d", i), Status: core.InProgress, Goal: strings.Repeat("goal ", 30), Summary: "summary",
		}}
	}
	outline.SetBranches(lines)
	return lines
}

func TestDeepTreesStayReadable(t *testing.T) {
	t.Parallel()
	drawn := outline.Draw(chain(300), outline.DrawOptions{MaxLine: 100, Details: true})
	for line := range strings.Lines(drawn) {
		assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 100)
	}
	assert.Contains(t, drawn, "\ndepth 299: → goal")
	assert.Contains(t, drawn, "[frame-00000299]")
}

func TestTheTextOfADeepTreeGrowsWithItsFramesAlone(t *testing.T) {
	t.Parallel()
	for _, details := range []bool{false, true} {
		opt := outline.DrawOptions{Details: details}
		less, more := len(outline.Draw(chain(10_000), opt)), len(outline.Draw(chain(20_000), opt))
		assert.Less(t, float64(more)/float64(less), 2.1)
		assert.Less(t, more/20_000, 300, "characters a frame")
	}
}

func TestBranchesFollowFromDepths(t *testing.T) {
	t.Parallel()
	tests := cases.Read[struct {
		Depths []int32
		Last   string // 1 for each line that has no later sibling
		Leaf   string // 1 for each line with nothing below
	}](t, "testdata/branches.yaml")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines := make([]outline.Line, len(tt.Depths))
			for i, depth := range tt.Depths {
				lines[i].Depth = depth
			}
			outline.SetBranches(lines)
			last, leaf := "", ""
			for _, line := range lines {
				last, leaf = last+bit(line.Last), leaf+bit(line.Leaf)
			}
			assert.Equal(t, tt.Last, last)
			assert.Equal(t, tt.Leaf, leaf)
		})
	}
}

func bit(is bool) string {
	if is {
		return "1"
	}
	return "0"
}

func TestTreeLegendNamesEveryStatus(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "→ in_progress  ○ planned  ✓ completed  ! blocked  ⚠ failed  ✗ invalidated", outline.Legend())
	assert.Equal(t, "?", outline.Icon(core.Status("odd")))
}
