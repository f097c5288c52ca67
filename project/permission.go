package project

import "context"

// A Standing is what a host tells of a session that may ask for agents. It bounds
// what those may do.
type Standing struct {
	Mode  string `json:"mode,omitempty"`       // permission mode; empty: untold
	Agent string `json:"host_agent,omitempty"` // the host's own agent that works in it, by name; empty: untold, or no particular one
	Rules string `json:"rules,omitempty"`      // that agent's permissions as OpenCode has them, in JSON; empty: untold
}

// NoteStanding keeps what the caller's host tells of it.
func (p *Project) NoteStanding(ctx context.Context, by Caller, told Standing) error {
	return p.consider(ctx, by, func(s *step) (func(*step) error, error) {
		mine, err := s.presenceOf(s.session.ID)
		if err != nil || mine.Standing == told {
			return nil, err
		}
		return func(s *step) error {
			mine, err := s.presenceOf(s.session.ID) // joining an agent may have changed it
			if err != nil {
				return err
			}
			mine.Standing = told
			return s.savePresence(s.session.ID, mine)
		}, nil
	})
}

// StandingOf returns what the host told of a session last; zero where it told nothing.
func StandingOf(tx Tx, session string) (Standing, error) {
	var p presence
	_, err := recordPresence.Load(tx, session, &p)
	return p.Standing, err
}
