package merge_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/merge"
)

const day = core.Millis(24 * 3600 * 1000)

// A machine is what merging needs of one: its store, and a wall clock that may be wrong.
type machine struct {
	t      *testing.T
	clock  merge.Clock
	off    core.Millis
	frames map[string]core.Frame
	agreed map[string]merge.Doc
	spent  core.Usage // by this machine, ever
	out    []merge.Doc
}

func newMachine(t *testing.T, id string, off core.Millis) *machine {
	return &machine{t: t, clock: merge.Clock{Machine: id}, off: off, frames: map[string]core.Frame{}, agreed: map[string]merge.Doc{}}
}

// copied returns the machine as a backup has it.
func (m *machine) copied() *machine {
	c := *m
	c.frames, c.agreed, c.out = map[string]core.Frame{}, maps.Clone(m.agreed), nil
	for id, f := range m.frames {
		f.Artifacts, f.Decisions, f.PlannedChildren = slices.Clone(f.Artifacts), slices.Clone(f.Decisions), slices.Clone(f.PlannedChildren)
		c.frames[id] = f
	}
	return &c
}

// collect notes what was done here, to be sent.
func (m *machine) collect(now core.Millis) {
	for _, id := range slices.Sorted(maps.Keys(m.frames)) {
		was, known := m.agreed[id]
		d := merge.Absorb(was, m.frames[id], m.clock.Machine, func() merge.Stamp { return m.clock.Tick(now + m.off) })
		if known && d.Equal(was) {
			continue
		}
		again := merge.Absorb(d, m.frames[id], m.clock.Machine, func() merge.Stamp { m.t.Error("nothing was done since"); return merge.Stamp{} })
		assert.True(m.t, again.Equal(d))
		m.agreed[id] = d
		m.out = append(m.out, d)
	}
}

// take merges a document that travelled, and returns whether its sender lacks something.
func (m *machine) take(came merge.Doc, now core.Millis) (merged merge.Doc, owed bool) {
	text, err := json.Marshal(came)
	require.NoError(m.t, err)
	read, err := merge.Parse(text, now+m.off)
	require.NoError(m.t, err, "%s", text)
	require.True(m.t, read.Equal(came))
	merged = merge.Join(m.agreed[came.ID], m.frames[came.ID], came, &m.clock, now+m.off)
	m.agreed[came.ID] = merged
	m.frames[came.ID] = merged.Frame(m.clock.Machine)
	return merged, !merged.Equal(came)
}

