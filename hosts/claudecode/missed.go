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
	"flame/project/children"
	"flame/project/turns"
	"flame/transcripts"
)

// maxMissed bounds how much of a log is read for events that did not come, in bytes.
const maxMissed = 8 << 20

// catchUp makes up for events of the session that did not come, as when its server was
// killed while it had one: from the session's log, and from the files of its subagents. It
// returns what is still missing of the turn of the event's prompt.
func (x *exchange) catchUp() (gap turns.Gap, err error) {
	gap, err = turns.GapOf(x.ctx, x.p, x.session(), x.PromptID)
	if err != nil {
		return gap, err
	}
	if gap.Prompt {
		err = x.promptMissed()
	}
	return gap, errors.Join(err, x.childrenMissed())
}

// promptMissed records the event's prompt, and before it the first one of a session of
// which nothing is known, at their own times. What is no person's own text names no work.
func (x *exchange) promptMissed() error {
	known, _, err := children.Known(x.ctx, x.p, x.Session)
	if err != nil {
		return err
	}
	var prompts []transcripts.Prompt
	if !known {
		prompts = lo.Slice(transcripts.ClaudePrompts(headOf(x.Transcript, maxLog), x.Session), 0, 1)
	}
	last, found := lo.Find(transcripts.ClaudePrompts(tailOf(x.Transcript, maxMissed), x.Session), func(p transcripts.Prompt) bool { return p.ID == x.PromptID })
	if found {
		prompts = append(prompts, last)
	}
	for _, prompt := range prompts {
		then := *x.p
		then.Late, then.Now = true, func() core.Millis { return min(prompt.At, x.p.Now()) }
		fromUser := !strings.HasPrefix(prompt.Text, "<")
		err := turns.NotePrompt(x.ctx, &then, x.session(), turns.Prompt{ID: prompt.ID, Text: prompt.Text, FromUser: fromUser})
		if err = errors.Join(err, x.p.NoteMadeUp(x.ctx, Name)); err != nil {
			return err
		}
	}
	return nil
}

// lastTurn returns the last turn that the session's log shows.
func (x *exchange) lastTurn() transcripts.Turn {
	return transcripts.ClaudeTurn(tailOf(x.Transcript, maxTail), transcripts.Of{Session: x.Session}, true)
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
	ids := slices.DeleteFunc(x.subagents(), func(id string) bool { return slices.Contains(x.running(), id) })
	if len(ids) == 0 {
		return nil
	}
	over, err := children.Over(x.ctx, x.p, ids)
	if err != nil {
		return err
	}
	var errs []error
	for _, id := range ids {
		if !over[id] {
			errs = append(errs, x.childMissed(id))
		}
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
	turn := transcripts.ClaudeTurn(tailOf(log, maxTail), transcripts.Of{Agent: id}, true)
	if !turn.Over {
		return nil
	}
	return errors.Join(
		children.End(x.ctx, x.p, x.session(), children.Ended{Session: id, End: core.ChildCompleted, Last: turn.Said, Transcript: log}),
		x.p.NoteMadeUp(x.ctx, Name),
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
	since := x.p.Now().Time().Add(-lookBack)
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
