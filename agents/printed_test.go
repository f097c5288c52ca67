package agents_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents"
	"flame/agents/abroad"
	"flame/agents/plan"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/hosts"
)

// TestTheOutputOfAnAgentElsewhereIsStoredAsItArrives has two workers print, of which the first
// is lost within a line.
func TestTheOutputOfAnAgentElsewhereIsStoredAsItArrives(t *testing.T) {
	t.Parallel()
	var e *elsewhere
	sight := func(attempt int) agents.Sight {
		return agents.Sight{Attempt: attempt, Begun: true, Report: abroad.Report{Machine: "box-1", Mode: record.Choice{Effective: hosts.Plan}}}
	}
	step := make(chan struct{})
	next := func(ctx context.Context) {
		select {
		case step <- struct{}{}:
		case <-ctx.Done():
		}
	}
	s, e := joined(t, func(ctx context.Context, w abroad.Work, see func(agents.Sight)) error {
		see(sight(1))
		for _, p := range []agents.Piece{
			{Offset: 0, Text: []byte("one\ntw")},
			{Offset: 0, Text: []byte("one\n")},               // again
			{Offset: 3, Text: []byte("\ntwo")},               // in part again
			{Offset: 100, Text: []byte("far behind")},        // something before it is missing
			{Offset: 1 << 62, Text: []byte("beyond all")},    // of a hostile hub
			{Offset: 1<<63 - 2, Text: []byte("and further")}, // its end is no number
		} {
			e.print(p)
		}
		next(ctx)
		see(sight(2))
		e.print(agents.Piece{Offset: 0, Text: []byte("three")})
		next(ctx)
		e.left["output"] = "three\nfour\n"
		over := sight(2)
		over.Over, over.Report.Output = true, "output"
		over.Report.Outcome = &supervise.Outcome{State: core.AgentCompleted, Reason: "done", Text: "all of it"}
		see(over)
		return nil
	})
	run := s.request(user, plan.Request{Type: "builder", Prompt: "done", On: "gpu", Retries: 1})
	prints := func(want string) {
		t.Helper()
		s.eventually(func() bool {
			text, err := os.ReadFile(filepath.Join(s.Folder(run.ID), supervise.OutputFile))
			return err == nil && string(text) == want
		})
	}
	prints("one\ntwo")
	part, err := agents.PrintedBy(s.Agents, run.ID, 4, 2)
	require.NoError(t, err)
	assert.Equal(t, "tw", string(part))
	<-step
	prints("one\ntwo\nthree")
	<-step
	s.over(run.ID, core.AgentCompleted, core.Completed)
	prints("one\ntwo\nthree\nfour\n")
}

// TestReadingAnOutputIsBounded has a hub tell more than any agent may print.
func TestReadingAnOutputIsBounded(t *testing.T) {
	t.Parallel()
	const piece, most = 4 << 20, 64 << 20
	var s *service
	var e *elsewhere
	s, e = joined(t, func(_ context.Context, w abroad.Work, see func(agents.Sight)) error {
		see(agents.Sight{Attempt: 1, Begun: true, Report: abroad.Report{Machine: "box-1"}})
		// It has printed the most of that already: a full or busy disk would be another limit.
		e.print(agents.Piece{Text: []byte("x")})
		e.print(agents.Piece{}) // what came before it is stored
		assert.NoError(t, os.Truncate(filepath.Join(s.Folder(w.ID), supervise.OutputFile), most-piece))
		text := []byte(strings.Repeat("x", piece))
		for at := int64(most - piece); at < most+3*piece; at += piece {
			e.print(agents.Piece{Offset: at, Text: text})
		}
		see(agents.Sight{Attempt: 1, Begun: true, Over: true, Lost: "worker lost: box-1"})
		return nil
	})
	run := s.ended(s.away("done").ID)
	info, err := os.Stat(filepath.Join(s.Folder(run.ID), supervise.OutputFile))
	require.NoError(t, err)
	assert.Equal(t, int64(most), info.Size())
}