// own returns the ids of some frames.
func (m *machine) some(are func(core.Frame) bool) (ids []string) {
	for id, f := range m.frames {
		if are(f) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// A world is three machines, a hub, and all that was ever done.
type world struct {
	t        *testing.T
	random   *rand.Rand
	now      core.Millis
	machines []*machine
	backups  []*machine
	hub      map[string]merge.Doc
	away     map[int]bool
	made     int

	texts   map[string]map[string]bool // by frame: decisions, artifacts, planned children that were added
	invalid map[string]bool
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		t: t, random: rand.New(rand.NewPCG(seed, 17)), now: 1_766_600_000_000, hub: map[string]merge.Doc{}, away: map[int]bool{},
		texts: map[string]map[string]bool{}, invalid: map[string]bool{},
	}
	for i, off := range []core.Millis{0, day, -day} {
		w.machines = append(w.machines, newMachine(t, string(rune('a'+i)), off))
	}
	w.backups = make([]*machine, len(w.machines))
	return w
}

// exchange sends what a machine has for the others to the hub, and takes in what is there.
func (w *world) exchange(m *machine) {
	m.collect(w.now)
	for _, d := range m.out {
		w.put(d)
	}
	m.out = nil
	ids := slices.Sorted(maps.Keys(w.hub))
	w.random.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for _, id := range ids {
		if merged, owed := m.take(w.hub[id], w.now); owed {
			w.put(merged)
		}
	}
}

func (w *world) put(d merge.Doc) { w.hub[d.ID] = merge.Merge(w.hub[d.ID], d) }

// refill is what a machine does when it connects: the hub may have lost everything.
func (w *world) refill(m *machine) {
	w.exchange(m)
	for id, d := range m.agreed {
		if !w.hub[id].Equal(d) {
			w.put(d)
		}
	}
}

func (w *world) added(id, text string) {
	if w.texts[id] == nil {
		w.texts[id] = map[string]bool{}
	}
	w.texts[id][text] = true
}

func (w *world) pick(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return ids[w.random.IntN(len(ids))]
}

// do has a machine do one thing, as the rules allow it.
func (w *world) do(m *machine) {
	w.now += core.Millis(w.random.IntN(5000))
	now := w.now + m.off
	w.made++
	text := fmt.Sprintf("%s-%d", m.clock.Machine, w.made)
	valid := func(f core.Frame) bool { return f.Status != core.Invalidated }
	own := func(f core.Frame) bool { return f.Machine == "" && valid(f) }
	id := w.pick(m.some(valid))
	kind := w.random.IntN(9)
	if kind > 1 && kind < 5 {
		id = w.pick(m.some(own))
	}
	if id == "" || kind == 0 {
		m.frames[text] = core.Frame{ID: text, Parent: id, Status: core.InProgress, Session: "s", Goal: text, CreatedAt: now, StartedAt: now, UpdatedAt: now}
		return
	}
	f := m.frames[id]
	f.UpdatedAt = now
	switch kind {
	case 1: // plan below
		m.frames[text] = core.Frame{ID: text, Parent: id, Status: core.Planned, Goal: text, CreatedAt: now, UpdatedAt: now}
		f.PlannedChildren = append(slices.Clone(f.PlannedChildren), text)
		w.added(id, text)
	case 2: // work
		f.Status, f.Goal, f.Summary, f.EndedAt, f.Confidence = core.Completed, text, text, now, new(0.5)
		f.Artifacts = append(slices.Clone(f.Artifacts), text)
		w.added(id, text)
	case 3, 4:
		used := core.Usage{TokensIn: w.random.Int64N(1000), CostUSD: w.random.Float64()}
		m.spent = m.spent.Add(used)
		f.Usage = f.Usage.Add(used)
	case 5:
		f.Decisions = append(slices.Clone(f.Decisions), text)
		w.added(id, text)
	case 6:
		if f.ArchivedAt = now - f.ArchivedAt; f.ArchivedAt <= 0 {
			f.ArchivedAt = 0
		}
	case 7: // taken over
		if f.Machine != "" {
			f.Machine, f.Session, f.Status, f.StartedAt, f.EndedAt = "", "s", core.InProgress, now, 0
		}
	case 8:
		if w.random.IntN(4) == 0 {
			require.NoError(w.t, f.Invalidate(text, now))
			w.invalid[id] = true
		}
	}
	m.frames[id] = f
}

// settle lets all machines meet until nothing is new, and requires that to end.
func (w *world) settle() {
	for range 8 {
		for _, m := range w.machines {
			w.refill(m)
		}
	}
	before := maps.Clone(w.hub)
	for _, m := range w.machines {
		w.refill(m)
	}
	for id, d := range w.hub {
		require.True(w.t, d.Equal(before[id]), "there is no end to what is new of %s", id)
	}
}

// check requires that all machines have the same, and that it is all that was ever done.
func (w *world) check(backups bool) {
	var total, used core.Usage
	for _, m := range w.machines {
		total = total.Add(m.spent)
	}
	for id, d := range w.hub {
		want := d.Frame("")
		used = used.Add(want.Usage)
		for _, m := range w.machines {
			got := m.frames[id]
			assert.True(w.t, m.agreed[id].Equal(d), id)
			assert.Equal(w.t, d.Work.Machine == m.clock.Machine, got.Machine == "")
			got.Machine, got.Session = want.Machine, want.Session
			assert.Equal(w.t, want, got)
		}
		if backups {
			continue
		}
		has := map[string]bool{}
		for _, text := range slices.Concat(want.Artifacts, want.Decisions, want.PlannedChildren) {
			assert.False(w.t, has[text], "%s is there twice", text)
			has[text] = true
		}
		for text := range w.texts[id] {
			assert.True(w.t, has[text], "%s of %s is lost", text, id)
		}
		assert.Equal(w.t, w.invalid[id], want.Status == core.Invalidated)
	}
	for _, m := range w.machines {
		assert.Len(w.t, m.frames, len(w.hub))
	}
	if !backups {
		assert.Equal(w.t, total.TokensIn, used.TokensIn)
		assert.InDelta(w.t, total.CostUSD, used.CostUSD, 1e-6)
	}
}

// TestMachinesConverge plays three machines, with clocks a day apart, that lose and find
// one another and their hub.
func TestMachinesConverge(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWorld(t, seed)
			for range 150 {
				i := w.random.IntN(len(w.machines))
				switch n := w.random.IntN(20); {
				case n < 12:
					w.do(w.machines[i])
				case n == 12:
					w.away[i] = !w.away[i]
				case n == 13 && w.random.IntN(3) == 0:
					clear(w.hub)
				case !w.away[i]:
					w.refill(w.machines[i])
				}
			}
			w.settle()
			w.check(false)
		})
	}
}

