package turns

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"flame/core"
	"flame/core/op"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/briefing"
	"flame/project/children"
	"flame/project/stack"
	"flame/transcripts"
)

// A Prompt asks a session's agent to do something.
type Prompt struct {
	ID       string // the host's; a repeated prompt changes nothing
	Text     string
	FromUser bool                       // a person's own words, not the host's
	MaxChars int                        // of the briefing; 0: no limit
	Standing project.SessionPermissions // of the session, reported with the prompt; zero: not reported

	// Seen returns what the host shows of the turn before the prompt; nil: nothing. Flame
	// calls it only if the end of that turn did not show it.
	Seen func() transcripts.TurnSummary
}

// Begin records a prompt: the first prompt makes and names the session's root. Begin makes or
// suggests a push that is due, and returns a briefing to go with the prompt.
func Begin(ctx context.Context, p *project.Project, by project.Caller, prompt Prompt) (b briefing.Briefing, err error) {
	err = prompted(ctx, p, by, prompt, func(s *project.Op, mine *project.HookState, first bool) error {
		if p.Replaying {
			mine.ContextOwed = mine.ContextOwed || first
			return nil
		}
		b, err = briefing.WithNotices(s, prompt.MaxChars, func(maxChars int) (briefing.Briefing, error) {
			if mine.ContextGiven {
				return briefing.Briefing{}, nil
			}
			prompt.MaxChars = maxChars
			if mine.ContextOwed {
				return briefing.FullContext(s, maxChars)
			}
			return briefFor(s, prompt, first, mine.LastSeq)
		})
		if err != nil {
			return err
		}
		mine.ContextGiven, mine.ContextOwed = false, false
		mine.LastSeq, err = briefing.LogDelivered(s, b)
		return err
	})
	return b, err
}

// NotePrompt is Begin without the briefing, for hosts that ask for it when they send the
// prompt to the model (EditRequest).
func NotePrompt(ctx context.Context, p *project.Project, by project.Caller, prompt Prompt) error {
	return prompted(ctx, p, by, prompt, func(*project.Op, *project.HookState, bool) error { return nil })
}

// prompted records a prompt, unless it was recorded before, and calls then, which may change
// the session's presence; first is true for the first prompt of the session.
func prompted(
	ctx context.Context, p *project.Project, by project.Caller, prompt Prompt,
	then func(s *project.Op, mine *project.HookState, first bool) error,
) error {
	return p.Update(ctx, by, func(s *project.Op) error {
		mine, err := project.RecordHookState.Find(s.Tx, s.Session.ID)
		if err != nil || prompt.ID != "" && prompt.ID == mine.Prompt {
			return err
		}
		if err := followPrompt(s, prompt); err != nil {
			return err
		}
		// followPrompt changes the presence of a child that gets a new frame.
		first := mine.Prompt == ""
		if mine, err = project.RecordHookState.Find(s.Tx, s.Session.ID); err != nil {
			return err
		}
		if err := then(s, &mine, first); err != nil {
			return err
		}
		if prompt.FromUser && !strings.HasPrefix(prompt.Text, "/") {
			err = briefing.NoteWords(s, briefing.UserWords{Key: prompt.ID, Text: unquoted(strings.TrimSpace(prompt.Text))})
		}
		if err != nil {
			return err
		}
		if prompt.Standing != (project.SessionPermissions{}) {
			mine.SessionPermissions = prompt.Standing
		}
		mine.TurnEndedIdle = false
		mine.NoteProcess(s)
		if mine.Prompt = prompt.ID; mine.Prompt == "" {
			mine.Prompt = "unnamed"
		}
		if mine.TurnSeq, err = briefing.LastSeq(s); err != nil {
			return err
		}
		return project.RecordHookState.Save(s.Tx, s.Session.ID, mine)
	})
}

