package client

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/merge"
	"flame/hub"
	"flame/project"
	"flame/project/transfer"
	"flame/store"
	"flame/tests/projecttest"
)

// claims returns those of a machine, which last for so long.
func (h *hubServer) claims(machine string, lasts time.Duration) *Claims {
	c, err := h.connect(machine).claimsFor(h.ctx(), lasts)
	require.NoError(h.t, err)
	return c
}

func TestClaimsOfTwoMachines(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	a, b := h.claims("laptop", time.Hour), h.claims("desk", time.Hour)
	odd := "imported frame/ü.*"
	for _, frame := range []string{"frame-1", odd} {
		require.NoError(t, a.Claim(h.ctx(), frame))
		require.NoError(t, a.Claim(h.ctx(), frame), "again")
		err := b.Claim(h.ctx(), frame)
		require.ErrorIs(t, err, core.ErrInvalid)
		assert.Contains(t, err.Error(), "on machine laptop")
	}
	require.NoError(t, h.claims("laptop", time.Hour).Claim(h.ctx(), "frame-1"), "another process of the same machine")
	require.NoError(t, a.Claim(h.ctx(), "frame-1"), "another process of the machine wrote the claim meanwhile")

	require.NoError(t, a.Release(h.ctx()))
	require.NoError(t, b.Claim(h.ctx(), odd), "it is free")
	require.Error(t, a.Claim(h.ctx(), odd))
	require.NoError(t, a.Release(h.ctx()), "the release leaves no claim")
	require.Error(t, a.Claim(h.ctx(), odd), "a release leaves the claim of another machine")
}

func TestClaimsEndUnlessTheyAreRenewed(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	a, b := h.claims("laptop", 2*time.Second), h.claims("desk", 2*time.Second)
	require.NoError(t, a.Claim(h.ctx(), "frame-1"))
	require.NoError(t, a.Hold(h.ctx(), []string{"frame-1"}), "a claim expires although it was renewed once")
	require.Eventually(t, func() bool { return b.Claim(h.ctx(), "frame-1") == nil }, patience, 50*time.Millisecond)
	err := a.Hold(h.ctx(), []string{"frame-1"})
	require.ErrorIs(t, err, core.ErrInvalid)
	assert.Contains(t, err.Error(), "on machine desk", "the former owner cannot renew the claim")
	assert.Empty(t, a.held)
}

func TestClaimsFollowTheWork(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	a, b := h.claims("laptop", time.Hour), h.claims("desk", time.Hour)
	require.NoError(t, a.Claim(h.ctx(), "frame-taken"))
	require.NoError(t, a.Hold(h.ctx(), []string{"frame-1", "frame-2"}))
	for _, frame := range []string{"frame-1", "frame-2", "frame-taken"} {
		require.Error(t, b.Claim(h.ctx(), frame))
	}
	require.NoError(t, a.Hold(h.ctx(), []string{"frame-2"}))
	require.NoError(t, b.Claim(h.ctx(), "frame-1"), "work in the frame has ended")
	require.Error(t, b.Claim(h.ctx(), "frame-taken"), "work in the frame has not begun")

	err := a.Hold(h.ctx(), []string{"frame-1", "frame-2", "frame-3"})
	require.ErrorIs(t, err, core.ErrInvalid)
	require.Error(t, b.Claim(h.ctx(), "frame-3"), "a refused claim does not affect the others")
}

func TestInvalidClaimsAreReplaced(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	a := h.claims("laptop", time.Hour)
	for frame, text := range map[string]string{"f-1": "", "f-2": "{", "f-3": `{"machine":"../x"}`, "f-4": "\x00\xff", "f-5": `{"machine":7}`} {
		_, err := a.kv.Put(h.ctx(), frame, []byte(text))
		require.NoError(t, err)
		require.NoError(t, a.Claim(h.ctx(), frame))
	}
}

func TestMachinesAnnounceThemselves(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	before := core.MillisOf(time.Now())
	a, err := h.connect("laptop").Machines(h.ctx())
	require.NoError(t, err)
	b, err := h.connect("desk").Machines(h.ctx())
	require.NoError(t, err)
	list, err := a.List(h.ctx())
	require.NoError(t, err)
	assert.Empty(t, list)

	me := hub.Machine{ID: "laptop", Version: "1.2.3", Doc: 1, Run: "one"}
	require.NoError(t, a.Tell(h.ctx(), me))
	require.NoError(t, a.Tell(h.ctx(), me))
	require.NoError(t, b.Tell(h.ctx(), hub.Machine{ID: "desk", Version: "1.2\x1b[31m", Doc: 1, Run: "two"}))
	_, err = a.kv.Put(h.ctx(), "garbage", []byte(`{"id":"laptop"}`))
	require.NoError(t, err)
	list, err = b.List(h.ctx())
	require.NoError(t, err)
	require.Len(t, list, 2)
	assert.Equal(t, "desk", list[0].ID)
	assert.NotContains(t, list[0].Version, "\x1b")
	assert.GreaterOrEqual(t, list[1].Seen, before)
	list[1].Seen = 0
	assert.Equal(t, me, list[1])

	copied, err := h.connect("laptop").Machines(h.ctx())
	require.NoError(t, err)
	require.NoError(t, copied.Tell(h.ctx(), hub.Machine{ID: "laptop", Run: "three"}), "it may be the machine's next process")
	err = a.Tell(h.ctx(), me)
	require.ErrorIs(t, err, core.ErrInvalid, "two processes at the same time are an error")
	assert.Contains(t, core.HintOf(err), "was the data folder copied?")
}

