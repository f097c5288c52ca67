package merge_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/merge"
)

const day = core.Millis(24 * 3600 * 1000)

func at(t core.Millis, machine string) merge.Timestamp {
	return merge.Timestamp{At: t, Machine: machine}
}

// randomDoc returns a document of one frame whose stamps and contents often are those of
// another.
func randomDoc(r *rand.Rand) merge.Doc {
	word := func() string { return string(rune('p' + r.IntN(3))) }
	stamp := func() merge.Timestamp {
		if r.IntN(4) == 0 {
			return merge.Timestamp{}
		}
		return merge.Timestamp{At: core.Millis(r.IntN(3)), Count: r.Int64N(2), Machine: string(rune('a' + r.IntN(2)))}
	}
	set := func() (all []merge.Entry) {
		for range r.IntN(3) {
			all = append(all, merge.Entry{Text: word(), Stamp: stamp()})
		}
		return all
	}
	d := merge.Doc{
		V: 1, ID: "f", CreatedAt: core.Millis(r.IntN(4) - 1), UpdatedAt: core.Millis(r.IntN(3)),
		Work:      merge.OwnerFields{Machine: string(rune('a' + r.IntN(2))), Term: r.Int64N(2), Stamp: stamp(), Status: core.Completed, Goal: word()},
		Artifacts: set(), Decisions: set(), Planned: set(),
		Archived: merge.ArchivedState{At: core.Millis(r.IntN(2)), Stamp: stamp()},
	}
	if !d.Work.Stamp.IsZero() {
		d.Work.Stamp.Machine = d.Work.Machine
	}
	if r.IntN(2) == 0 {
		d.Work.Confidence = new(r.Float64())
	}
	if r.IntN(2) == 0 {
		d.Invalid = &merge.Invalidation{Reason: word(), At: core.Millis(r.IntN(2)), Stamp: stamp()}
	}
	if r.IntN(3) == 0 {
		d.Deleted = stamp()
	}
	for range r.IntN(3) {
		if d.Usage == nil {
			d.Usage = map[string]merge.MachineUsage{}
		}
		d.Usage[string(rune('a'+r.IntN(2)))] = merge.MachineUsage{Usage: core.Usage{TokensIn: r.Int64N(3)}, Stamp: stamp()}
	}
	return travelled(d)
}

// travelled returns a document as another machine reads it.
func travelled(d merge.Doc) merge.Doc {
	text, err := json.Marshal(d)
	if err != nil {
		panic(err)
	}
	read, err := merge.Parse(text, 1000)
	if err != nil {
		panic(err)
	}
	return read
}

func TestMergeKnowsNoOrder(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		a, b, c := randomDoc(r), randomDoc(r), randomDoc(r)
		require.True(t, merge.Merge(a, b).Equal(merge.Merge(b, a)), "%+v\n%+v", a, b)
		require.True(t, merge.Merge(merge.Merge(a, b), c).Equal(merge.Merge(a, merge.Merge(b, c))), "%+v\n%+v\n%+v", a, b, c)
		require.True(t, merge.Merge(a, a).Equal(a), "%+v", a)
		ab := merge.Merge(a, b)
		require.True(t, merge.Merge(ab, a).Equal(ab), "%+v\n%+v", a, b)
		require.True(t, merge.Merge(merge.Doc{}, a).Equal(a))
		require.True(t, merge.Merge(a, merge.Doc{}).Equal(a))
		require.True(t, travelled(ab).Equal(ab))
	}
}

