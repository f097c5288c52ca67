package work_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/tests/economy/work"
	"flame/tests/model"
)

// plainly names calls by their kinds.
type plainly struct{}

func (plainly) Tool(c work.Call) (model.Tool, bool) {
	return model.Tool{Name: string(c.Kind), Input: c.File}, c.Kind != work.Await && c.Kind != work.Finish
}

func TestTheWorkHasItsStatedLength(t *testing.T) {
	t.Parallel()
	w := work.Make(work.Pieces, 1000)
	assert.Equal(t, w, work.Make(work.Pieces, 1000))
	assert.Len(t, w.Prompts, 5)
	assert.Len(t, w.All(), 20)
	children := 0
	said := map[string]bool{}
	for _, p := range w.All() {
		assert.GreaterOrEqual(t, len(p.Rounds), 8)
		assert.LessOrEqual(t, len(p.Rounds), 15)
		assert.NotEmpty(t, p.Decisions)
		assert.NotEmpty(t, p.Artifacts)
		for _, thing := range append(append([]string{p.Goal, p.Summary}, p.Decisions...), p.Artifacts...) {
			assert.False(t, said[thing], "%q says which piece it is of", thing)
			said[thing] = true
		}
		for _, r := range p.Rounds {
			assert.NotEmpty(t, r.Thinking)
			if r.Call.Kind == work.Delegate {
				children++
			}
			if r.Call.Kind == work.Edit {
				assert.Equal(t, 1, strings.Count(w.Files[r.Call.File], r.Call.Old), "an edit finds one place")
			}
		}
	}
	assert.Equal(t, 5, children)
}

func TestOutputsHaveTheirMean(t *testing.T) {
	t.Parallel()
	for _, mean := range []int{1000, 8000} {
		sum, files := 0, work.Make(work.Pieces, mean).Files
		for _, text := range files {
			sum += len(text)
		}
		assert.InEpsilon(t, mean, sum/len(files), 0.15)
	}
}

// The model makes the same calls for all sizes and ways, except those of the way itself.
func TestTheCallsAreTheSameInEveryWay(t *testing.T) {
	t.Parallel()
	calls := func(way work.Way, bytes int) map[string]int {
		count := map[string]int{}
		for _, actor := range work.Make(work.Pieces, bytes).Script(way, plainly{}) {
			for _, turn := range actor.Turns {
				for _, tool := range turn.Tools {
					if file, ok := tool.Input.(string); ok && file != "" {
						count[tool.Name+" "+file]++
					}
				}
			}
		}
		return count
	}
	plain := calls(work.Plain, 1000)
	assert.Greater(t, len(plain), 100)
	for _, way := range []work.Way{work.Plain, work.Framed, work.Natively} {
		assert.Equal(t, plain, calls(way, 9000), way)
	}
}
