package tools_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
)

// TestFramesOfOtherMachinesNameTheirMachine plays a session in a tree that a laptop works
// in too.
func TestFramesOfOtherMachinesNameTheirMachine(t *testing.T) {
	p := newProject(t)
	calls := callsOf(t, "machines")
	text := play(t, p, calls[:2])
	frame := core.Frame{Parent: "frame-00000001", Machine: "laptop-x7k2", CreatedAt: 1_766_600_000_000, UpdatedAt: 1_766_600_000_000}
	foreign := func(id string, status core.Status, goal string) core.Frame {
		f := frame
		f.ID, f.Status, f.Goal = id, status, goal
		if status != core.Planned {
			f.Session, f.StartedAt = "at the laptop", f.CreatedAt
		}
		return f
	}
	done := foreign("frame-laptop02", core.Completed, "Choose a hash")
	done.Summary, done.EndedAt = "argon2id", done.CreatedAt
	require.NoError(t, p.Store.Update(t.Context(), func(tx project.Tx) error {
		for _, f := range []core.Frame{foreign("frame-laptop01", core.InProgress, "Form"), done, foreign("plan-laptop03", core.Planned, "Cookie")} {
			if err := tx.SaveFrame(f); err != nil {
				return err
			}
		}
		return nil
	}))
	text += play(t, p, calls[2:11])
	p.Claim = func(context.Context, core.Frame) error { return nil }
	text += play(t, p, calls[11:])
	golden(t, "session/machines.txt", text)
}