// followPrompt makes the changes to the tree that a prompt implies.
func followPrompt(s *project.Op, prompt Prompt) error {
	s.Session.MessageCount++
	if s.Session.State == core.SessionEnded {
		return nil // the prompt came before the end, so the session does not continue
	}
	if err := errors.Join(s.Tx.ClearDeadline(children.IdleDeadline, s.Session.ID), s.ResumeRoot()); err != nil {
		return err
	}
	switch {
	case !prompt.FromUser:
		return nil
	case s.Session.Parent != "":
		return errors.Join(children.Resume(s), children.MakeFrameIfWorth(s))
	}
	goesOn, err := stack.BreakOffTurn(s, prompt.ID, prompt.before(s))
	if err != nil {
		return err
	}
	if err := children.Interrupt(s, s.Session.ID); err != nil {
		return err
	}
	text := unquoted(strings.TrimSpace(prompt.Text))
	frame, named, err := nameRoot(s, strings.TrimSpace(text))
	if err != nil || frame == "" {
		return err
	}
	if err := autonomy.UpdateActivity(s, frame, func(a *autonomy.FrameActivity) { a.Messages++ }); err != nil {
		return err
	}
	if err := weighPrompt(s, prompt, text, named); err != nil {
		return err
	}
	at, _, err := s.Current()
	if err == nil && !goesOn {
		err = stack.AskTurn(s, prompt.ID, core.OneLine(cmp.Or(workIn(text), text), project.MaxRootGoal))
	}
	if err != nil {
		return err
	}
	return autonomy.UpdateScene(s, func(c *autonomy.SessionActivity) { c.Begin(at.ID, text) })
}

// before returns a function that returns how the turn before the prompt ended, if the host shows that.
func (p Prompt) before(s *project.Op) func() (e stack.TurnEnd, ok bool) {
	return func() (e stack.TurnEnd, ok bool) {
		if p.Seen == nil || s.Project.Replaying {
			return e, false
		}
		seen := p.Seen()
		e = EndReport{LastMessage: seen.Said, Failed: seen.Stopped != ""}.ended(seen)
		return e, seen.Over || seen.Stopped != ""
	}
}

// weighPrompt considers a push, unless the prompt has just named its root. First it adds
// what flame did not see of the turn before.
func weighPrompt(s *project.Op, prompt Prompt, text string, named bool) error {
	judged, err := autonomy.Enabled(s)
	if err != nil || named || !judged {
		return err
	}
	if err := weighMissed(s, text, prompt.Seen); err != nil {
		return err
	}
	return autonomy.SuggestPush(s, core.Head(text, maxWeighed), stack.ActivateIn)
}

// maxWeighed is how much of a prompt flame judges, in characters.
const maxWeighed = 4000

// nameRoot makes the root of a session that has none, or whose root has ended. It names a
// root that has only a default goal by a prompt. It returns the id of the
// frame in which the session works, empty without one, and reports whether the prompt has
// named it.
func nameRoot(s *project.Op, text string) (frame string, named bool, err error) {
	goal := core.OneLine(workIn(text), project.MaxRootGoal)
	if !s.Session.HasFrame() {
		root, err := s.MakeRoot(goal)
		return root.ID, true, err
	}
	if goal != "" {
		if err := s.RenameRoot(goal, false); err != nil {
			return "", false, err
		}
	}
	open, err := s.NearestOpen(s.Session.Current)
	if err != nil || goal == "" {
		return open, false, err
	}
	if open == "" {
		root, err := s.MakeRoot(goal)
		return root.ID, true, err
	}
	at, err := s.Tx.Frame(open)
	return open, at.Goal == goal, err
}

// workIn returns the work that a prompt asks for. A command to the host asks for no work,
// except those of flame's own commands that name work.
func workIn(text string) string {
	if !strings.HasPrefix(text, "/") {
		return text
	}
	for _, c := range op.Commands {
		if work, ok := strings.CutPrefix(text, c.Slash()+" "); ok && c.Work {
			work, _, _ = strings.Cut(unquoted(work)+" ", " --")
			return unquoted(strings.TrimSpace(work))
		}
	}
	return ""
}

// unquoted removes the quotes that `opencode run` puts around a prompt of several words.
func unquoted(line string) string {
	if inner, ok := strings.CutPrefix(line, `"`); ok && strings.HasSuffix(inner, `"`) {
		return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(strings.TrimSuffix(inner, `"`))
	}
	return line
}

// briefFor returns the briefing to go with a prompt: for the first prompt of a session the
// context of its frame, if that says anything, and for later prompts the changes and the
// suggestions since.
func briefFor(s *project.Op, prompt Prompt, first bool, seen int64) (b briefing.Briefing, err error) {
	if first {
		return briefing.OnFirstPrompt(s, prompt.MaxChars)
	}
	known := "" // a person's words do not report a child's end, even if they are the same
	if !prompt.FromUser {
		known = prompt.Text
	}
	return briefing.Changes(s, known, prompt.MaxChars, seen)
}
