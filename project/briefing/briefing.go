// Package briefing composes the texts for a session's agent: the context of its frame, the
// changes by others since its last briefing, and notices.
package briefing

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"flame/core"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/stack"
)

// A Briefing is a text for a session's agent; empty if there is nothing new.
type Briefing struct {
	Text string
	Full bool // the whole context, not only the changes
}

// TakeGivenContext reports whether the session's first context came with its task, and records
// that its agent knows that context. It reports true only once.
func TakeGivenContext(s *project.Op) (bool, error) {
	mine, err := project.RecordHookState.Find(s.Tx, s.Session.ID)
	if err != nil || !mine.ContextGiven {
		return false, err
	}
	mine.ContextGiven = false
	if mine.LastSeq, err = LastSeq(s); err != nil {
		return false, err
	}
	return true, project.RecordHookState.Save(s.Tx, s.Session.ID, mine)
}

// FullContext returns the full context of the session's frame, and what its user said so far. Without a
// frame, it returns the frames that the session could take up.
func FullContext(s *project.Op, maxChars int) (b Briefing, err error) {
	around, err := around(s)
	if err != nil {
		return b, err
	}
	words, err := userWords(s, maxChars)
	items, wrong := openItems(s)
	behind := strings.Trim(items+"\n\n"+words, "\n")
	if maxChars > 0 && behind != "" {
		maxChars = max(1, maxChars-core.UTF16Len(behind)-len("\n\n"))
	}
	b = whole(s, around, maxChars)
	b.Text = strings.Trim(b.Text+"\n\n"+behind, "\n")
	return b, errors.Join(err, wrong)
}

// Limits of the open items of the agent's to-do list: their number, and the UTF-16 code units of all of
// them and of each.
const (
	shownItems = 12
	itemsRoom  = 1_200
	itemRoom   = 80
)

// openItems returns what a compaction takes out of the agent's sight: the plan that the user approved, and
// the open items of its to-do list, with the host's ids for them; empty without any.
func openItems(s *project.Op) (string, error) {
	plan, err := stack.ApprovedPlan(s)
	if err != nil {
		return "", err
	}
	open, ids, forked, err := stack.OpenItems(s)
	if err != nil || len(open) == 0 && plan == "" {
		return "", err
	}
	var lines []string
	if plan != "" {
		lines = append(lines, plan)
	}
	switch {
	case len(open) > 0 && forked:
		lines = append(lines, "Open in the to-do list that your history shows; your own is empty, and ids there do not hold:")
	case len(open) > 0:
		lines = append(lines, "Open in your to-do list:")
	}
	for i, frame := range open[:min(len(open), shownItems)] {
		line := core.OneLine(frame.Goal, itemRoom) + " (" + strings.ReplaceAll(string(frame.Status), "_", " ") + ")"
		if ids[i] != "" {
			line = "#" + core.OneLine(ids[i], itemRoom) + " " + line
		}
		lines = append(lines, line)
	}
	if more := len(open) - shownItems; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return core.BuildNotices(lines, itemsRoom), nil
}

func whole(s *project.Op, around core.ContextInput, maxChars int) Briefing {
	return Briefing{Text: core.BuildContext(around, s.Project.Budget, maxChars).Text, Full: true}
}

// around returns the input of the session's own context, with its current suggestions.
func around(s *project.Op) (around core.ContextInput, err error) {
	frame, ok, err := project.Place(s)
	if err != nil {
		return around, err
	}
	if !ok {
		return around, offers(s, &around)
	}
	terms, err := termsNow(s)
	if err != nil {
		return around, err
	}
	if around, err = surroundings(s, frame, terms); err != nil {
		return around, err
	}
	around.Suggestions, err = autonomy.ContextSuggestions(s)
	return around, err
}

// NoteDelivered records, in the log and in the session's presence, that its agent received b.
func NoteDelivered(s *project.Op, b Briefing) error {
	seen, err := LogDelivered(s, b)
	if err != nil {
		return err
	}
	return project.RecordHookState.Change(s.Tx, s.Session.ID, func(mine *project.HookState) { mine.LastSeq, mine.ContextOwed = seen, false })
}

// LogDelivered records in the log that the session's agent received b, and returns the last
// event that the agent then knows of.
func LogDelivered(s *project.Op, b Briefing) (int64, error) {
	if b.Text != "" {
		kind := "changes"
		if b.Full {
			kind = "context"
		}
		data := map[string]any{"kind": kind, "tokens": core.EstimateTokens(b.Text)}
		if err := s.Emit(core.ContextInjected, s.Session.Current, data); err != nil {
			return 0, err
		}
	}
	return LastSeq(s)
}

// LastSeq returns the sequence number of the newest event; 0 if there are none.
func LastSeq(s *project.Op) (int64, error) {
	last, err := s.Tx.FindEvents(project.EventQuery{Limit: 1, Last: true})
	if err != nil || len(last) == 0 {
		return 0, err
	}
	return last[0].Seq, nil
}

// OnFirstPrompt returns the full context, if it contains more than the frame itself.
func OnFirstPrompt(s *project.Op, maxChars int) (b Briefing, err error) {
	around, err := around(s)
	if err == nil && around.Tells() {
		b = whole(s, around, maxChars)
	}
	return b, err
}

