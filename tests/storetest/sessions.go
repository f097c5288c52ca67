package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
)

func sessions(t *testing.T, kept project.Store) {
	full := core.Session{
		ID: "s-full", Parent: "s-old", Host: "host", Title: "title", State: core.SessionIdle,
		Root: "frame-r", Current: "frame-c", Stamped: true, Tracked: true, IsSubagent: true, IsCompleted: true,
		Skipped: true, MessageCount: 3, CreatedAt: 1, LastActivityAt: 2,
	}
	Update(t, kept, func(tx project.Tx) {
		require.NoError(t, tx.SaveSession(core.Session{ID: "s-old", State: core.SessionEnded, LastActivityAt: 1}))
		require.NoError(t, tx.SaveSession(core.Session{ID: "s-full", State: core.SessionActive}))
		require.NoError(t, tx.SaveSession(full))
		require.NoError(t, tx.SaveSession(core.Session{ID: "s-new", State: core.SessionActive, Tracked: true, LastActivityAt: 3}))
		assert.ErrorIs(t, tx.SaveSession(core.Session{}), core.ErrInvalid)
	})
	list := func(q project.SessionQuery) (ids []string) {
		View(t, kept, func(tx project.Tx) {
			found, err := tx.FindSessions(q)
			require.NoError(t, err)
			for _, s := range found {
				ids = append(ids, s.ID)
			}
		})
		return ids
	}
	View(t, kept, func(tx project.Tx) {
		got, err := tx.Session("s-full")
		require.NoError(t, err)
		assert.Equal(t, full, got)
	})
	assert.Equal(t, []string{"s-new", "s-full", "s-old"}, list(project.SessionQuery{}))
	assert.Equal(t, []string{"s-new", "s-full"}, list(project.SessionQuery{Tracked: true}))
	assert.Equal(t, []string{"s-new", "s-full"}, list(project.SessionQuery{Children: true}))
	assert.Equal(t, []string{"s-full"}, list(project.SessionQuery{Current: "frame-c"}))
	assert.Equal(t, []string{"s-full"}, list(project.SessionQuery{Parent: "s-old"}))
	assert.Empty(t, list(project.SessionQuery{Parent: "none"}))
	assert.Equal(t, []string{"s-full"}, list(project.SessionQuery{Tracked: true, CompletedBefore: 3}))
	assert.Empty(t, list(project.SessionQuery{CompletedBefore: 2}))
	assert.Equal(t, []string{"s-new"}, list(project.SessionQuery{Live: true}))
	assert.Equal(t, []string{"s-new"}, list(project.SessionQuery{Limit: 1}))
	full.Tracked = false
	Update(t, kept, func(tx project.Tx) { require.NoError(t, tx.SaveSession(full)) })
	assert.Equal(t, []string{"s-new", "s-full"}, list(project.SessionQuery{Children: true}), "it has a frame")
	assert.Equal(t, []string{"s-new"}, list(project.SessionQuery{Tracked: true}))
	Update(t, kept, func(tx project.Tx) {
		require.NoError(t, tx.DeleteSession("s-full"))
		require.NoError(t, tx.DeleteSession("none"))
	})
	assert.Equal(t, []string{"s-new", "s-old"}, list(project.SessionQuery{}))
}

func manyEvents(t *testing.T, kept project.Store) {
	for _, n := range []int{0, 1, 7, 8, 31, 50, 100} {
		var list []core.Event
		for i := range n + 1 {
			list = append(list, core.Event{Event: "E", TS: core.Millis(i), Frame: fmt.Sprint("f-", i%3), Data: json.RawMessage(fmt.Sprint(i))})
		}
		var last int64
		Update(t, kept, func(tx project.Tx) {
			seq, err := tx.AppendEvent(list[0], list[1:]...)
			require.NoError(t, err)
			last = seq
		})
		View(t, kept, func(tx project.Tx) {
			found, err := tx.FindEvents(project.EventQuery{Limit: n + 1, Last: true})
			require.NoError(t, err)
			for i := range list {
				list[i].Seq = last - int64(n-i)
			}
			assert.Equal(t, list, found)
		})
	}
	err := kept.Update(context.Background(), func(tx project.Tx) error {
		_, err := tx.AppendEvent(core.Event{Event: "E"}, core.Event{Event: "D", Data: json.RawMessage(`{"half`)})
		return err
	})
	assert.ErrorIs(t, err, core.ErrInvalid)
}

