package turns

import (
	"context"
	"errors"

	"flame/project"
	"flame/project/children"
)

// CatchUp records what a conversation shows and was not reported: its prompts, and with
// them its root frame, and its children. Of the prompts only the first and the
// last need be given; the first counts only if nothing is known of the session.
func CatchUp(ctx context.Context, p *project.Project, by project.Caller, prompts []Prompt, tasks []children.Task) error {
	if len(prompts)+len(tasks) == 0 {
		return nil
	}
	known, _, err := children.Known(ctx, p, by.Session)
	if err != nil {
		return err
	}
	var errs []error
	if known && len(prompts) > 1 {
		prompts = prompts[len(prompts)-1:]
	}
	for _, prompt := range prompts {
		errs = append(errs, NotePrompt(ctx, p, by, prompt))
	}
	return errors.Join(append(errs, children.CatchUp(ctx, p, by, tasks))...)
}

// A Gap is what a host has not reported of a turn.
type Gap struct{ Prompt, End bool }

// GapOf returns what was not reported of the turn that began with a prompt, the newest of
// the caller's session. Without an id nothing is known to be missing.
func GapOf(ctx context.Context, p *project.Project, by project.Caller, id string) (gap Gap, err error) {
	if id == "" {
		return gap, nil
	}
	err = p.Store.View(ctx, func(tx project.Tx) error {
		mine, err := p.Step(tx, by).PresenceOf(by.Session)
		gap = Gap{Prompt: mine.Prompt != id, End: mine.Answered != id}
		return err
	})
	return gap, err
}