// StartContext returns the full context for a conversation that begins, or with again for one
// that resumes or lost its past. A conversation that begins gets the context only if it
// contains more than the prompt itself. A subagent gets it only if the settings allow that.
func StartContext(s *project.Op, again bool) (b Briefing, err error) {
	config, err := s.SubagentConfig()
	if err != nil || s.Session.Parent != "" && !config.InjectParentContext {
		return b, err
	}
	mine, err := project.RecordHookState.Find(s.Tx, s.Session.ID)
	if again || mine.Forked != "" || err != nil {
		b, wrong := FullContext(s, 0)
		return b, errors.Join(err, wrong)
	}
	around, err := around(s)
	if err != nil {
		return b, err
	}
	if s.Session.Parent == "" {
		if err = offers(s, &around); err != nil || !around.Tells() {
			return b, err
		}
	}
	return whole(s, around, 0), nil
}

// WithNotices returns a briefing that begins with the notices for the session, and deletes
// them. brief makes the rest, in the remaining characters; 0 is no limit.
func WithNotices(s *project.Op, maxChars int, brief func(maxChars int) (Briefing, error)) (b Briefing, err error) {
	waiting, known, err := recordNotice.Get(s.Tx, s.Session.ID)
	if err != nil {
		return b, err
	}
	if !known {
		return brief(maxChars)
	}
	if err := recordNotice.Delete(s.Tx, s.Session.ID); err != nil {
		return b, err
	}
	notices := core.BuildNotices(waiting, maxChars)
	if maxChars > 0 {
		maxChars = max(1, maxChars-len(notices)-len("\n\n"))
	}
	b, err = brief(maxChars)
	b.Text = strings.Trim(notices+"\n\n"+b.Text, "\n")
	return b, err
}

// recordNotice, by session, holds the notices that its agent has not seen.
const recordNotice project.RecordKind[[]string] = "session.notice"

// maxNotices limits the notices that wait for one session; the newest stay.
const maxNotices = 8

// Notify leaves a notice, a fact in one sentence, for a session, in the transaction that
// made the fact true. Only the session's next briefing includes it.
func Notify(tx project.Tx, session, text string) error {
	return recordNotice.Change(tx, session, func(waiting *[]string) {
		*waiting = append((*waiting)[max(0, len(*waiting)+1-maxNotices):], text)
	})
}

// ForgetNotices drops the notices of a session, and what its user said.
func ForgetNotices(tx project.Tx, session string) error {
	return errors.Join(recordNotice.Delete(tx, session), recordUserWords.Delete(tx, session))
}

// Begin records that a session starts, or continues after a compaction, and returns the
// briefing for its agent: the context of its frame or, for a session without one, the
// unfinished frames of sessions that have ended. If there is nothing to say, Begin writes
// nothing.
func Begin(ctx context.Context, p *project.Project, by project.Caller, maxChars int) (Briefing, error) {
	return onStart(ctx, p, by, maxChars, FullContext)
}

// Resume is Begin for a session that continues with its history. The history still holds
// what the agent read and did, so the briefing has only the changes since then.
func Resume(ctx context.Context, p *project.Project, by project.Caller, maxChars int) (Briefing, error) {
	return onStart(ctx, p, by, maxChars, func(s *project.Op, maxChars int) (Briefing, error) {
		if _, ok, err := project.Place(s); err != nil {
			return Briefing{}, err
		} else if !ok {
			return FullContext(s, maxChars)
		}
		mine, err := project.RecordHookState.Find(s.Tx, s.Session.ID)
		if err != nil {
			return Briefing{}, err
		}
		return Changes(s, "", maxChars, mine.LastSeq)
	})
}

func onStart(
	ctx context.Context, p *project.Project, by project.Caller, maxChars int, brief func(*project.Op, int) (Briefing, error),
) (b Briefing, err error) {
	err = p.Run(ctx, by, func(s *project.Op) error {
		b = Briefing{}
		tells, err := hasNews(s)
		if err != nil {
			return err
		}
		moved, err := s.Moved()
		if err != nil || !moved && !tells {
			return err
		}
		return s.Change(func(s *project.Op) (err error) {
			if moved {
				err = project.RecordHookState.Change(s.Tx, s.Session.ID, func(mine *project.HookState) { mine.NoteProcess(s) })
			}
			if err == nil && tells {
				b, err = begin(s, maxChars, brief)
			}
			return err
		})
	})
	return b, err
}

func begin(s *project.Op, maxChars int, brief func(*project.Op, int) (Briefing, error)) (b Briefing, err error) {
	// An agent's first context came with its task. It needs no other until its first prompt.
	mine, err := project.RecordHookState.Find(s.Tx, s.Session.ID)
	if mine.ContextGiven || err != nil {
		return b, err
	}
	if s.Project.Replaying {
		mine.ContextOwed = true
		return b, project.RecordHookState.Save(s.Tx, s.Session.ID, mine)
	}
	if b, err = WithNotices(s, maxChars, func(left int) (Briefing, error) { return brief(s, left) }); err != nil || b.Text == "" {
		return b, err
	}
	return b, NoteDelivered(s, b)
}

// hasNews reports whether Begin has anything to say: about the session's frame, about
// unfinished frames, or in a notice.
func hasNews(s *project.Op) (bool, error) {
	_, ok, err := project.Place(s)
	if ok || err != nil {
		return ok, err
	}
	if _, noted, err := recordNotice.Get(s.Tx, s.Session.ID); noted || err != nil {
		return noted, err
	}
	if mine, err := project.RecordHookState.Find(s.Tx, s.Session.ID); mine.Forked != "" || err != nil {
		return true, err
	}
	var around core.ContextInput
	err = offers(s, &around)
	return around.Tells(), err
}