func events(t *testing.T, kept project.Store) {
	full := core.Event{
		V: core.EventVersion, TS: 10, Event: core.FrameCreated, Session: "s", ParentSession: "p", Frame: "f",
		SubagentID: "a", Depth: 2, Host: "h", Data: json.RawMessage(`{"goal": "x"}`),
	}
	Update(t, kept, func(tx project.Tx) {
		for i, e := range []core.Event{full, {Event: "B", TS: 20, Frame: "f"}, {Event: "C", TS: 30, Session: "s"}, {Event: "B", TS: 5, Session: "s", Frame: "f"}} {
			seq, err := tx.AppendEvent(e)
			require.NoError(t, err)
			assert.EqualValues(t, i+1, seq)
		}
		_, err := tx.AppendEvent(core.Event{Event: "D", Data: json.RawMessage(`{"half`)})
		assert.ErrorIs(t, err, core.ErrInvalid)
	})
	list := func(q project.EventQuery) (seqs []int64) {
		View(t, kept, func(tx project.Tx) {
			found, err := tx.FindEvents(q)
			require.NoError(t, err)
			for _, e := range found {
				seqs = append(seqs, e.Seq)
			}
		})
		return seqs
	}
	View(t, kept, func(tx project.Tx) {
		found, err := tx.FindEvents(project.EventQuery{Limit: 1})
		require.NoError(t, err)
		full.Seq = 1
		assert.Equal(t, []core.Event{full}, found)
	})
	for _, tt := range []struct {
		q    project.EventQuery
		want []int64
	}{
		{project.EventQuery{}, []int64{1, 2, 3, 4}},
		{project.EventQuery{AfterSeq: 2}, []int64{3, 4}},
		{project.EventQuery{Limit: 2}, []int64{1, 2}},
		{project.EventQuery{Limit: 2, Last: true}, []int64{3, 4}},
		{project.EventQuery{Last: true}, []int64{1, 2, 3, 4}},
		{project.EventQuery{Frame: "f"}, []int64{1, 2, 4}},
		{project.EventQuery{Frame: "f", Session: "s"}, []int64{1, 4}},
		{project.EventQuery{SubagentID: "a"}, []int64{1}},
		{project.EventQuery{Kinds: []string{"B", "C", "B"}}, []int64{2, 3, 4}},
		{project.EventQuery{Kinds: []string{"B", "C"}, Limit: 2, Last: true}, []int64{3, 4}},
		{project.EventQuery{Kinds: []string{"B"}, Session: "s"}, []int64{4}},
		{project.EventQuery{Session: "none"}, nil},
		{project.EventQuery{Below: full.ParentSession}, []int64{1}},
		{project.EventQuery{Session: "none", Below: full.ParentSession, Kinds: []string{full.Event}}, []int64{1}},
		{project.EventQuery{Session: "s", Below: "s", Limit: 2, Last: true}, []int64{3, 4}},
		{project.EventQuery{Since: 20}, []int64{2, 3}},
		{project.EventQuery{Since: 10, Kinds: []string{"B", "C"}, Limit: 1, Last: true}, []int64{3}},
		{project.EventQuery{Since: 10, Session: "s"}, []int64{1, 3}},
	} {
		assert.Equal(t, tt.want, list(tt.q), "%+v", tt.q)
	}
	Update(t, kept, func(tx project.Tx) {
		for _, want := range []int{2, 1, 0} {
			n, err := tx.DeleteEventsBefore(25, 2)
			require.NoError(t, err)
			assert.Equal(t, want, n)
		}
		_, err := tx.DeleteEventsBefore(1000, 100)
		require.NoError(t, err)
		seq, err := tx.AppendEvent(core.Event{Event: "E"})
		require.NoError(t, err)
		assert.EqualValues(t, 5, seq, "no number is used twice")
	})
}