func TestWhoWins(t *testing.T) {
	t.Parallel()
	work := func(machine string, term int64, stamp merge.Timestamp, goal string) merge.Doc {
		return merge.Doc{V: 1, ID: "f", Work: merge.OwnerFields{Machine: machine, Term: term, Stamp: stamp, Status: core.InProgress, Goal: goal}}
	}
	with := func(change func(*merge.Doc)) merge.Doc {
		d := work("a", 0, at(1, "a"), "")
		change(&d)
		return d
	}
	tests := map[string]struct {
		a, b merge.Doc
		got  func(core.Frame) any
		want any
	}{
		"the later work": {
			work("a", 0, at(1, "a"), "old"), work("a", 0, at(2, "a"), "new"), func(f core.Frame) any { return f.Goal }, "new"},
		"of one time the greater name": {
			work("a", 0, at(1, "a"), "a's"), work("b", 0, at(1, "b"), "b's"), func(f core.Frame) any { return f.Goal }, "b's"},
		"who took it over, though the other worked on": {
			work("a", 0, at(9, "a"), "a's"), work("b", 1, at(2, "b"), "b's"), func(f core.Frame) any { return f.Machine + f.Goal }, "bb's"},
		"the later of two that took it over": {
			work("c", 1, at(3, "c"), "c's"), work("b", 1, at(2, "b"), "b's"), func(f core.Frame) any { return f.Machine }, "c"},
		"of one stamp always the same": {
			work("a", 0, at(1, "a"), "x"), work("a", 0, at(1, "a"), "y"), func(f core.Frame) any { return f.Goal }, "y"},
		"an invalidation, whenever it was": {
			with(func(d *merge.Doc) { d.Invalid = &merge.Invalidation{Reason: "no", At: 5, Stamp: at(1, "b")} }), work("a", 4, at(9, "a"), ""),
			func(f core.Frame) any { return fmt.Sprint(f.Status, f.InvalidationReason, f.InvalidatedAt, f.EndedAt) }, "invalidatedno5 5"},
		"the later invalidation": {
			with(func(d *merge.Doc) { d.Invalid = &merge.Invalidation{Reason: "x", At: 5, Stamp: at(1, "b")} }),
			with(func(d *merge.Doc) { d.Invalid = &merge.Invalidation{Reason: "y", At: 4, Stamp: at(2, "a")} }),
			func(f core.Frame) any { return f.InvalidationReason }, "y"},
		"what was taken out of the archive last": {
			with(func(d *merge.Doc) { d.Archived = merge.ArchivedState{At: 7, Stamp: at(1, "b")} }),
			with(func(d *merge.Doc) { d.Archived = merge.ArchivedState{Stamp: at(2, "a")} }),
			func(f core.Frame) any { return f.ArchivedAt }, core.Millis(0)},
		"every decision, by its first stamp": {
			with(func(d *merge.Doc) {
				d.Decisions = []merge.Entry{{Text: "two", Stamp: at(2, "a")}, {Text: "both", Stamp: at(9, "a")}}
			}),
			with(func(d *merge.Doc) {
				d.Decisions = []merge.Entry{{Text: "both", Stamp: at(1, "b")}, {Text: "three", Stamp: at(3, "b")}}
			}),
			func(f core.Frame) any { return strings.Join(f.Decisions, " ") }, "both two three"},
		"the sum of what was used, the later of each machine": {
			with(func(d *merge.Doc) {
				d.Usage = map[string]merge.MachineUsage{"a": {core.Usage{TokensIn: 5}, at(2, "a")}, "b": {core.Usage{TokensIn: 1}, at(1, "b")}}
			}),
			with(func(d *merge.Doc) {
				d.Usage = map[string]merge.MachineUsage{"a": {core.Usage{TokensIn: 9}, at(1, "a")}, "b": {core.Usage{TokensIn: 2}, at(2, "b")}}
			}),
			func(f core.Frame) any { return f.Usage.TokensIn }, int64(7)},
		"the earlier creation": {
			with(func(d *merge.Doc) { d.CreatedAt = 5 }), with(func(d *merge.Doc) { d.CreatedAt = 3 }),
			func(f core.Frame) any { return f.CreatedAt }, core.Millis(3)},
		"a creation that is known": {
			with(func(d *merge.Doc) { d.CreatedAt = 5 }), with(func(*merge.Doc) {}), func(f core.Frame) any { return f.CreatedAt }, core.Millis(5)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, tt.got(merge.Merge(tt.a, tt.b).Frame("none")))
			assert.Equal(t, tt.want, tt.got(merge.Merge(tt.b, tt.a).Frame("none")))
		})
	}
}

// A clock that is a day ahead is the later one only until it is heard of.
func TestAClockAheadDoesNotWinForADay(t *testing.T) {
	t.Parallel()
	const now = core.Millis(1_766_600_000_000)
	ahead, right := merge.Clock{Machine: "z"}, merge.Clock{Machine: "a"}
	first := ahead.Tick(now + day)
	assert.Negative(t, right.Tick(now).Compare(first), "nobody could know")
	right.Observe(first, now)
	last := first
	for i := range core.Millis(5) {
		next := right.Tick(now + i)
		assert.Positive(t, next.Compare(last))
		last = next
	}
	assert.Equal(t, now+day, last.At, "stamps are no further ahead than they must be")
	assert.Equal(t, now+2*day, right.Tick(now+2*day).At)
	assert.Zero(t, right.Count)
}

// same is a clock that must not be asked.
func same(t *testing.T) func() merge.Timestamp {
	return func() merge.Timestamp {
		t.Helper()
		t.Error("nothing was done")
		return merge.Timestamp{}
	}
}

func TestWhatCameIsNotSentBack(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		d := randomDoc(r)
		for _, machine := range []string{"a", "b", "c"} {
			require.True(t, merge.UpdateLocal(d, d.Frame(machine), machine, same(t)).Equal(d), "%s: %+v", machine, d)
		}
	}
}

