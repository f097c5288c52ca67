package board_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/render/board"
	"flame/store"
	"flame/tests/projecttest"
)

func TestARowNamesTheMachineOfItsFrame(t *testing.T) {
	t.Parallel()
	s := projecttest.Open(t, filepath.Join(t.TempDir(), "data"), store.Options{})
	b := board.New(s, func() core.Millis { return 50 })
	for _, machine := range []string{"laptop-x7k2", ""} { // it is taken over
		f := core.Frame{ID: "frame-aaaaaaaa", Machine: machine, Goal: "work", Status: core.InProgress, CreatedAt: 10, UpdatedAt: 40}
		require.NoError(t, s.Update(t.Context(), func(tx project.Tx) error { return tx.SaveFrame(f) }))
		_, err := b.Read(t.Context())
		require.NoError(t, err)
		assert.Equal(t, machine, b.Since(0).Frames[0].Machine)
	}
}

// What was begun has a time, also if an import does not say when; what never was, none.
func TestARowHasTheStartAndEndOfWork(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		frame       core.Frame
		from, until core.Millis
	}{
		"planned":                        {core.Frame{Status: core.Planned}, 0, 0},
		"in progress":                    {core.Frame{Status: core.InProgress, StartedAt: 20, Session: "s"}, 20, 0},
		"completed":                      {core.Frame{Status: core.Completed, StartedAt: 20, EndedAt: 30, Session: "s"}, 20, 30},
		"ended before it began":          {core.Frame{Status: core.Blocked, StartedAt: 20, EndedAt: 15, Session: "s"}, 20, 20},
		"imported":                       {core.Frame{Status: core.Completed}, 10, 40},
		"imported, and in progress":      {core.Frame{Status: core.InProgress}, 10, 0},
		"invalidated":                    {core.Frame{Status: core.Invalidated, StartedAt: 20, EndedAt: 30}, 20, 30},
		"invalidated while planned":      {core.Frame{Status: core.Invalidated, EndedAt: 30}, 0, 0},
		"activated, in an older project": {core.Frame{Status: core.Failed, Session: "s"}, 10, 40},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := projecttest.Open(t, filepath.Join(t.TempDir(), "data"), store.Options{})
			f := tt.frame
			f.ID, f.Goal, f.CreatedAt, f.UpdatedAt = "frame-aaaaaaaa", "work", 10, 40
			require.NoError(t, s.Update(t.Context(), func(tx project.Tx) error { return tx.SaveFrame(f) }))
			b := board.New(s, func() core.Millis { return 50 })
			_, err := b.Read(t.Context())
			require.NoError(t, err)
			rows := b.Since(0).Frames
			require.Len(t, rows, 1)
			assert.Equal(t, tt.from, rows[0].From, "from")
			assert.Equal(t, tt.until, rows[0].Until, "until")
		})
	}
}
