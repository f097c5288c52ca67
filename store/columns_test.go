package store

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/store/disk"
	"flame/tests/cases"
)

// Two columns that are swapped show here, even where their types are the same.
func TestSavedValuesAreRead(t *testing.T) {
	t.Parallel()
	kept := openWith(t, t.TempDir(), disk.NewestSchema, Options{})
	var n int
	var frame core.Frame
	var session core.Session
	var event core.Event
	var deadline project.Deadline
	for _, v := range []any{&frame, &session, &event, &deadline} {
		cases.Fill(v, &n)
	}
	frame.Status = core.Failed
	err := kept.Update(context.Background(), func(tx project.Tx) (err error) {
		require.NoError(t, tx.SaveFrame(frame))
		require.NoError(t, tx.SaveSession(session))
		require.NoError(t, tx.SetDeadline(deadline))
		event.Seq, err = tx.AppendEvent(event)
		return err
	})
	require.NoError(t, err)
	require.NoError(t, kept.View(context.Background(), func(tx project.Tx) error {
		gotFrame, err := tx.Frame(frame.ID)
		require.NoError(t, err)
		assert.Equal(t, frame, gotFrame)
		usage, _, err := tx.UsageUnder("", 0)
		require.NoError(t, err)
		assert.Equal(t, frame.Usage, usage)
		gotSession, err := tx.Session(session.ID)
		require.NoError(t, err)
		assert.Equal(t, session, gotSession)
		events, err := tx.FindEvents(project.EventQuery{})
		require.NoError(t, err)
		assert.Equal(t, []core.Event{event}, events)
		due, err := tx.DueDeadlines(deadline.Due, "", "", 1)
		require.NoError(t, err)
		assert.Equal(t, []project.Deadline{deadline}, due)
		return nil
	}))
}