// TestMachinesConvergeAfterBackups has machines put back to older copies of themselves:
// what only they had since is lost, what they had told is not.
func TestMachinesConvergeAfterBackups(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWorld(t, seed)
			for range 150 {
				i := w.random.IntN(len(w.machines))
				switch n := w.random.IntN(20); {
				case n < 11:
					w.do(w.machines[i])
				case n == 11:
					w.backups[i] = w.machines[i].copied()
				case n == 12 && w.backups[i] != nil:
					w.machines[i] = w.backups[i].copied()
				case n == 13 && w.random.IntN(3) == 0:
					clear(w.hub)
				default:
					w.refill(w.machines[i])
				}
			}
			told := maps.Clone(w.hub)
			w.settle()
			w.check(true)
			for id, d := range told {
				now := w.hub[id]
				for _, e := range slices.Concat(d.Artifacts, d.Decisions, d.Planned) {
					all := slices.Concat(now.Artifacts, now.Decisions, now.Planned)
					assert.True(t, slices.ContainsFunc(all, func(x merge.Entry) bool { return x.Text == e.Text }), e.Text)
				}
				assert.Equal(t, d.Invalid != nil, now.Invalid != nil && d.Invalid != nil)
			}
		})
	}
}

// What was used before a backup was put back was told, and what was used since comes on
// top; a machine that joins anew with frames of its own counts nothing twice.
func TestUsageAfterABackup(t *testing.T) {
	t.Parallel()
	used := func(n int64) core.Usage { return core.Usage{TokensIn: n} }
	w := newWorld(t, 1)
	a, b := w.machines[0], w.machines[1]
	use := func(m *machine, n int64) {
		f := m.frames["f"]
		f.Usage = f.Usage.Add(used(n))
		m.frames["f"] = f
		w.now++
	}
	a.frames["f"] = core.Frame{ID: "f", Status: core.InProgress, Usage: used(50)}
	w.exchange(a)
	w.exchange(b)
	use(b, 7)
	w.exchange(b)
	backup := a.copied()
	use(a, 50)
	w.exchange(a)
	require.Equal(t, used(107), a.frames["f"].Usage)

	w.machines[0] = backup
	a = backup
	use(a, 5)
	for _, d := range w.hub {
		merged, owed := a.take(d, w.now)
		require.True(t, owed)
		w.put(merged)
	}
	assert.Equal(t, used(112), a.frames["f"].Usage)
	w.exchange(b)
	assert.Equal(t, used(112), b.frames["f"].Usage)

	clear(a.agreed)
	use(a, 1)
	merged, _ := a.take(w.hub["f"], w.now)
	assert.Equal(t, used(113), merged.Frame("a").Usage)
	assert.Equal(t, used(106), merged.Usage["a"].Usage)
}
