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
