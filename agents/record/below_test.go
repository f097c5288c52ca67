package record

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/store"
	"flame/tests/projecttest"
)

// counting counts the records of agents that are decoded.
type counting struct {
	project.Tx
	decoded *int
}

func (c counting) Record(kind, id string, v any) (bool, error) {
	*c.decoded++
	return c.Tx.Record(kind, id, v)
}

func (c counting) Records(kind string, which project.RecordQuery, f func(id string, decode func(v any) error) error) error {
	return c.Tx.Records(kind, which, func(id string, decode func(v any) error) error {
		return f(id, func(v any) error {
			*c.decoded++
			return decode(v)
		})
	})
}

// below returns the ids of the agents below one, and how many records were decoded to
// find them.
func below(t *testing.T, s project.Store, id string) (ids []string, decoded int) {
	t.Helper()
	require.NoError(t, s.View(t.Context(), func(tx project.Tx) error {
		runs, err := AgentsBelow(counting{tx, &decoded}, id)
		ids = lo.Map(runs, func(run Agent, _ int) string { return run.ID })
		return err
	}))
	return ids, decoded
}

func newStore(t *testing.T, f func(tx project.Tx) error) project.Store {
	t.Helper()
	s := projecttest.Open(t, filepath.Join(t.TempDir(), ".flame"), store.Options{})
	require.NoError(t, s.Update(t.Context(), f))
	return s
}

func TestTheAgentsBelowAnAgentAreFoundWithoutReadingOthers(t *testing.T) {
	s := newStore(t, func(tx project.Tx) error {
		for i, run := range []Agent{
			{ID: "agent-top"}, {ID: "agent-a", ParentAgent: "agent-top"}, {ID: "agent-b", ParentAgent: "agent-top"},
			{ID: "agent-aa", ParentAgent: "agent-a"}, {ID: "agent-t", ParentAgent: "agent-to"}, {ID: "agent-to"},
		} {
			run.CreatedAt, run.Tree = core.Millis(i), "s"
			if err := Create(tx, run); err != nil {
				return err
			}
		}
		for range 100 {
			if err := Create(tx, Agent{ID: project.NewID("agent"), Tree: "s"}); err != nil {
				return err
			}
		}
		return nil
	})
	ids, decoded := below(t, s, "agent-top")
	assert.Equal(t, []string{"agent-aa", "agent-b", "agent-a"}, ids)
	assert.Equal(t, 4, decoded, "it reads only their records")
	ids, _ = below(t, s, "agent-to")
	assert.Equal(t, []string{"agent-t"}, ids)
	ids, _ = below(t, s, "agent-b")
	assert.Empty(t, ids)
}

func TestTheAgentsBelowAnAgentInALongChainOrACycle(t *testing.T) {
	const chain = 2_000
	s := newStore(t, func(tx project.Tx) error {
		all := []Agent{
			{ID: "agent-top"}, {ID: "agent-a", ParentAgent: "agent-top"}, {ID: "agent-other"}, {ID: "agent-self", ParentAgent: "agent-self"},
			{ID: "agent-x", ParentAgent: "agent-y"}, {ID: "agent-y", ParentAgent: "agent-x"}, {ID: "agent-0"},
		}
		for i := range chain {
			all = append(all, Agent{ID: fmt.Sprint("agent-", i+1), ParentAgent: fmt.Sprint("agent-", i)})
		}
		for i, run := range all {
			run.CreatedAt = core.Millis(i)
			if err := Agents.Save(tx, run.ID, run); err != nil {
				return err
			}
		}
		return Create(tx, Agent{ID: "agent-b", ParentAgent: "agent-top", CreatedAt: 2 * chain})
	})
	for id, want := range map[string][]string{"agent-top": {"agent-b", "agent-a"}, "agent-self": {}, "agent-x": {"agent-y"}, "agent-other": {}} {
		ids, _ := below(t, s, id)
		assert.Equal(t, want, ids, id)
	}
	_, decoded := below(t, s, "agent-0")
	assert.Less(t, decoded, 2*chain+10, "each record is read once")
	ids, _ := below(t, s, "agent-0")
	assert.Len(t, ids, chain)
}