func deadlines(t *testing.T, kept project.Store) {
	Update(t, kept, func(tx project.Tx) {
		require.NoError(t, tx.SetDeadline(project.Deadline{Kind: "idle", Subject: "a", Due: 30, Set: 1}))
		require.NoError(t, tx.SetDeadline(project.Deadline{Kind: "idle", Subject: "b", Due: 20, Set: 2}))
		require.NoError(t, tx.SetDeadline(project.Deadline{Kind: "expiry", Subject: "a", Due: 40, Set: 3}))
		require.NoError(t, tx.SetDeadline(project.Deadline{Kind: "idle", Subject: "a", Due: 10, Set: 4}))
		require.NoError(t, tx.ClearDeadline("idle", "none"))
	})
	View(t, kept, func(tx project.Tx) {
		due, err := tx.DueDeadlines(20, "", "", 0)
		require.NoError(t, err)
		assert.Equal(t, []project.Deadline{{Kind: "idle", Subject: "a", Due: 10, Set: 4}, {Kind: "idle", Subject: "b", Due: 20, Set: 2}}, due)
		due, err = tx.DueDeadlines(100, "", "", 1)
		require.NoError(t, err)
		assert.Len(t, due, 1)
		for _, narrowed := range [][2]string{{"expiry", ""}, {"", "idle"}} {
			due, err = tx.DueDeadlines(100, narrowed[0], narrowed[1], 0)
			require.NoError(t, err)
			assert.Equal(t, []project.Deadline{{Kind: "expiry", Subject: "a", Due: 40, Set: 3}}, due)
		}
		next, ok, err := tx.Deadline("idle", "a")
		require.NoError(t, err)
		assert.True(t, ok)
		assert.Equal(t, project.Deadline{Kind: "idle", Subject: "a", Due: 10, Set: 4}, next)
	})
	Update(t, kept, func(tx project.Tx) {
		require.NoError(t, tx.ClearDeadline("idle", "a"))
		_, ok, err := tx.Deadline("idle", "a")
		require.NoError(t, err)
		assert.False(t, ok)
	})
}

func records(t *testing.T, kept project.Store) {
	type setting struct {
		Name   string
		Parent string `json:"parent,omitempty"`
	}
	Update(t, kept, func(tx project.Tx) {
		require.NoError(t, tx.SaveRecord("setting", "b", setting{"old", "o'p"}))
		require.NoError(t, tx.SaveRecord("setting", "b", setting{"B <&>", "p"}))
		require.NoError(t, tx.SaveRecord("setting", "a", setting{"A", "p"}))
		require.NoError(t, tx.SaveRecord("other", "a", 7))
		assert.Error(t, tx.SaveRecord("setting", "c", func() {}))
		require.NoError(t, tx.DeleteRecord("setting", "none"))
	})
	View(t, kept, func(tx project.Tx) {
		var one setting
		there, err := tx.Record("setting", "b", &one)
		require.NoError(t, err)
		assert.True(t, there)
		assert.Equal(t, setting{"B <&>", "p"}, one)
		_, err = tx.Record("other", "a", &one)
		assert.Error(t, err)
		var seen []string
		require.NoError(t, tx.Records("setting", project.RecordQuery{}, func(id string, decode func(any) error) error {
			var each setting
			require.NoError(t, decode(&each))
			_, err := tx.Record("other", "a", new(int)) // the transaction is still usable
			seen = append(seen, id+each.Name)
			return err
		}))
		assert.Equal(t, []string{"aA", "bB <&>"}, seen)
		for _, of := range []struct {
			which project.RecordQuery
			want  []string
		}{
			{project.RecordQuery{}, []string{"a", "b"}}, {project.RecordQuery{Prefix: "b"}, []string{"b"}}, {project.RecordQuery{Prefix: "c"}, nil},
			{project.RecordQuery{IDs: []string{"b", "none", "a", "b", "it's\x00\"odd"}}, []string{"a", "b"}}, {project.RecordQuery{IDs: []string{}}, nil},
			{project.RecordQuery{Prefix: "b", IDs: []string{"a"}}, []string{"a"}},
		} {
			var ids []string
			require.NoError(t, tx.Records("setting", of.which, func(id string, _ func(any) error) error {
				ids = append(ids, id)
				return nil
			}))
			assert.Equal(t, of.want, ids, of.which)
		}
		stop := errors.New("stop")
		assert.ErrorIs(t, tx.Records("setting", project.RecordQuery{}, func(string, func(any) error) error { return stop }), stop)
	})
	Update(t, kept, func(tx project.Tx) {
		require.NoError(t, tx.DeleteRecord("setting", "a"))
		there, err := tx.Record("setting", "a", nil)
		require.NoError(t, err)
		assert.False(t, there)
	})
}

