package record

import (
	"context"

	"flame/project"
)

// Change applies f to an agent's record in one transaction. A final record stays as it
// is: f is not called then.
func Change(ctx context.Context, s project.Store, id string, f func(tx project.Tx, run *Run) error) (run Run, err error) {
	err = s.Update(ctx, func(tx project.Tx) error {
		if run, err = Find(tx, id); err != nil || run.State.Ended() {
			return err
		}
		if err := f(tx, &run); err != nil {
			return err
		}
		return Runs.Save(tx, run.ID, run)
	})
	return run, err
}
