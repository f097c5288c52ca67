package project

import (
	"context"
	"errors"

	"flame/core"
)

// recordPresence, by session, is what its hooks must remember from one to the
// next.
const recordPresence Kind[Presence] = "presence"

// A Presence is how a session stands with its hooks.
type Presence struct {
	Seen     int64   `json:"seen"`               // the last event that its agent knows of
	Prompt   string  `json:"prompt,omitempty"`   // the last prompt that was taken in
	Turn     int64   `json:"turn,omitempty"`     // the last event before its turn began
	Told     bool    `json:"told,omitempty"`     // a child: its parent's host hands its last message on
	Fallback string  `json:"fallback,omitempty"` // a child: the last words it was seen to say
	Ended    *Ending `json:"ended,omitempty"`    // a child: it is over but for the work below it
	Given    bool    `json:"given,omitempty"`    // an agent's: its first context came with its task
	Standing
}

// PresenceOf returns how a session stands with its hooks; zero where they never called.
func (s *Step) PresenceOf(session string) (p Presence, err error) {
	_, err = recordPresence.Load(s.Tx, session, &p)
	return p, err
}

// SavePresence keeps it.
func (s *Step) SavePresence(session string, p Presence) error {
	return recordPresence.Save(s.Tx, session, p)
}

// A Ending is how a child's run ended, and what it said last.
type Ending struct {
	End   core.ChildEnd `json:"end"`
	Last  string        `json:"last,omitempty"`
	Idle  bool          `json:"idle,omitempty"`  // flame concluded it from its silence
	Agent bool          `json:"agent,omitempty"` // it is an agent of flame's own, whose end is told with its run
}

// Summary is what the child's frame is told to have come to.
func (e Ending) Summary() string {
	switch {
	case e.Last != "":
		return e.Last
	case e.Idle:
		return autoCompleted
	}
	return e.End.Note()
}

// autoCompleted is the summary of a subagent that fell idle without leaving one.
const autoCompleted = "(completed automatically when the subagent fell idle)"

// A Standing is what a host tells of a session that may ask for agents. It bounds
// what those may do.
type Standing struct {
	Mode  string `json:"mode,omitempty"`       // permission mode; empty: untold
	Agent string `json:"host_agent,omitempty"` // the host's own agent that works in it, by name; empty: untold, or no particular one
	Rules string `json:"rules,omitempty"`      // that agent's permissions as OpenCode has them, in JSON; empty: untold
}

// NoteStanding keeps what the caller's host tells of it.
func (p *Project) NoteStanding(ctx context.Context, by Caller, told Standing) error {
	return p.Consider(ctx, by, func(s *Step) (func(*Step) error, error) {
		mine, err := s.PresenceOf(s.Session.ID)
		if err != nil || mine.Standing == told {
			return nil, err
		}
		return func(s *Step) error {
			mine, err := s.PresenceOf(s.Session.ID) // joining an agent may have changed it
			if err != nil {
				return err
			}
			mine.Standing = told
			return s.SavePresence(s.Session.ID, mine)
		}, nil
	})
}

// StandingOf returns what the host told of a session last; zero where it told nothing.
func StandingOf(tx Tx, session string) (Standing, error) {
	var p Presence
	_, err := recordPresence.Load(tx, session, &p)
	return p.Standing, err
}

// Forget drops a session, how it stood with its hooks and where it worked.
func (s *Step) Forget(id string) error {
	return errors.Join(recordPresence.Delete(s.Tx, id), recordWorked.Delete(s.Tx, id), s.Tx.DeleteSession(id))
}
