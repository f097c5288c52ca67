package project

import (
	"context"
	"strings"

	"flame/core"
	"flame/core/op"
)

// A Prompt is what a session's agent is asked to do.
type Prompt struct {
	ID       string // the host's; the same again changes nothing
	Text     string
	FromUser bool     // a person's own words, not the host's
	MaxChars int      // of the briefing; 0: no limit
	Standing Standing // what the host tells of the session with it; zero: nothing
}

// Prompt takes in a prompt: the first one makes and names the session's root, a
// push that is due happens or is suggested. It returns what the agent should know
// beside the prompt.
func (p *Project) Prompt(ctx context.Context, by Caller, prompt Prompt) (b Briefing, err error) {
	err = p.prompted(ctx, by, prompt, func(s *step, mine *presence, first bool) error {
		b, err = s.withNotices(prompt.MaxChars, func(maxChars int) (Briefing, error) {
			if mine.Given {
				return Briefing{}, nil
			}
			prompt.MaxChars = maxChars
			return s.briefFor(prompt, first, mine.Seen)
		})
		if err != nil {
			return err
		}
		mine.Given = false
		mine.Seen, err = s.toldUpTo(b)
		return err
	})
	return b, err
}

// TakeIn is Prompt without the briefing, for hosts that ask for that when they
// send the prompt on (Attend).
func (p *Project) TakeIn(ctx context.Context, by Caller, prompt Prompt) error {
	return p.prompted(ctx, by, prompt, func(*step, *presence, bool) error { return nil })
}

// prompted takes in a prompt that was not taken in before; then finishes with
// what else the session's presence should keep. first says that the session had
// none.
func (p *Project) prompted(ctx context.Context, by Caller, prompt Prompt, then func(s *step, mine *presence, first bool) error) error {
	return p.update(ctx, by, func(s *step) error {
		mine, err := s.presenceOf(s.session.ID)
		if err != nil || prompt.ID != "" && prompt.ID == mine.Prompt {
			return err
		}
		if err := s.takeIn(prompt); err != nil {
			return err
		}
		// Children that took a new frame have another presence now.
		first := mine.Prompt == ""
		if mine, err = s.presenceOf(s.session.ID); err != nil {
			return err
		}
		if err := then(s, &mine, first); err != nil {
			return err
		}
		if prompt.Standing != (Standing{}) {
			mine.Standing = prompt.Standing
		}
		if mine.Prompt = prompt.ID; mine.Prompt == "" {
			mine.Prompt = "unnamed"
		}
		if mine.Turn, err = s.lastSeq(); err != nil {
			return err
		}
		return s.savePresence(s.session.ID, mine)
	})
}

// takeIn does what a person's prompt means for the tree.
func (s *step) takeIn(prompt Prompt) error {
	s.session.MessageCount++
	if err := s.ClearDeadline(deadlineIdle, s.session.ID); err != nil {
		return err
	}
	switch {
	case !prompt.FromUser:
		return nil
	case s.session.Parent != "":
		return s.goOn()
	}
	frame, err := s.nameRoot(prompt.Text)
	if err != nil || frame == "" {
		return err
	}
	if err := s.noteActivity(frame, func(a *Activity) { a.Messages++ }); err != nil {
		return err
	}
	return s.weighPush(firstLine(prompt.Text))
}

// nameRoot makes the root of a session that has none, or whose root is finished,
// and names one that only has a default goal. It returns the id of the frame the
// session works in; empty where there is none.
func (s *step) nameRoot(text string) (string, error) {
	goal := core.OneLine(workIn(unquoted(firstLine(text))), maxRootGoal)
	if !s.session.HasFrame() {
		root, err := s.makeRoot(goal)
		return root.ID, err
	}
	if goal != "" {
		if err := s.renameRoot(goal, false); err != nil {
			return "", err
		}
	}
	open, err := s.nearestOpen(s.session.Current)
	if open != "" || goal == "" || err != nil {
		return open, err
	}
	root, err := s.makeRoot(goal)
	return root.ID, err
}

// workIn returns what a line asks for. A command to the host asks for nothing, but for
// those of flame's own that name work.
func workIn(line string) string {
	if !strings.HasPrefix(line, "/") {
		return line
	}
	for _, c := range op.Commands {
		if work, ok := strings.CutPrefix(line, c.Slash()+" "); ok && c.Work {
			work, _, _ = strings.Cut(unquoted(work)+" ", " --")
			return unquoted(strings.TrimSpace(work))
		}
	}
	return ""
}

// firstLine returns the first line of text that is not blank.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
}

// unquoted takes the quotes off that OpenCode's run puts round a prompt of
// several words.
func unquoted(line string) string {
	if inner, ok := strings.CutPrefix(line, `"`); ok && strings.HasSuffix(inner, `"`) {
		return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(strings.TrimSuffix(inner, `"`))
	}
	return line
}

// briefFor returns what belongs beside a prompt: for the first one of a session the
// context of its frame where that tells anything, then what changed, and the
// suggestions made since.
func (s *step) briefFor(prompt Prompt, first bool, seen int64) (b Briefing, err error) {
	if first {
		return s.briefFirst(prompt.MaxChars)
	}
	known := "" // a person's words tell nothing of a child, even where they are the same
	if !prompt.FromUser {
		known = prompt.Text
	}
	return s.briefChanges(known, prompt.MaxChars, seen)
}