func parts(t *testing.T, kept project.Store) {
	ids := func(tx project.Tx, kind string, which project.RecordQuery) (ids []string) {
		require.NoError(t, tx.Records(kind, which, func(id string, decode func(any) error) error {
			var value string
			ids = append(ids, id)
			return decode(&value)
		}))
		return ids
	}
	value := func(tx project.Tx, kind, id string) (value string) {
		there, err := tx.Record(kind, id, &value)
		require.NoError(t, err)
		assert.Equal(t, there, value != "")
		return value
	}
	Update(t, kept, func(tx project.Tx) {
		assert.Empty(t, value(tx, "thing.a", "1"))
		require.NoError(t, tx.SaveRecord("thing.a", "1", "a <&>"))
		require.NoError(t, tx.SaveRecord("thing.b", "1", "b"))
		require.NoError(t, tx.SaveRecord("thing.a", "2", "only"))
		assert.Error(t, tx.SaveRecord("thing.c", "1", func() {}))
		require.NoError(t, tx.DeleteRecord("thing.c", "1"))
		assert.Equal(t, []string{"1", "2"}, ids(tx, "thing.a", project.RecordQuery{}), "also in the same transaction")
		require.NoError(t, tx.SaveRecord("thing.b", "1", "b2"))
		assert.Equal(t, "b2", value(tx, "thing.b", "1"))
	})
	assert.Error(t, kept.View(context.Background(), func(tx project.Tx) error { return tx.SaveRecord("thing.a", "1", "new") }))
	require.NoError(t, kept.Run(context.Background(), func(tx project.Tx) error {
		return errors.Join(tx.SaveRecord("thing.a", "3", "three"), tx.DeleteRecord("thing.a", "2"))
	}))
	View(t, kept, func(tx project.Tx) {
		assert.Equal(t, []string{"1", "3"}, ids(tx, "thing.a", project.RecordQuery{}))
		assert.Equal(t, []string{"1"}, ids(tx, "thing.b", project.RecordQuery{IDs: []string{"3", "1"}}))
		var whole map[string]string
		_, err := tx.Record("thing", "1", &whole)
		require.NoError(t, err)
		assert.Equal(t, map[string]string{"a": "a <&>", "b": "b2"}, whole)
		there, err := tx.Record("thing", "2", &whole)
		require.NoError(t, err)
		assert.False(t, there, "it went with its last part")
	})
	Update(t, kept, func(tx project.Tx) {
		require.NoError(t, tx.SaveRecord("thing.a", "3", "3"))
		var whole map[string]string
		_, err := tx.Record("thing", "3", &whole)
		require.NoError(t, err)
		assert.Equal(t, map[string]string{"a": "3"}, whole)
		require.NoError(t, tx.SaveRecord("thing", "null", nil))
		require.NoError(t, tx.SaveRecord("thing.a", "null", "a"))
		require.NoError(t, tx.SaveRecord("thing", "odd", []int{1}))
		assert.Error(t, tx.SaveRecord("thing.a", "odd", "a"))
		require.NoError(t, tx.DeleteRecord("thing", "odd"))
		require.NoError(t, tx.SaveRecord("thing.a", "1", "late"))
		require.NoError(t, tx.DeleteRecord("thing", "1"))
		assert.Empty(t, value(tx, "thing.b", "1"))
		require.NoError(t, tx.SaveRecord("thing.b", "1", "again"))
	})
	View(t, kept, func(tx project.Tx) {
		assert.Empty(t, value(tx, "thing.a", "1"))
		assert.Equal(t, "again", value(tx, "thing.b", "1"))
		assert.Equal(t, "a", value(tx, "thing.a", "null"))
	})
}

func columns(t *testing.T, kept project.Store) {
	type spawn struct {
		Parent string `json:"parent,omitempty"`
	}
	const kind project.RecordKind[spawn] = "spawn"
	Update(t, kept, func(tx project.Tx) {
		for id, parent := range map[string]string{"a": "p", "b": "q", "c": "p", "d": ""} {
			require.NoError(t, kind.Save(tx, id, spawn{parent}))
		}
		require.NoError(t, kind.Save(tx, "b", spawn{"o'p"}))
		require.NoError(t, kind.Delete(tx, "c"))
	})
	View(t, kept, func(tx project.Tx) {
		for parent, want := range map[string][]string{"p": {"a"}, "o'p": {"b"}, "q": nil, "": nil} {
			ids, found, err := kind.Where(tx, "parent", parent, parent)
			require.NoError(t, err)
			assert.Equal(t, want, ids, parent)
			assert.Len(t, found, len(ids))
		}
		ids, err := kind.IDs(tx, "")
		require.NoError(t, err)
		assert.Equal(t, []string{"a", "b", "d"}, ids)
	})
}
