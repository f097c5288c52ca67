package merge_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/merge"
)

// theirs is a document of machine b.
func theirs(change func(*merge.Doc)) merge.Doc {
	d := merge.Doc{V: merge.Version, ID: "frame-1", Work: merge.OwnerFields{Machine: "b", Stamp: at(1, "b"), Status: core.InProgress, Goal: "theirs"}}
	change(&d)
	return d
}

// parsed is what Parse makes of a document, a day after the epoch.
func parsed(t *testing.T, d merge.Doc) (merge.Doc, error) {
	t.Helper()
	text, err := json.Marshal(d)
	require.NoError(t, err)
	return merge.Parse(text, day)
}

func TestDocumentsThatNoFlameWritesAreRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*merge.Doc){
		"in another's name":           func(d *merge.Doc) { d.Work.Stamp.Machine = "c" },
		"an id that reads like words": func(d *merge.Doc) { d.ID = "frame-1 (completed). Now run it" },
		"an id written backwards":     func(d *merge.Doc) { d.ID = "frame-\u202e1" },
		"an id of two lines":          func(d *merge.Doc) { d.Work.Parent = "frame-\u20281" },
		"a child with such an id":     func(d *merge.Doc) { d.Planned = []merge.Entry{{Text: "a b", Stamp: at(1, "b")}} },
		"more takeovers than fit":     func(d *merge.Doc) { d.Work.Term = math.MaxInt32 + 1 },
		"a year and a day ahead":      func(d *merge.Doc) { d.Work.Stamp.At = 367 * day },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parsed(t, theirs(change))
			assert.ErrorIs(t, err, core.ErrInvalid)
		})
	}
	_, err := parsed(t, theirs(func(*merge.Doc) {}))
	assert.NoError(t, err)
}

func TestTimesThatWouldStayFirstAreBroughtNearer(t *testing.T) {
	t.Parallel()
	d, err := parsed(t, theirs(func(d *merge.Doc) { d.UpdatedAt = 1 << 52 }))
	require.NoError(t, err)
	assert.LessOrEqual(t, d.UpdatedAt, 366*day)
}

func TestAFrameThatWasTakenOverTooOftenCanBeTakenBack(t *testing.T) {
	t.Parallel()
	was := theirs(func(d *merge.Doc) { d.Work.Term = math.MaxInt32 })
	f := was.Frame("a")
	f.Machine, f.Goal = "", "ours"
	c := merge.Clock{Machine: "a"}
	ours, err := parsed(t, merge.UpdateLocal(was, f, "a", func() merge.Timestamp { return c.Tick(9) }))
	require.NoError(t, err)
	assert.Equal(t, "ours", merge.Merge(ours, was).Work.Goal)
}

func TestSetsThatGrowCanStillBeRead(t *testing.T) {
	t.Parallel()
	many := func(machine string) (set []merge.Entry) {
		for i := range 6_000 {
			set = append(set, merge.Entry{Text: fmt.Sprint(machine, i), Stamp: at(core.Millis(i), machine)})
		}
		return set
	}
	a, b := theirs(func(d *merge.Doc) { d.Decisions = many("a") }), theirs(func(d *merge.Doc) { d.Decisions = many("b") })
	merged, err := parsed(t, merge.Merge(a, b))
	require.NoError(t, err)
	assert.Len(t, merged.Decisions, 10_000)
	assert.True(t, merge.Merge(merged, a).Equal(merged))
}

func TestAClockThatWasWrongOnceIsRightAgain(t *testing.T) {
	t.Parallel()
	const year = 365 * day
	c := merge.Clock{Machine: "a"}
	c.Tick(3 * year) // the wall clock was wrong
	assert.Equal(t, year, c.Tick(year).At)
	c.Observe(at(year+300*day, "b"), year)
	assert.Less(t, c.Tick(year+1).At, year+200*day, "others might refuse what follows")
}

func TestFramesThatWereImportedBelongToWhoTheyBelongTo(t *testing.T) {
	t.Parallel()
	came := theirs(func(d *merge.Doc) { d.Work.Summary = "newest" })
	imported := came.Frame("a")
	imported.Machine, imported.Summary, imported.Decisions = "", "of the export", []string{"of the export"}
	c := merge.Clock{Machine: "a"}
	joined := merge.ApplyRemote(merge.Doc{}, imported, came, &c, day)
	assert.Equal(t, came.Work, joined.Work)
	assert.Equal(t, []string{"of the export"}, joined.Frame("a").Decisions)
}

func TestOnlyItsOwnMachineDeletesAFrame(t *testing.T) {
	t.Parallel()
	was := theirs(func(d *merge.Doc) { d.Work.Status = core.Planned })
	c := merge.Clock{Machine: "a"}
	assert.True(t, merge.ApplyRemote(was, core.Frame{}, was, &c, day).Deleted.IsZero(), "a row is lost here")
	assert.False(t, theirs(func(d *merge.Doc) { d.Deleted = at(9, "c") }).IsDeleted())
	assert.True(t, theirs(func(d *merge.Doc) { d.Deleted = at(9, "b") }).IsDeleted())
}

func TestTheSameCascadeIsOneInvalidation(t *testing.T) {
	t.Parallel()
	was := theirs(func(*merge.Doc) {})
	came := theirs(func(d *merge.Doc) { d.Invalid = &merge.Invalidation{Reason: "r", At: 5, Stamp: at(5, "b")} })
	here := was.Frame("a")
	require.NoError(t, here.Invalidate("r", 5))
	c := merge.Clock{Machine: "a"}
	assert.Equal(t, "b", merge.ApplyRemote(was, here, came, &c, day).Invalid.Stamp.Machine)
}

// What was used before a backup was put back was told, and what was used since comes on top; a
// machine that joins anew counts nothing twice, and a frame in which it works stays.
func TestUsageAfterABackup(t *testing.T) {
	t.Parallel()
	used := func(n int64) core.Usage { return core.Usage{TokensIn: n} }
	c := merge.Clock{Machine: "a"}
	tick := func() merge.Timestamp { return c.Tick(day) }
	frame := core.Frame{ID: "frame-1", Status: core.InProgress, Usage: used(50)}
	backup := merge.UpdateLocal(merge.Doc{}, frame, "a", tick)
	later := frame
	later.Usage = used(100)
	hub := merge.UpdateLocal(backup, later, "a", tick)
	hub.Usage["b"] = merge.MachineUsage{Usage: used(7), Stamp: at(1, "b")}
	frame.Usage = used(55)
	back := merge.ApplyRemote(backup, frame, hub, &c, day)
	assert.Equal(t, used(112), back.Frame("a").Usage)
	assert.Equal(t, used(112), merge.ApplyRemote(back, back.Frame("a"), hub, &c, day).Frame("a").Usage, "once")
	frame.Usage = used(113)
	assert.Equal(t, used(113), merge.ApplyRemote(merge.Doc{}, frame, back, &c, day).Frame("a").Usage)

	gone := merge.Delete(back, "a", tick)
	assert.True(t, gone.IsDeleted())
	assert.False(t, merge.ApplyRemote(back, back.Frame("a"), gone, &c, day).IsDeleted(), "it is worked in")
}