func TestMachinesAnnounceTheQueuesThatTheyServe(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	desk, err := h.connect("desk").Machines(h.ctx())
	require.NoError(t, err)
	require.NoError(t, desk.Tell(h.ctx(), hub.Machine{ID: "desk", Serves: []hub.QueueStatus{{Queue: "forged", Slots: 1}}}))
	require.NoError(t, desk.Serve(h.ctx(), "one", hub.QueueStatus{Queue: "gpu", Slots: 3, Free: 2}))
	require.NoError(t, desk.Serve(h.ctx(), "two", hub.QueueStatus{Queue: "build", Slots: 1}))
	for key, text := range map[string]string{
		"serves.desk": `{"queue":"a","slots":1}`, "serves.DESK.x": `{"queue":"b","slots":1}`, "serves.desk.a": "{", "serves.desk.b": `{"queue":"c c","slots":1}`,
		"serves.desk.c": `{"queue":"d","slots":-1}`, "serves.desk.d": `{"queue":"e","slots":1,"free":2}`, "serves.desk.e": `{"queue":"f","slots":1e6}`,
		"serves.gone.f": `{"queue":"g","slots":1}`,
	} {
		_, err := desk.kv.Put(h.ctx(), key, []byte(text))
		require.NoError(t, err)
	}
	served := func() hub.Status {
		list, err := desk.List(h.ctx())
		require.NoError(t, err)
		require.Len(t, list, 1)
		return hub.Status{At: 1, Since: 1, Machines: list}
	}
	s := served()
	assert.Equal(t, []hub.QueueStatus{{Queue: "build", Slots: 1}, {Queue: "gpu", Slots: 3, Free: 2}}, s.Machines[0].Serves)
	assert.Empty(t, s.Unserved("gpu", 2))
	assert.Equal(t, "no worker serves the queue typo now; build is served by desk; gpu is served by desk", s.Unserved("typo", 2))
	assert.Empty(t, s.Unserved("typo", 1+60_000), "the status does not say")

	require.NoError(t, desk.Serve(h.ctx(), "one", hub.QueueStatus{Queue: "gpu", Slots: 3, Free: 1}))
	require.NoError(t, desk.Serve(h.ctx(), "two", hub.QueueStatus{}))
	s = served()
	assert.Equal(t, []hub.QueueStatus{{Queue: "gpu", Slots: 3, Free: 1}}, s.Machines[0].Serves)
	assert.Contains(t, s.Unserved("build", 2), "no worker serves the queue build now")
}

// realProject returns a project without data, on a store as processes have it.
func realProject(t *testing.T) (p *project.Project, data string) {
	data = t.TempDir()
	kept := projecttest.Open(t, data, store.Options{LongLived: true})
	return &project.Project{
		Store: kept, Log: slog.New(slog.DiscardHandler), NewID: project.NewID, EventDays: 90,
		Now: func() core.Millis { return core.MillisOf(time.Now()) },
	}, data
}

// frames returns those of a project, by id.
func frames(ctx context.Context, t *testing.T, p *project.Project) map[string]core.Frame {
	all := map[string]core.Frame{}
	require.NoError(t, p.Store.View(ctx, func(tx project.Tx) error {
		list, err := tx.FindFrames(project.FrameQuery{})
		clear(all)
		for _, f := range list {
			all[f.ID] = f
		}
		return err
	}))
	return all
}

func TestAClaimOfAFrameThatChangedMeanwhile(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	p, data := realProject(t)
	others := h.mate("laptop")
	others.write("frame-1", func(f *core.Frame) { f.Status, f.StartedAt = core.Planned, 0 })
	_, err := transfer.SharedTree{Project: p, Machine: "desk"}.Take(h.ctx(), []merge.Doc{others.all()["frame-1"]})
	require.NoError(t, err)
	old := frames(h.ctx(), t, p)["frame-1"]
	require.NoError(t, Claim(h.ctx(), p, data, old), "without a hub every claim is granted")

	require.NoError(t, hub.Save(data, h.link("desk")))
	require.NoError(t, Claim(h.ctx(), p, data, old), "the hub does not know the frame")
	h.run(others)
	require.Eventually(t, func() bool { return others.sync.Progress().Sent == 1 }, patience, 5*time.Millisecond)
	require.NoError(t, Claim(h.ctx(), p, data, old), "the frame is unchanged")

	require.NoError(t, h.claims("desk", claimTime).Claim(h.ctx(), "frame-1")) // and released below
	others.write("frame-1", func(f *core.Frame) { f.Status, f.Summary = core.Completed, "It was done there." })
	require.Eventually(t, func() bool { return others.sync.Progress().Sent == 2 }, patience, 5*time.Millisecond)
	err = Claim(h.ctx(), p, data, old)
	require.ErrorIs(t, err, core.ErrInvalid)
	assert.Contains(t, err.Error(), "frame-1 has changed on machine laptop")
	now := frames(h.ctx(), t, p)["frame-1"]
	assert.Equal(t, "It was done there.", now.Summary)
	assert.Equal(t, core.Completed, now.Status)
	require.NoError(t, h.claims("third", claimTime).Claim(h.ctx(), "frame-1"), "the claim was released")

	machine, err := transfer.SharedAs(h.ctx(), p)
	require.NoError(t, err)
	assert.Equal(t, "desk", machine, "the machine keeps its id")
}
