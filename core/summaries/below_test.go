package summaries_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/summaries"
)

// ended returns a frame that ended, made at a time.
func ended(id, goal, summary string, made core.Millis, decisions ...string) core.Frame {
	return core.Frame{ID: id, Status: core.Completed, Goal: goal, Summary: summary, Decisions: decisions, CreatedAt: made, UpdatedAt: made}
}

// composed returns the summary composed for a frame in so much room.
func composed(o summaries.EndedByParent, f core.Frame, room int) string {
	return o.Compose(&f, map[string]bool{}, room)
}

func TestASummaryIsComposedOfWhatWasDoneBelow(t *testing.T) {
	t.Parallel()
	parent := ended("p", "Build it", "", 1, "ours")
	failed := ended("b", "Try another", "Too slow.", 3)
	failed.Status = core.Failed
	outcomes := summaries.EndedByParent{
		"p": {failed, ended("c", "Group", "", 4), ended("a", "Choose", "None does.", 2, "ours", "HS256", "no library"), ended("d", "Only a goal", "", 5)},
		"c": {ended("e", "Inner", "Done\nwell.", 6, "HS256")},
		"a": {ended("f", "Left to the summary above it", "Looked at three.", 2)},
	}
	told := map[string]bool{}
	assert.Equal(t,
		"- Choose: None does. (decided: HS256; no library)\n- Try another (failed): Too slow.\n- Group\n  - Inner: Done well.\n- Only a goal",
		outcomes.Compose(&parent, told, summaries.MaxChars))
	assert.Equal(t, map[string]bool{"ours": true, "HS256": true, "no library": true}, told)

	own := parent
	own.Summary = "its own"
	open := parent
	open.Status = core.InProgress
	for _, f := range []core.Frame{own, open, ended("d", "Nothing below", "", 5)} {
		assert.Empty(t, composed(outcomes, f, summaries.MaxChars))
	}
}

func TestWhatIsOfLeastWeightIsLeftOutFirst(t *testing.T) {
	t.Parallel()
	heavy := map[string]func(f *core.Frame){
		"one with decisions":       func(f *core.Frame) { f.Decisions = []string{"a", "b", "c", "d"} },
		"one that made things":     func(f *core.Frame) { f.Artifacts = []string{"a", "b", "c", "d", "e"} },
		"one that said more":       func(f *core.Frame) { f.Summary = strings.Repeat("said ", 200) },
		"one that went wrong":      func(f *core.Frame) { f.Status = core.Failed },
		"one that took tokens":     func(f *core.Frame) { f.Usage.TokensOut = 1e6 },
		"one that took its time":   func(f *core.Frame) { f.StartedAt, f.EndedAt = 1, 3_600_000 },
		"the one that is the last": func(f *core.Frame) { f.UpdatedAt = 1000 },
	}
	for name, change := range heavy {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outcomes := summaries.EndedByParent{}
			for i := range 20 {
				outcomes["p"] = append(outcomes["p"], ended(fmt.Sprintf("f%02d", i), fmt.Sprintf("GOAL-%02d", i), "short", 7))
			}
			change(&outcomes["p"][19]) // the last of equal ones, by its id
			text := composed(outcomes, ended("p", "g", "", 1), 60)
			assert.Contains(t, text, "GOAL-19")
			assert.NotContains(t, text, "GOAL-18")
			assert.True(t, strings.HasSuffix(text, "\n- …"), "others are hinted at: %s", text)
		})
	}
}

