package abroad

import (
	"context"
	"encoding/json"
	"errors"

	"flame/project"
)

// A Post tells other machines of a project's agents, and keeps what they tell. One goroutine
// uses it.
type Post struct {
	Project *project.Project
}

// Own returns what is told of this machine's agents; nil for none.
func (p *Post) Own(ctx context.Context) (text json.RawMessage, err error) {
	err = p.Project.Store.View(ctx, func(tx project.Tx) error {
		text, err = Own(tx, p.Project.Now())
		return err
	})
	return text, err
}

// Meet keeps what some of the machines that are there tell now, and forgets all that are
// not there.
func (p *Post) Meet(ctx context.Context, there []string, news map[string]json.RawMessage) error {
	return p.Project.Store.Update(ctx, func(tx project.Tx) error {
		err := Keep(tx, there)
		for machine, agents := range news {
			err = errors.Join(err, Take(tx, machine, agents, p.Project.Now()))
		}
		return err
	})
}
