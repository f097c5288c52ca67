package agents_test

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/converge"
	"flame/agents/plan"
	"flame/core"
	"flame/project"
	"flame/project/stack"
	"flame/project/view"
	"flame/tests/cases"
	"flame/tests/repository"
)

// done returns the ids of builders that each have done their steps.
func (s *service) done(steps ...string) []string {
	s.t.Helper()
	return lo.Map(steps, func(steps string, _ int) string {
		return s.over(s.spawn(steps).ID, core.AgentCompleted, core.Completed).ID
	})
}

// converged makes one result of agents.
func (s *service) converged(ids []string, o converge.Options) converge.Convergence {
	s.t.Helper()
	c, err := s.Converge(s.ctx, user, ids, o)
	require.NoError(s.t, err)
	return c
}

// told returns what the events of a kind told, of no agent in particular.
func (s *service) told(kind string) (all []map[string]any) {
	s.t.Helper()
	events, err := view.Events(s.ctx, s.Project, project.EventQuery{Kinds: []string{kind}})
	require.NoError(s.t, err)
	for _, e := range events {
		all = append(all, data(s.t, e))
	}
	return all
}

func TestAFileConflictNamesTheAgentsThatChangedTheFile(t *testing.T) {
	t.Parallel()
	s := newService(t)
	ids := s.done("edit a.go; done", "done nothing to do", "edit b.go; edit a.go; edit a.go; done")
	c := s.converged(ids, converge.Options{Strategy: converge.StrategyMerge})
	conflict, found := lo.Find(c.Result.Conflicts, func(c converge.Conflict) bool { return c.Kind == converge.KindFile })
	require.True(t, found, c.Text)
	assert.Equal(t, "a.go", conflict.Key)
	files := s.told(core.FileConflictDetected)
	require.Len(t, files, 1)
	assert.ElementsMatch(t, []any{ids[0], ids[2]}, files[0]["subagent_ids"])
	assert.Len(t, s.told(core.ManualReviewRequired), 1)

	choices := map[string]string{}
	for _, waits := range c.Result.Conflicts {
		choices[waits.ID] = ids[2]
	}
	c, err := s.Convergences().Review(s.ctx, c.ID, choices)
	require.NoError(t, err)
	assert.Contains(t, c.Text, `"file:b.go"`)
	assert.Len(t, s.told(core.FileConflictDetected), 1, "the conflict is reported once")
	complete := s.told(core.ConvergenceComplete)
	require.Len(t, complete, 1)
	assert.EqualValues(t, len(c.Result.Conflicts), complete[0]["resolution_count"])
}

func TestConflictsOfTheCallerAreKeptAndReviewed(t *testing.T) {
	t.Parallel()
	s := newService(t)
	ids := s.done("done It leaks in the parser.", "done The parser is fine.")
	cause := converge.Difference{About: "Cause", Sides: []converge.Statement{
		{SubagentIDs: ids[:1], Says: "a leak"}, {SubagentIDs: ids[1:], Says: "none"},
	}}
	_, err := s.Converge(s.ctx, user, append(ids, "agent-none"), converge.Options{Strategy: converge.StrategyMerge, Conflicts: []converge.Difference{cause}})
	require.ErrorIs(t, err, core.ErrNotFound)
	c := s.converged(ids, converge.Options{Strategy: converge.StrategyMerge, Conflicts: []converge.Difference{cause}})
	assert.Equal(t, "answer:cause", c.Result.Waiting()[0].ID)
	assert.Len(t, c.Result.Differences[0].Sides, 2, "what the caller read is shown")
	assert.Len(t, s.told(core.ManualReviewRequired), 1)
	detected := s.told(core.TranscriptEvent)
	assert.Equal(t, core.EventConflictDetected, detected[len(detected)-1]["event_type"])

	c, err = s.Convergences().Review(s.ctx, c.ID, map[string]string{"answer:cause": ids[1]})
	require.NoError(t, err)
	assert.Contains(t, c.Text, `"statement:cause"`)
	assert.Len(t, s.told(core.ConvergenceComplete), 1)
}

