package convergence

import (
	"context"
	"os"
	"path/filepath"

	"github.com/samber/lo"

	"flame/agents/converge"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/project"
	"flame/transcripts"
)

// milestones are the events that a trajectory has of an agent. How it got from one
// to the next, it says itself.
var milestones = []string{core.SubagentSpawned, core.SubagentRetry, core.FrameUpdated, core.SubagentStop}

// Trajectory returns what the agents of a convergence said and called, and what
// became of them, in one stream with its conflicts in their places. Of an agent
// whose output was deleted it has the events alone.
func (all Convergences) Trajectory(ctx context.Context, c Convergence) ([]converge.Entry, error) {
	runs, told := map[string]record.Run{}, map[string][]converge.Entry{}
	err := all.Project.Store.View(ctx, func(tx project.Tx) error {
		for _, id := range c.Result.Inputs {
			run, err := record.Find(tx, id)
			if err != nil {
				return err
			}
			events, err := tx.FindEvents(project.EventQuery{SubagentID: id, Kinds: milestones})
			if err != nil {
				return err
			}
			runs[id] = run
			told[id] = lo.Map(events, func(e core.Event, _ int) converge.Entry { return converge.Entry{TS: e.TS, Event: &e} })
		}
		return nil
	})
	for id, run := range runs {
		told[id] = append(told[id], all.said(run)...)
	}
	return converge.Merge(told, c.Result.Conflicts), err
}

// said returns the words and calls of an agent by its log. What that tells no time
// of was said when the one before it was.
func (all Convergences) said(run record.Run) (entries []converge.Entry) {
	log, err := os.Open(filepath.Join(record.Folder(all.Data, run.ID), supervise.OutputFile))
	if err != nil {
		return nil
	}
	defer log.Close()
	at := run.CreatedAt
	for m, err := range transcripts.Messages(log, all.Hosts.Of(run.Host).Prints) {
		if err != nil {
			break
		}
		at = max(at, m.Time)
		for _, part := range m.Parts {
			if m.Role == core.RoleAssistant && (part.Type == core.PartText || part.Type == core.PartToolCall) {
				entries = append(entries, converge.Entry{TS: at, Said: &part})
			}
		}
	}
	return entries
}
