package store

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/store/disk"
)

// fill gives every field within v a value that no other has.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.String:
		v.SetString(fmt.Sprint("text ", *n))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Float64:
		v.SetFloat(float64(*n) + 0.5)
	case reflect.Bool:
		v.SetBool(*n%2 == 0)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes(fmt.Appendf(nil, `{"n":%d}`, *n))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), n)
	default:
		panic(v.Kind())
	}
}

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
		fill(reflect.ValueOf(v).Elem(), &n)
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