func TestALongChildTakesNothingFromTheOthers(t *testing.T) {
	t.Parallel()
	outcomes := summaries.EndedByParent{}
	for i := range 8 {
		outcomes["p"] = append(outcomes["p"], ended(fmt.Sprint(i), fmt.Sprintf("GOAL-%d", i), fmt.Sprintf("It came to %d.", i), core.Millis(i)))
	}
	alone := composed(outcomes, ended("p", "g", "", 1), summaries.MaxChars)
	huge := ended("huge", strings.Repeat("g", 1<<20), strings.Repeat("s", 1<<20), 99, strings.Repeat("d", 1<<20))
	outcomes["p"] = append(outcomes["p"], huge)
	text := composed(outcomes, ended("p", "g", "", 1), summaries.MaxChars)
	assert.Contains(t, text, alone+"\n")
	assert.LessOrEqual(t, len(text), summaries.MaxChars+3*len("…"))
	assert.Contains(t, text, "ssss")
	assert.Contains(t, text, "dddd")
}

// someOutcomes returns random trees below frame "p", each frame with a decision of its
// own, and one that others made too.
func someOutcomes(random *rand.Rand, words []string) (outcomes summaries.EndedByParent, decisions map[string]int) {
	outcomes, decisions = summaries.EndedByParent{}, map[string]int{}
	statuses := []core.Status{core.Completed, core.Failed, core.Blocked}
	var grow func(parent string, level int)
	grow = func(parent string, level int) {
		for i := range random.IntN(6) {
			id := fmt.Sprintf("%s.%d", parent, i)
			f := ended(id, words[random.IntN(len(words))], "", core.Millis(random.IntN(9)), "D"+id+"!", "shared!")
			f.Status, f.UpdatedAt = statuses[random.IntN(len(statuses))], core.Millis(random.IntN(9))
			if random.IntN(2) == 0 {
				f.Summary = words[random.IntN(len(words))]
			}
			decisions[f.Decisions[0]]++
			if outcomes[parent] = append(outcomes[parent], f); f.Summary == "" && level+1 < summaries.MaxLevels {
				grow(id, level+1)
			}
		}
	}
	grow("p", 0)
	return outcomes, decisions
}

func TestComposedSummariesOfAnyTree(t *testing.T) {
	t.Parallel()
	words := []string{"short", "", "two\nlines", "日本語のまとめ 😀😀", "<xml> & \x1b[31m \u202e", strings.Repeat("word ", 300), strings.Repeat("x", 3000)}
	random := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		outcomes, decisions := someOutcomes(random, words)
		p := ended("p", "g", "", 1)
		for _, room := range []int{0, 7, 40, 200, 1000, 100_000} {
			text := composed(outcomes, p, room)
			require.LessOrEqual(t, len(utf16.Encode([]rune(text))), max(room, 0), "room %d: %q", room, text)
			require.NotContains(t, text, "\x1b")
			for range 3 {
				shuffled := summaries.EndedByParent{}
				for parent, list := range outcomes {
					list = slices.Clone(list)
					random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
					shuffled[parent] = list
				}
				require.Equal(t, text, composed(shuffled, p, room), "the same frames give the same bytes")
			}
		}
		whole := composed(outcomes, p, 100_000)
		for decision := range decisions {
			require.Equal(t, 1, strings.Count(whole, decision), "%s in %s", decision, whole)
		}
		require.Equal(t, min(1, len(decisions)), strings.Count(whole, "shared!"), whole)
	}
}

func TestAComposedSummaryGoesDownSomeLevels(t *testing.T) {
	t.Parallel()
	outcomes := summaries.EndedByParent{}
	id := "deep"
	for range summaries.MaxLevels {
		outcomes[id] = []core.Frame{ended(id+".0", "goal of "+id, "", 1)}
		id += ".0"
	}
	outcomes[id] = []core.Frame{ended("x", "end", "far below", 1)}
	assert.NotContains(t, composed(outcomes, ended("deep", "g", "", 1), summaries.MaxChars), "far below")
	assert.Contains(t, composed(outcomes, ended("deep.0", "g", "", 1), summaries.MaxChars), "far below")

	outcomes["self"] = []core.Frame{ended("self", "around", "", 1)}
	assert.Equal(t, summaries.MaxLevels, strings.Count(composed(outcomes, ended("self", "g", "", 1), summaries.MaxChars), "around"), "a cycle ends")
}
