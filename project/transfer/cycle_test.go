package transfer_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/merge"
	"flame/project"
	"flame/project/transfer"
	"flame/store"
)

// below returns a document of a frame below another, made and written at some time.
func below(id, parent string, made, at core.Millis) merge.Doc {
	d := theirs(id, at)
	d.CreatedAt, d.Work.Parent, d.Work.Goal = made, parent, fmt.Sprint(id, " at ", at)
	return d
}

// take takes in documents that say all there is, in this order.
func (m *machine) take(docs ...merge.Doc) {
	m.T.Helper()
	owed, err := transfer.SharedTree{Project: m.Project, Machine: m.id}.Take(m.Ctx, docs)
	require.NoError(m.T, err)
	require.Empty(m.T, owed)
}

// tree returns the parent of each frame.
func (m *machine) tree() map[string]string {
	m.T.Helper()
	parents := map[string]string{}
	for id, f := range m.ByID() {
		parents[id] = f.Parent
	}
	return parents
}

// sound requires that doctor finds nothing but parents that are missing, and that nothing is
// to be sent: to cut a cycle is no work.
func (m *machine) sound() {
	m.T.Helper()
	for _, f := range store.Check(m.Ctx, m.Data) {
		assert.False(m.T, f.Broken && !strings.Contains(f.What, "with a missing parent"), f.What)
	}
	docs, _, err := transfer.SharedTree{Project: m.Project, Machine: m.id}.Collect(m.Ctx, 0)
	require.NoError(m.T, err)
	assert.Empty(m.T, docs)
}

// uncycled returns what the tree of these documents has to be: the oldest frame of a cycle
// is a root.
func uncycled(docs map[string]merge.Doc) map[string]string {
	parents := map[string]string{}
	for id, d := range docs {
		parents[id] = d.Work.Parent
	}
	for id := range docs {
		cycle, at := []string{id}, docs[id].Work.Parent
		for ; at != id && at != "" && len(cycle) <= len(docs); at = docs[at].Work.Parent {
			cycle = append(cycle, at)
		}
		if at != id {
			continue
		}
		oldest := slices.MinFunc(cycle, func(a, b string) int {
			return 2*int(docs[a].CreatedAt-docs[b].CreatedAt) + strings.Compare(a, b)
		})
		if oldest == id {
			parents[id] = ""
		}
	}
	return parents
}

// TestACycleIsCutWhereItsOldestFrameIs had the frames be each other's parents: doctor said
// that the tree is broken.
func TestACycleIsCutWhereItsOldestFrameIs(t *testing.T) {
	t.Parallel()
	a, b, c := below("f-a", "", 1, 1), below("f-b", "f-a", 2, 2), below("f-c", "f-b", 3, 3)
	closing := below("f-a", "f-c", 1, 4)
	for name, order := range map[string][]merge.Doc{
		"the root is put below its grandchild": {a, b, c, closing},
		"children come first":                  {c, b, closing},
		"the root comes first":                 {closing, c, b},
		"the old root comes late":              {closing, b, c, closing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each, once := machines(t, 2)[0], machines(t, 2)[1]
			for _, d := range order {
				each.take(d)
				each.sound()
			}
			once.take(order...)
			for _, m := range []*machine{each, once} {
				m.sound()
				assert.Equal(t, map[string]string{"f-a": "", "f-b": "f-a", "f-c": "f-b"}, m.tree())
			}
		})
	}
}

func TestACutLinkIsRestoredOnceThereIsNoCycle(t *testing.T) {
	t.Parallel()
	m := machines(t, 1)[0]
	m.take(below("f-a", "f-c", 1, 1), below("f-b", "f-a", 2, 2), below("f-c", "f-b", 3, 3))
	m.take(below("f-a", "f-c", 1, 5)) // other work, the same parent
	assert.Equal(t, map[string]string{"f-a": "", "f-b": "f-a", "f-c": "f-b"}, m.tree())
	assert.Equal(t, "f-a at 5", m.Get("f-a").Goal)
	assert.Equal(t, `FrameUpdated {"fields":["parent"],"machine":"other"}`, m.events("f-a")[1])
	m.take(below("f-b", "", 2, 6))
	assert.Equal(t, map[string]string{"f-a": "f-c", "f-b": "", "f-c": "f-b"}, m.tree())
	assert.Equal(t, `FrameUpdated {"fields":["parent"],"machine":"other"}`, m.events("f-a")[3])
	m.take(below("f-c", "f-a", 3, 7)) // another cycle, of a and c
	assert.Equal(t, map[string]string{"f-a": "", "f-b": "", "f-c": "f-a"}, m.tree())
	m.take(below("f-a", "", 1, 8))
	assert.Equal(t, map[string]string{"f-a": "", "f-b": "", "f-c": "f-a"}, m.tree())
	m.sound()
	require.NoError(t, m.Store.View(m.Ctx, func(tx project.Tx) error {
		left, err := project.RecordKind[string]("frame.cut").IDs(tx, "")
		assert.Empty(t, left)
		return err
	}))
}

// TestALongCycleIsCut is about one that is longer than what is read at once.
func TestALongCycleIsCut(t *testing.T) {
	t.Parallel()
	m := machines(t, 1)[0]
	docs := []merge.Doc{below("f-0", "f-299", 1, 1)}
	for i := range core.Millis(299) {
		docs = append(docs, below(fmt.Sprint("f-", i+1), fmt.Sprint("f-", i), i+2, i+2))
	}
	m.take(docs[1:]...)
	m.take(docs[0])
	m.sound()
	assert.Empty(t, m.Get("f-0").Parent)
	m.take(below("f-150", "", 151, 500))
	m.sound()
	assert.Equal(t, "f-299", m.Get("f-0").Parent)
}

// TestTreesAreTheSameForAnyOrderOfTheirCycles has three machines take in documents that
// make, move and undo cycles, some in their own names, in orders and parts of their own.
func TestTreesAreTheSameForAnyOrderOfTheirCycles(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 5))
			name := func() string { return fmt.Sprint("f-", random.IntN(12)) }
			var docs []merge.Doc
			all := map[string]merge.Doc{}
			for i := range core.Millis(60) {
				id, parent := name(), name()
				if parent == id || random.IntN(6) == 0 {
					parent = ""
				}
				d := below(id, parent, 1+core.Millis(random.IntN(8)), i+1)
				if by := random.IntN(6); by < 3 {
					d.Work.Machine = string(rune('a' + by))
					d.Work.Stamp.Machine = d.Work.Machine
				}
				docs, all[id] = append(docs, d), merge.Merge(all[id], d)
			}
			for _, m := range machines(t, 3) {
				random.Shuffle(len(docs), func(i, j int) { docs[i], docs[j] = docs[j], docs[i] })
				for rest := docs; len(rest) > 0; {
					n := min(len(rest), 1+random.IntN(9))
					_, err := transfer.SharedTree{Project: m.Project, Machine: m.id}.Take(m.Ctx, rest[:n])
					require.NoError(t, err)
					rest = rest[n:]
					if random.IntN(3) == 0 {
						m.sound()
					}
				}
				m.sound()
				assert.Equal(t, uncycled(all), m.tree())
			}
		})
	}
}
