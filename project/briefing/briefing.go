// Package briefing composes what a session's agent should know: the context of its
// frame, what others changed since its last briefing, and notices.
package briefing

import (
	"errors"
	"strings"

	"flame/core"
	"flame/project"
	"flame/project/autonomy"
)

// A Briefing is what a session's agent should read now; empty if there is nothing new.
type Briefing struct {
	Text string
	Full bool // the whole context, not only what changed
}

// TakeGiven reports whether the session's first context came with its task, and records
// that its agent knows that context. It reports true only once.
func TakeGiven(s *project.Step) (bool, error) {
	mine, err := s.PresenceOf(s.Session.ID)
	if err != nil || !mine.Given {
		return false, err
	}
	mine.Given = false
	if mine.Seen, err = LastSeq(s); err != nil {
		return false, err
	}
	return true, s.SavePresence(s.Session.ID, mine)
}

// Whole returns the full context of the session's frame, or the frames it could take up.
func Whole(s *project.Step, maxChars int) (Briefing, error) {
	around, err := around(s)
	if err != nil {
		return Briefing{}, err
	}
	return Briefing{Text: core.BuildContext(around, s.Project.Budget, maxChars).Text, Full: true}, nil
}

// around returns the input of the session's own context, with its current suggestions.
func around(s *project.Step) (around core.Surroundings, err error) {
	frame, ok, err := place(s)
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
	around.Suggestions, err = autonomy.Injectable(s)
	return around, err
}

// SaveTold records, in the log and in the session's presence, that its agent was told b.
func SaveTold(s *project.Step, b Briefing) error {
	mine, err := s.PresenceOf(s.Session.ID)
	if err != nil {
		return err
	}
	if mine.Seen, err = LogTold(s, b); err != nil {
		return err
	}
	mine.Owed = false
	return s.SavePresence(s.Session.ID, mine)
}

// LogTold records in the log that the session's agent was told b, and returns the last
// event that the agent knows of then.
func LogTold(s *project.Step, b Briefing) (int64, error) {
	if b.Text != "" {
		kind := "changes"
		if b.Full {
			kind = "context"
		}
		data := map[string]any{"kind": kind, "tokens": core.EstimateTokens(b.Text)}
		if err := errors.Join(s.Emit(core.ContextInjected, s.Session.Current, data), autonomy.NoteShown(s, b.Text)); err != nil {
			return 0, err
		}
	}
	return LastSeq(s)
}

// LastSeq returns the sequence number of the newest event; 0 if there are none.
func LastSeq(s *project.Step) (int64, error) {
	last, err := s.Tx.FindEvents(project.EventQuery{Limit: 1, Last: true})
	if err != nil || len(last) == 0 {
		return 0, err
	}
	return last[0].Seq, nil
}

// OnFirstPrompt returns the full context, if it says more than the frame itself.
func OnFirstPrompt(s *project.Step, maxChars int) (b Briefing, err error) {
	around, err := around(s)
	if err != nil || !around.Tells() {
		return b, err
	}
	return Briefing{Text: core.BuildContext(around, s.Project.Budget, maxChars).Text, Full: true}, nil
}

// Opening returns the full context for a conversation that begins, or again resumes or
// lost its past. One that begins gets it only if it says more than the prompt itself, a
// subagent only if the settings let children have it.
func Opening(s *project.Step, again bool) (b Briefing, err error) {
	config, err := s.SubagentConfig()
	if err != nil || s.Session.Parent != "" && !config.InjectParentContext {
		return b, err
	}
	around, err := around(s)
	if err != nil {
		return b, err
	}
	if !again && s.Session.Parent == "" {
		if err = offers(s, &around); err != nil || !around.Tells() {
			return b, err
		}
	}
	return Briefing{Text: core.BuildContext(around, s.Project.Budget, 0).Text, Full: true}, nil
}

// WithNotices returns a briefing that begins with the notices for the session, and
// deletes those. brief makes the rest, in the characters that they leave; 0 is no limit.
func WithNotices(s *project.Step, maxChars int, brief func(maxChars int) (Briefing, error)) (b Briefing, err error) {
	var waiting []string
	known, err := recordNotice.Load(s.Tx, s.Session.ID, &waiting)
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
