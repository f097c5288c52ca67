package project

import (
	"context"
	"errors"

	"flame/core"
	"flame/core/op"
)

// recordSuspended, by session, is the id of the agent that it handed control to.
const recordSuspended Kind[string] = "suspended"

// Suspend keeps a session from changing frames until Resume, because it handed control
// to an agent (spec: agents §5).
func Suspend(tx Tx, session, agent string) error {
	return errors.Join(setState(tx, session, core.SessionSuspended), recordSuspended.Save(tx, session, agent))
}

// SuspendedBy returns the agent that a session handed control to; empty without one.
func SuspendedBy(tx Tx, session string) (agent string, err error) {
	_, err = recordSuspended.Load(tx, session, &agent)
	return agent, err
}

// Resume lets a suspended session continue.
func (p *Project) Resume(ctx context.Context, session string) error {
	return p.Store.Update(ctx, func(tx Tx) error {
		known, err := tx.Session(session)
		if IgnoreMissing(err) != nil {
			return err
		}
		return errors.Join(noteIdle(tx, known, p.Now()), setState(tx, session, core.SessionActive), recordSuspended.Delete(tx, session))
	})
}

// Suspended returns the agents that sessions handed control to, by session.
func (p *Project) Suspended(ctx context.Context) (agents map[string]string, err error) {
	agents = map[string]string{}
	err = p.Store.View(ctx, func(tx Tx) error {
		return recordSuspended.Each(tx, func(session, agent string) error {
			agents[session] = agent
			return nil
		})
	})
	return agents, err
}

// setState sets the state of a session, unless it is unknown or has ended.
func setState(tx Tx, id string, state core.SessionState) error {
	session, err := tx.Session(id)
	if err != nil || session.State == core.SessionEnded {
		return IgnoreMissing(err)
	}
	session.State = state
	return tx.SaveSession(session)
}

// mayChange refuses changes by the agent of a suspended session, including those from a
// shell in that session. Events of its host and of flame itself are still accepted.
func mayChange(s *Step) error {
	if s.Session.State != core.SessionSuspended || s.By.Event != "" || s.By.Trust == ByFlame {
		return nil
	}
	agent := ""
	if _, err := recordSuspended.Load(s.Tx, s.Session.ID, &agent); err != nil {
		return err
	}
	return core.Invalidf("this session handed control to %s, so it changes no frames until that ends", agent).
		WithHint("%s waits for it, %s shows how far it is, %s stops it", op.AgentWait, op.AgentStatus, op.AgentCancel)
}