func TestTheConfidenceInAnAnswerCounts(t *testing.T) {
	t.Parallel()
	s := newService(t)
	ids := s.done(`done {"verdict": "yes"}`+"\nConfidence: 0.9", `done {"verdict": "no"}`+"\nConfidence: 0.2", `done {"verdict": "no"}`)
	surest := converge.Options{Strategy: converge.StrategyMerge, Resolution: converge.PreferHigherConfidence}
	assert.Equal(t, ids[0], s.converged(ids[:2], surest).Result.Conflicts[0].Winner)
	_, err := s.Converge(s.ctx, user, ids, surest)
	assert.Contains(t, cases.Advice(t, err, core.ErrInvalid), "confidence")
	latest := converge.Options{Strategy: converge.StrategyMerge, Resolution: converge.AutoAcceptLatest}
	assert.Equal(t, ids[1], s.converged(ids[:2], latest).Result.Conflicts[0].Winner)
}

func TestTheFirstSuccessStopsTheOthers(t *testing.T) {
	t.Parallel()
	s := newService(t)
	ids := s.done("done first")
	late := s.until(s.spawn("say half; hang").ID, core.AgentActive)
	c := s.converged(append(ids, late.ID), converge.Options{Strategy: converge.StrategyFirstSuccess})
	assert.Contains(t, c.Text, "first")
	assert.Contains(t, s.over(late.ID, core.AgentCancelled, core.Blocked).Outcome.Text, "half", "its work is kept")
}

func TestAgentsOfOtherTreesDoNotConverge(t *testing.T) {
	t.Parallel()
	s := newService(t)
	mine := s.done("done mine")
	other := project.Caller{Session: "other", Host: "claude-code", Trust: project.TrustHook}
	theirs := s.over(s.request(other, plan.Request{Type: "analyzer", Prompt: "done theirs"}).ID, core.AgentCompleted, core.Completed)
	_, err := s.Converge(s.ctx, user, append(mine, theirs.ID), converge.Options{Strategy: converge.StrategyMerge})
	assert.Contains(t, cases.Advice(t, err, core.ErrInvalid), "one tree")
}

func TestArtifactsWithoutAToolConflictByTheirContent(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		steps     string // of the second one, before it ends
		conflicts int
	}{
		"the same":         {"write out.bin", 0},
		"nothing any more": {"remove out.bin", 1},
		"other bytes":      {"append out.bin", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			record := func(name, steps string) string {
				run := s.spawn("say half; wait " + s.Dir + "/" + name + "; " + steps + "; done")
				s.until(run.ID, core.AgentActive)
				_, _, err := stack.AddArtifact(s.ctx, s.Project, as(run), run.Frame, "out.bin")
				require.NoError(t, err)
				s.touch(name)
				return s.over(run.ID, core.AgentCompleted, core.Completed).ID
			}
			ids := []string{record("one", "write out.bin"), record("two", tt.steps)}
			c := s.converged(ids, converge.Options{Strategy: converge.StrategyMerge})
			kinds := lo.Filter(c.Result.Conflicts, func(c converge.Conflict, _ int) bool { return c.Kind == converge.KindArtifact })
			assert.Len(t, kinds, tt.conflicts, c.Text)
		})
	}
}

func TestArtifactsAreHashedWithoutLeavingTheProject(t *testing.T) {
	t.Parallel()
	s := newService(t)
	outside := t.TempDir()
	repository.Write(t, outside, map[string]string{"key": "outside"})
	repository.Write(t, s.Dir, map[string]string{"own": "own"})
	repository.Link(t, s.Dir, "away -> "+outside, "lone -> "+filepath.Join(outside, "key"))
	repository.Pipe(t, s.Dir, "pipe")
	run := s.spawn("wait go; done")
	for _, artifact := range []string{"own", "away/key", "lone", "pipe", "none"} {
		_, _, err := stack.AddArtifact(s.ctx, s.Project, user, run.Frame, artifact)
		require.NoError(t, err)
	}
	s.touch("go")
	run = s.over(run.ID, core.AgentCompleted, core.Completed)
	hash := func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
	assert.Equal(t, map[string]string{"own": hash("own"), "lone": hash(filepath.Join(outside, "key"))}, run.ArtifactHashes)
}
