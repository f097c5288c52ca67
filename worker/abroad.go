package worker

import (
	"context"
	"encoding/json"
	"errors"

	"flame/agents/abroad"
	"flame/hub"
	"flame/project"
)

// Sharing has a project's station tell of its agents, and keep what other machines tell.
func Sharing(p *project.Project, s hub.Station) hub.Station {
	var teller abroad.Teller
	s.Agents = func(ctx context.Context) (text json.RawMessage, err error) {
		err = p.Store.View(ctx, func(tx project.Tx) error {
			text, err = teller.Own(tx, p.Now())
			return err
		})
		return text, err
	}
	s.Meet = func(ctx context.Context, there []string, news map[string]json.RawMessage) error {
		return p.Store.Update(ctx, func(tx project.Tx) error {
			err := abroad.Keep(tx, there)
			for machine, agents := range news {
				err = errors.Join(err, abroad.Take(tx, machine, agents, p.Now()))
			}
			return err
		})
	}
	return s
}
