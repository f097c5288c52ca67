package shared

import (
	"context"

	"flame/core/merge"
	"flame/project"
)

// Machine returns the id that this machine had when it shared its frames last; empty if it
// never did. If it joined again under another one, it would seem to take over all frames
// that are its own.
func Machine(ctx context.Context, p *project.Project) (id string, err error) {
	err = p.Store.View(ctx, func(tx project.Tx) error {
		var clock merge.Clock
		_, err := recordClock.Load(tx, "", &clock)
		id = clock.Machine
		return err
	})
	if err != nil || !merge.ValidMachine(id) {
		return "", err
	}
	return id, nil
}

// Agreed returns the document of a frame on which this machine and the others agreed last;
// the zero Doc if there is none.
func Agreed(ctx context.Context, p *project.Project, frame string) (d merge.Doc, err error) {
	err = p.Store.View(ctx, func(tx project.Tx) error {
		_, err := recordDoc.Load(tx, frame, &d)
		return err
	})
	return d, err
}
