package projecttest

import (
	"context"

	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
)

// Laptop is the id of another machine.
const Laptop = "laptop-x7k2"

// Foreign saves a frame of another machine, as a hub would bring it.
func (f *Fixture) Foreign(parent, goal string, status core.Status) core.Frame {
	frame := core.Frame{
		ID: f.NewID("frame"), Parent: parent, Machine: Laptop, Goal: goal, Status: status, CreatedAt: f.Now(),
	}
	frame.UpdatedAt = frame.CreatedAt
	if status != core.Planned {
		frame.Session, frame.StartedAt = "at the laptop", frame.CreatedAt
	}
	if status.Ended() {
		frame.EndedAt = frame.CreatedAt
	}
	f.save(frame)
	return frame
}

// TakeAway has another machine take over a frame.
func (f *Fixture) TakeAway(id string) {
	frame := f.Get(id)
	frame.Machine, frame.Session, frame.UpdatedAt = Laptop, "at the laptop", f.Now()
	f.save(frame)
	require.NoError(f.T, f.Store.Update(f.Ctx, func(tx project.Tx) error {
		_, err := tx.AppendEvent(core.Event{
			V: core.EventVersion, TS: f.Clock, Event: core.FrameActivated, Frame: id, Data: []byte(`{"from": "in_progress", "machine": "` + Laptop + `"}`),
		})
		return err
	}))
}

// EndElsewhere ends a frame of another machine, as a hub would bring it.
func (f *Fixture) EndElsewhere(id string) {
	frame := f.Get(id)
	require.NoError(f.T, frame.Transition(core.Completed, f.Now()))
	f.save(frame)
	require.NoError(f.T, f.Store.Update(f.Ctx, func(tx project.Tx) error {
		return tx.SetDeadline(project.Deadline{Kind: project.ElsewhereDeadline, Subject: id, Due: f.Clock, Set: f.Clock})
	}))
}

func (f *Fixture) save(frame core.Frame) {
	require.NoError(f.T, f.Store.Update(f.Ctx, func(tx project.Tx) error { return tx.SaveFrame(frame) }))
}

// Grant has the hub grant each claim, and returns the ids of the frames claimed so far.
func (f *Fixture) Grant() func() []string {
	var claimed []string
	f.Claim = func(_ context.Context, frame core.Frame) error {
		claimed = append(claimed, frame.ID)
		return nil
	}
	return func() []string { return claimed }
}
