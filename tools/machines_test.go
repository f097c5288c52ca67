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
	before := []call{
		{"s", "flame_set_goal", `{"goal": "Add a login"}`},
		{"s", "flame_push", `{"goal": "Store users"}`},
	}
	text := play(t, p, before)
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
	text += play(t, p, []call{
		{"s", "flame_tree", `{}`},
		{"s", "flame_status", `{}`},
		{"s", "flame_frame_details", `{"frameID": "frame-laptop02"}`},
		{"s", "flame_search", `{"query": "argon2id"}`},
		{"s", "flame_context_preview", `{}`},
		{"s", "flame_pop", `{"status": "completed", "frameID": "frame-laptop01"}`},
		{"s", "flame_add_decision", `{"decision": "labels above the fields", "frameID": "frame-laptop01"}`},
		{"s", "flame_plan", `{"goal": "Focus", "parentSessionID": "frame-laptop01"}`},
		{"s", "flame_activate", `{"sessionID": "frame-laptop01"}`},
	})
	p.Claim = func(context.Context, core.Frame) error { return nil }
	text += play(t, p, []call{
		{"s", "flame_activate", `{"sessionID": "frame-laptop01"}`},
		{"s", "flame_pop", `{"status": "completed", "summary": "It posts.", "next": "plan-laptop03", "force": true}`},
		{"s", "flame_tree", `{}`},
		{"s", "flame_pop", `{"status": "completed", "frameID": "plan-laptop03"}`},
		{"s", "flame_pop", `{"status": "blocked", "frameID": "frame-00000001", "force": true}`},
		{"s", "flame_frame_details", `{"frameID": "frame-00000001"}`},
		{"s", "flame_search", `{"query": "laptop"}`},
		{"s", "flame_frame_details", `{"frameID": "frame-lap"}`},
	})
	golden(t, "session/machines.txt", text)
}