func TestAbsorb(t *testing.T) {
	t.Parallel()
	full := core.Frame{
		ID: "f", Parent: "p", Session: "s", Status: core.Completed, Goal: "goal", GoalIsDefault: true, SuccessCriteria: "criteria", Summary: "summary",
		Results: "results", Artifacts: []string{"z", "a"}, Decisions: []string{"y", "b"}, PlannedChildren: []string{"x", "c"}, Confidence: new(0.25),
		CreatedAt: 1, StartedAt: 2, EndedAt: 3, UpdatedAt: 4, ArchivedAt: 5,
		Usage: core.Usage{TokensIn: 1, TokensOut: 2, CacheRead: 3, CacheWritten: 4, CostUSD: 0.1, ToolCalls: 6},
	}
	void := full
	require.NoError(t, void.Invalidate("reason", 9))
	foreign := full
	foreign.Machine, foreign.Session = "b", ""
	sorted := foreign
	sorted.Artifacts, sorted.Decisions, sorted.PlannedChildren = []string{"a", "z"}, []string{"b", "y"}, []string{"c", "x"}
	for name, tt := range map[string]struct{ frame, want core.Frame }{
		"of this machine":               {full, full},
		"invalidated when first seen":   {void, void},
		"of another, no document of it": {foreign, sorted},
		"nothing in it":                 {core.Frame{ID: "f", Status: core.Planned}, core.Frame{ID: "f", Status: core.Planned}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := merge.Clock{Machine: "a"}
			d := merge.UpdateLocal(merge.Doc{}, tt.frame, "a", func() merge.Timestamp { return c.Tick(7) })
			assert.Equal(t, tt.want, travelled(d).Frame("a"))
			assert.True(t, merge.UpdateLocal(d, tt.want, "a", same(t)).Equal(d))
		})
	}
	t.Run("what its machine says of it wins, and is not counted twice", func(t *testing.T) {
		t.Parallel()
		c := merge.Clock{Machine: "a"}
		lost := merge.UpdateLocal(merge.Doc{}, foreign, "a", func() merge.Timestamp { return c.Tick(7) })
		theirs := merge.Doc{V: 1, ID: "f", Work: merge.OwnerFields{Machine: "b", Stamp: at(1, "b"), Status: core.Blocked},
			Usage: map[string]merge.MachineUsage{"b": {core.Usage{TokensIn: 1}, at(1, "b")}}}
		got := merge.Merge(lost, theirs).Frame("a")
		assert.Equal(t, core.Blocked, got.Status)
		assert.Equal(t, int64(1), got.Usage.TokensIn)
	})
	t.Run("work in another's frame is not ours to tell", func(t *testing.T) {
		t.Parallel()
		was := merge.Doc{V: 1, ID: "f", Work: merge.OwnerFields{Machine: "b", Stamp: at(1, "b"), Status: core.InProgress, Goal: "theirs"}}
		f := was.Frame("a")
		f.Goal, f.Status = "ours", core.Failed
		assert.True(t, merge.UpdateLocal(was, f, "a", same(t)).Equal(was))
	})
}

func TestADeletionIsForEver(t *testing.T) {
	t.Parallel()
	c := merge.Clock{Machine: "a"}
	was := merge.Doc{V: 1, ID: "f", Work: merge.OwnerFields{Machine: "a", Stamp: at(1, "a"), Status: core.InProgress}}
	came := was
	came.Work.Stamp, came.Work.Goal = at(9, "a"), "more"
	gone := merge.ApplyRemote(was, core.Frame{}, came, &c, 2)
	assert.False(t, gone.Deleted.IsZero(), "it was deleted here before the document came")
	again := merge.ApplyRemote(gone, core.Frame{}, came, &c, 3)
	assert.True(t, again.Equal(gone))
	assert.Equal(t, "more", gone.Work.Goal)
}

func TestATakeoverWinsOverLaterWork(t *testing.T) {
	t.Parallel()
	was := merge.Doc{V: 1, ID: "f", Work: merge.OwnerFields{Machine: "a", Stamp: at(1, "a"), Status: core.InProgress, Session: "s"}}
	taken := was.Frame("b")
	taken.Machine, taken.Session = "", "s-b"
	b := merge.Clock{Machine: "b", At: 1}
	theirs := merge.UpdateLocal(was, taken, "b", func() merge.Timestamp { return b.Tick(2) })
	ended := was.Frame("a")
	ended.Status, ended.Summary = core.Completed, "done"
	ended.Decisions = []string{"a's"}
	a := merge.Clock{Machine: "a", At: 1}
	ours := merge.UpdateLocal(was, ended, "a", func() merge.Timestamp { return a.Tick(3) })
	got := merge.Merge(ours, theirs).Frame("a")
	assert.Equal(t, core.Frame{ID: "f", Machine: "b", Status: core.InProgress, Decisions: []string{"a's"}}, got)
}
