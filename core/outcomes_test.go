package core_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/core"
)

// ended returns a frame that ended, made at a time.
func ended(id, goal, summary string, made core.Millis, decisions ...string) core.Frame {
	return core.Frame{ID: id, Status: core.Completed, Goal: goal, Summary: summary, Decisions: decisions, CreatedAt: made, UpdatedAt: made}
}

func TestASummaryIsComposedOfWhatWasDoneBelow(t *testing.T) {
	t.Parallel()
	parent := ended("p", "Build it", "", 1, "ours")
	failed := ended("b", "Try another", "Too slow.", 3)
	failed.Status = core.Failed
	outcomes := core.Outcomes{
		"p": {failed, ended("c", "Group", "", 4), ended("a", "Choose", "None does.", 2, "ours", "HS256", "no library"), ended("d", "Says nothing", "", 5)},
		"c": {ended("e", "Inner", "Done\nwell.", 6, "HS256")},
	}
	told := map[string]bool{}
	assert.Equal(t, "- Choose: None does. (decided: HS256; no library)\n- Try another (failed): Too slow.\n- Group\n  - Inner: Done well.",
		outcomes.Compose(&parent, told))
	assert.Equal(t, map[string]bool{"ours": true, "HS256": true, "no library": true}, told)

	own := parent
	own.Summary = "its own"
	open := parent
	open.Status = core.InProgress
	for _, f := range []core.Frame{own, open, ended("d", "Says nothing", "", 5)} {
		assert.Empty(t, outcomes.Compose(&f, map[string]bool{}))
	}
}

func TestAComposedSummaryIsBounded(t *testing.T) {
	t.Parallel()
	outcomes := core.Outcomes{}
	grow := func(parent string, n int, summary string) {
		for i := range n {
			outcomes[parent] = append(outcomes[parent], ended(fmt.Sprintf("%s.%d", parent, i), strings.Repeat("g", 500), summary, core.Millis(i)))
		}
	}
	grow("many", 9, "short")
	many := ended("many", "g", "", 1)
	text := outcomes.Compose(&many, map[string]bool{})
	assert.Equal(t, core.OutcomesEach, strings.Count(text, "short"))
	assert.True(t, strings.HasSuffix(text, "\n- …"), "others are hinted at: %s", text)

	grow("long", 5, long)
	f := ended("long", "g", "", 1)
	assert.LessOrEqual(t, len(outcomes.Compose(&f, map[string]bool{})), 1010)

	id := "deep"
	for range core.OutcomeLevels + 1 {
		grow(id, 1, "")
		id += ".0"
	}
	outcomes[id] = []core.Frame{ended("x", "end", "far below", 1)}
	f = ended("deep", "g", "", 1)
	assert.Empty(t, outcomes.Compose(&f, map[string]bool{}))
	f = ended("deep.0.0", "g", "", 1)
	assert.Contains(t, outcomes.Compose(&f, map[string]bool{}), "far below")

	outcomes["self"] = []core.Frame{ended("self", "g", "", 1)}
	f = ended("self", "g", "", 1)
	assert.Empty(t, outcomes.Compose(&f, map[string]bool{}), "a cycle ends")
}

func TestAContextComposesSummaries(t *testing.T) {
	t.Parallel()
	s := typical()
	s.Siblings[0].Summary, s.Siblings[0].Decisions = "", []string{"mail later"}
	s.Outcomes = core.Outcomes{"frame-sibling1": {ended("x", "Find a server", "There is none.", 1, "HS256 only", "mail later", "ask Ada")}}
	c := core.BuildContext(s, core.DefaultBudget(), 0)
	assert.Contains(t, c.Text, `<summary composed="true">- Find a server: There is none. (decided: ask Ada)</summary>`)
	assert.Equal(t, 1, strings.Count(c.Text, "HS256 only"), "told in the current frame")
	assert.Equal(t, 1, strings.Count(c.Text, "mail later"))
	assert.Empty(t, s.Siblings[0].Summary, "it stays the reader's")
}
