package claudecode

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/samber/lo"

	"flame/core"
	"flame/hosts/hooks"
	"flame/project/children"
	"flame/project/turns"
	"flame/transcripts"
)

// maxMissed bounds how much of a log is read for events that did not come, in bytes.
const maxMissed = 8 << 20

// catchUp recovers events of the session that did not arrive, for example because its server was
// killed: from the session's log, and from the files of its subagents. It returns which events of
// the current turn are still missing.
func (x *exchange) catchUp() (gap turns.Gap, err error) {
	gap, err = turns.GapOf(x.Ctx, x.Project, x.SessionItself(), x.PromptID)
	if err != nil {
		return gap, err
	}
	if gap.Prompt {
		err = x.promptMissed()
	}
	return gap, errors.Join(err, x.childrenMissed())
}

// promptMissed records the event's prompt, and before it the first prompt of an unknown session,
// at their own times. Only prompts that a person wrote name work.
func (x *exchange) promptMissed() error {
	known, _, err := children.IsKnown(x.Ctx, x.Project, x.Session)
	if err != nil {
		return err
	}
	var prompts []transcripts.Prompt
	if !known {
		prompts = lo.Slice(transcripts.ClaudePrompts(hooks.Head(x.Transcript, maxLog), x.Session), 0, 1)
	}
	late := transcripts.ClaudePrompts(hooks.Tail(x.Transcript, maxMissed), x.Session)
	last, found := lo.Find(late, func(p transcripts.Prompt) bool { return p.ID == x.PromptID })
	if found {
		prompts = append(prompts, last)
	}
	for _, prompt := range prompts {
		fromUser := !strings.HasPrefix(prompt.Text, "<")
		err := turns.NotePrompt(x.Ctx, x.Project.Then(prompt.At), x.SessionItself(), turns.Prompt{ID: prompt.ID, Text: prompt.Text, FromUser: fromUser})
		if err = errors.Join(err, x.Project.NoteMadeUp(x.Ctx, Name)); err != nil {
			return err
		}
	}
	return nil
}

// lastTurn returns the last turn that the session's log shows.
func (x *exchange) lastTurn() transcripts.TurnSummary {
	return transcripts.ClaudeTurn(hooks.Tail(x.Transcript, maxTail), transcripts.LineFilter{Session: x.Session}, true)
}

// Of a session's subagents, at most maxSubagents are looked at, the newest first, and only
// those whose files changed in the last lookBack: what ended before that was caught up with
// at the turns that ended since, or was there before flame.
const (
	maxSubagents = 50
	lookBack     = 30 * time.Minute
)

// childrenMissed ends the subagents whose end did not come.
func (x *exchange) childrenMissed() error {
	var errs []error
	for _, id := range x.subagents() {
		if slices.Contains(x.running(), id) {
			continue
		}
		child, err := children.SessionOf(x.Ctx, x.Project, id)
		if err == nil && !child.IsCompleted {
			err = x.childMissed(id)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// childMissed ends a subagent that Claude Code says has finished, with its last message.
func (x *exchange) childMissed(id string) error {
	child := *x
	child.Agent = id
	if asked := child.askedBy(); !asked.Finished || asked.Call == "" {
		return nil
	}
	if err := child.bind(); err != nil {
		return err
	}
	log := x.agentLog(id)
	turn := transcripts.ClaudeTurn(hooks.Tail(log, maxTail), transcripts.LineFilter{Agent: id}, true)
	if !turn.Over {
		return nil
	}
	return errors.Join(
		children.End(x.Ctx, x.Project, x.SessionItself(), children.EndReport{Session: id, End: core.ChildCompleted, Last: turn.Said, Transcript: log}),
		x.Project.NoteMadeUp(x.Ctx, Name),
	)
}

// subagents returns the ids of the session's subagents, by the files that Claude Code keeps
// of them, the newest first.
func (x *exchange) subagents() (ids []string) {
	folder := filepath.Dir(x.agentLog("any"))
	if x.Transcript == "" {
		return nil
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil // it has none
	}
	since := x.Project.Now().Time().Add(-lookBack)
	files := lo.FilterMap(entries, func(e os.DirEntry, _ int) (os.FileInfo, bool) {
		info, err := e.Info()
		return info, err == nil && strings.HasSuffix(e.Name(), ".meta.json") && info.ModTime().After(since)
	})
	slices.SortFunc(files, func(a, b os.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for _, f := range files[:min(len(files), maxSubagents)] {
		ids = append(ids, strings.TrimSuffix(strings.TrimPrefix(f.Name(), "agent-"), ".meta.json"))
	}
	return ids
}

// maxTail bounds how much of the end of a session's log a hook reads, in bytes: it holds
// the last calls of a turn, and takes about a millisecond.
const maxTail = 128 << 10

// seen returns a function that returns what the session's log shows of the turn that ended
// last, which is read once. A log that is missing, foreign or behind makes it poorer.
// asked is as for transcripts.ClaudeTurn.
func (e event) seen(asked bool) func() transcripts.TurnSummary {
	return hooks.SeenOnce(func() transcripts.TurnSummary {
		return transcripts.ClaudeTurn(hooks.Tail(e.Transcript, maxTail), transcripts.LineFilter{Session: e.Session}, asked)
	}, func(said string) bool { return !asked || said == strings.TrimSpace(e.LastMessage) })
}
