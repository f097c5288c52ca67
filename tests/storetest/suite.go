// Package storetest is the suite that any project.Store passes, and shared helpers for tests of
// Stores and their users.
package storetest

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
)

// Run tests the behaviour of every Store. open returns the Store of an empty project for the test
// that it is given.
func Run(t *testing.T, open func(t *testing.T) project.Store) {
	for name, test := range map[string]func(*testing.T, project.Store){
		"a frame comes back with all its fields":      frameRoundTrip,
		"any text is kept, as valid UTF-8":            anyText,
		"ten megabytes of text are kept and found":    hugeText,
		"frames are refused without id or status":     refusedFrames,
		"paging goes through all frames once":         paging,
		"ancestors come parent first and never loop":  ancestors,
		"surroundings agree with single queries":      surroundings,
		"outcomes agree with single queries":          outcomes,
		"links have the shape of the tree":            links,
		"parents are found among ids":                 withChildren,
		"paging by id goes through all frames once":   byID,
		"a subtree ends where it began to loop":       subtree,
		"a search finds every word and no syntax":     search,
		"every write of a frame raises the revision":  revision,
		"changes after any revision are found":        changed,
		"sessions are kept, found and forgotten":      sessions,
		"events are numbered, found and forgotten":    events,
		"many events are written at once":             manyEvents,
		"deadlines come in order of time":             deadlines,
		"records are kept by kind":                    records,
		"parts of a record are kept together":         parts,
		"some kinds are found by their columns":       columns,
		"a failure leaves nothing":                    rollback,
		"a panic leaves nothing and blocks nothing":   panics,
		"a View writes nothing":                       viewWrites,
		"a View or Update inside another is an error": nesting,
		"a View sees one moment":                      snapshot,
		"many goroutines lose nothing":                goroutines,
		"random operations agree with a model":        randomOperations,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// Update runs f in an Update that must succeed.
func Update(t testing.TB, kept project.Store, f func(project.Tx)) {
	require.NoError(t, kept.Update(context.Background(), func(tx project.Tx) error { f(tx); return nil }))
}

// View runs f in a View that must succeed.
func View(t testing.TB, kept project.Store, f func(project.Tx)) {
	require.NoError(t, kept.View(context.Background(), func(tx project.Tx) error { f(tx); return nil }))
}

// Save saves frames, and sets the fields that every frame needs.
func Save(t testing.TB, kept project.Store, frames ...core.Frame) {
	Update(t, kept, func(tx project.Tx) {
		for _, f := range frames {
			require.NoError(t, tx.SaveFrame(started(f)))
		}
	})
}

func started(f core.Frame) core.Frame {
	if f.Status == "" {
		f.Status = core.InProgress
	}
	return f
}

// Found returns the ids that a query finds, with a space between.
func Found(t testing.TB, kept project.Store, q project.FrameQuery) (ids string) {
	View(t, kept, func(tx project.Tx) {
		frames, err := tx.FindFrames(q)
		require.NoError(t, err)
		ids = idsOf(frames)
	})
	return ids
}

func idsOf(frames []core.Frame) string {
	ids := make([]string, len(frames))
	for i, f := range frames {
		ids[i] = f.ID
	}
	return strings.Join(ids, " ")
}
