package hub

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/merge"
	"flame/project"
	"flame/project/shared"
	"flame/store"
	"flame/tests/projecttest"
)

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
	_, err := shared.Tree{Project: p, Machine: "desk"}.Take(h.ctx(), []merge.Doc{others.all()["frame-1"]})
	require.NoError(t, err)
	old := frames(h.ctx(), t, p)["frame-1"]
	require.NoError(t, Claim(h.ctx(), p, data, old), "without a hub every claim is granted")

	require.NoError(t, Save(data, h.link("desk")))
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

	machine, err := shared.Machine(h.ctx(), p)
	require.NoError(t, err)
	assert.Equal(t, "desk", machine, "the machine keeps its id")
}
