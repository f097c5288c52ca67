package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/merge"
	"flame/hub"
)

// A memory is a Tree that keeps documents and nothing else.
type memory struct {
	mu      sync.Mutex
	clock   merge.Clock
	docs    map[string]merge.Doc
	agreed  map[string]merge.Doc // as they were when they were collected or taken in
	pending map[string]bool      // ids of those that were written since
}

func newMemory(machine string) *memory {
	return &memory{clock: merge.Clock{Machine: machine}, docs: map[string]merge.Doc{}, agreed: map[string]merge.Doc{}, pending: map[string]bool{}}
}

// write has a frame be as change leaves it.
func (m *memory) write(id string, change func(*core.Frame)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := core.Frame{ID: id, Status: core.InProgress, Session: "s", Goal: "Goal of " + id, CreatedAt: 1, StartedAt: 1, UpdatedAt: 1}
	if d, known := m.docs[id]; known {
		f = d.Frame(m.clock.Machine)
	}
	change(&f)
	m.docs[id] = merge.UpdateLocal(m.docs[id], f, m.clock.Machine, func() merge.Timestamp { return m.clock.Tick(core.MillisOf(time.Now())) })
	m.pending[id] = true
}

// decide adds a decision.
func (m *memory) decide(id, text string) {
	m.write(id, func(f *core.Frame) { f.Decisions = append(f.Decisions, text) })
}

// all returns a copy of all documents.
func (m *memory) all() map[string]merge.Doc {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.docs)
}

func (m *memory) Collect(context.Context, int64) (docs []merge.Doc, revision int64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id := range m.pending {
		docs, m.agreed[id] = append(docs, m.docs[id]), m.docs[id]
	}
	clear(m.pending)
	return docs, 0, nil
}

func (m *memory) Take(_ context.Context, docs []merge.Doc) (owed []merge.Doc, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, came := range docs {
		for _, s := range came.Stamps() {
			m.clock.Observe(s, s.At)
		}
		d := merge.Merge(m.docs[came.ID], came)
		delete(m.pending, came.ID)
		if m.docs[came.ID], m.agreed[came.ID] = d, d; !d.Equal(came) {
			owed = append(owed, d)
		}
	}
	return owed, nil
}

func (m *memory) Known(_ context.Context, f func(merge.Doc) error) error {
	m.mu.Lock()
	known := maps.Clone(m.agreed)
	m.mu.Unlock()
	for _, d := range known {
		if err := f(d); err != nil {
			return err
		}
	}
	return nil
}

// A mate is a machine that is kept alike with a hub as long as it is connected.
type mate struct {
	*memory
	sync *Syncer
	log  *bytes.Buffer // to be read when it has stopped
	stop func()
	done chan error // what Run returned
}

// mate returns a machine that is not yet connected.
func (h *hubServer) mate(machine string) *mate {
	log, m := new(bytes.Buffer), newMemory(machine)
	return &mate{memory: m, log: log, sync: &Syncer{
		Tree: m, Log: slog.New(slog.NewTextHandler(log, nil)), Now: func() core.Millis { return core.MillisOf(time.Now()) },
		Retry: 50 * time.Millisecond,
	}}
}

// run has a machine be connected.
func (h *hubServer) run(m *mate) *mate { return h.runAs(m, h.link(m.clock.Machine)) }

func (h *hubServer) runAs(m *mate, link hub.Link) *mate {
	conn, err := Connect(h.ctx(), link)
	require.NoError(h.t, err)
	ctx, cancel := context.WithCancel(h.ctx())
	done := make(chan error, 1)
	m.done = done
	go func() { done <- m.sync.Run(ctx, conn) }()
	m.stop = func() {
		cancel()
		conn.Close()
		done <- <-done
	}
	h.t.Cleanup(m.stop)
	return m
}

// alike waits until machines have the same, and that is so many documents.
func alike(t *testing.T, count int, machines ...*mate) {
	require.Eventually(t, func() bool {
		want := machines[0].all()
		if len(want) != count {
			return false
		}
		for _, m := range machines[1:] {
			has := m.all()
			for id, d := range want {
				if !has[id].Equal(d) {
					return false
				}
			}
			if len(has) != count {
				return false
			}
		}
		return true
	}, patience, 20*time.Millisecond)
}

func TestTwoMachinesHaveOneTree(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	a, b := h.mate("laptop"), h.mate("desk")
	for i := range 700 { // more than a batch
		a.decide(fmt.Sprint("frame-a", i), "one")
	}
	a.decide("imported_ü/*.>", "an id that is no key")
	b.decide("frame-b", "two")
	b.decide("frame-a1", "of another machine, before they met")
	h.run(a)
	h.run(b)
	alike(t, 702, a, b)
	assert.Len(t, a.all()["frame-a1"].Decisions, 2)

	for i := range 20 { // both change the same frame at once
		a.decide("frame-a1", fmt.Sprint("a", i))
		b.decide("frame-a1", fmt.Sprint("b", i))
	}
	require.Eventually(t, func() bool {
		return len(a.all()["frame-a1"].Decisions) == 42 && len(b.all()["frame-a1"].Decisions) == 42
	},
		patience, 20*time.Millisecond)
	late := h.run(h.mate("late"))
	alike(t, 702, a, b, late)
	require.Eventually(t, func() bool { return late.sync.Progress().Taken == 702 }, patience, 20*time.Millisecond)
	p := late.sync.Progress()
	assert.Zero(t, p.Waiting+p.Skipped+p.Sent)
}

func TestAHubThatLostItsDataIsFilledAgain(t *testing.T) {
	t.Parallel()
	for name, old := range map[string]bool{"all of it": false, "since a copy was made": true} {
		t.Run(name, func(t *testing.T) { t.Parallel(); fillAgain(t, old) })
	}
}

func fillAgain(t *testing.T, old bool) {
	h := startHub(t)
	a, b := h.run(h.mate("laptop")), h.run(h.mate("desk"))
	left := t.TempDir()
	if old {
		a.decide("frame-0", "known to the copy")
		alike(t, 1, a, b)
		a.stop()
		b.stop()
		h.stop()
		require.NoError(t, os.CopyFS(left, os.DirFS(h.options.StoreDir)))
		h.start()
		h.run(a)
		h.run(b)
	}
	for i := range 30 {
		a.decide(fmt.Sprint("frame-", i), "one")
	}
	alike(t, 30, a, b)
	h.stop()
	for _, m := range []*mate{a, b} {
		err := <-m.done
		require.ErrorIs(t, err, core.ErrUnavailable)
		m.done <- err
	}
	a.decide("frame-0", "while the hub was away")
	h.options.StoreDir = left
	h.start()
	h.run(a)
	h.run(b)
	alike(t, 30, a, b)
	assert.Len(t, b.all()["frame-0"].Decisions, map[bool]int{false: 2, true: 3}[old])
	fresh := h.run(h.mate("fresh"))
	alike(t, 30, a, b, fresh)
}

func TestABucketThatIsDeletedIsMadeAgain(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	a := h.mate("laptop")
	check := make(chan time.Time)
	a.sync.Check = check
	h.run(a)
	a.decide("frame-1", "one")
	c := h.connect("admin")
	require.Eventually(t, func() bool { return a.sync.Progress().Sent == 1 }, patience, 20*time.Millisecond)
	require.NoError(t, c.js.DeleteKeyValue(h.ctx(), "flame_shop_tree"))
	check <- time.Now()
	alike(t, 1, a, h.run(h.mate("fresh")))
}

func TestGarbageOnTheHub(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	tr, err := h.connect("somebody").tree(h.ctx())
	require.NoError(t, err)
	a := h.mate("laptop")
	a.decide("frame-mine", "one")
	bomb, err := encode(strings.Repeat("0", maxDoc+1<<20))
	require.NoError(t, err)
	for key, value := range map[string]string{
		"no-json": "{", "empty": "", "no-frame": `{"v":1}`, "binary": "\x1f\x8b\x00", "frame-mine": "overwritten", "bomb": string(bomb),
		"newer": `{"v":99,"id":"newer","work":{"future":true}}`, "frame-other": `{"v":1,"id":"frame-mine","work":{"machine":"x","status":"planned"}}`,
		"=odd": "x", "deep": strings.Repeat("[", 100_000),
	} {
		_, err := tr.KeyValue.Put(h.ctx(), key, []byte(value))
		require.NoError(t, err, key)
	}
	h.run(a)
	b := h.run(h.mate("desk"))
	a.decide("frame-2", "goes on")
	alike(t, 2, a, b)
	a.write("newer", func(*core.Frame) {})
	require.Eventually(t, func() bool { return a.sync.Progress().Complete }, patience, 20*time.Millisecond)
	assert.NotZero(t, a.sync.Progress().Skipped)
	a.stop()
	e, err := tr.KeyValue.Get(h.ctx(), "newer")
	require.NoError(t, err)
	assert.Contains(t, string(e.Value()), `"future"`, "a document of a newer flame stays")
	for _, key := range []string{"no-json", "frame-mine", "newer"} {
		assert.Equal(t, 1, strings.Count(a.log.String(), "key="+key+" "), "%s", a.log)
	}
}

func TestADocumentThatOneMachineRefusesStays(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	a, b := h.mate("laptop"), h.mate("desk")
	for i := range 20 {
		a.decide(fmt.Sprint("frame-", i), "known to both")
	}
	b.docs, b.agreed = a.all(), a.all()
	for i := range 20 {
		a.decide(fmt.Sprint("frame-", i), "two")
	}
	const years = 2 * 365 * 24 * 3600 * 1000
	behind := func() core.Millis { return core.MillisOf(time.Now()) - years }
	b.sync.Now = behind
	h.run(a)
	require.Eventually(t, func() bool { return a.sync.Progress().Sent == 20 }, patience, 20*time.Millisecond)
	h.run(b)
	require.Eventually(t, func() bool { return b.sync.Progress().Complete }, patience, 20*time.Millisecond)
	assert.Equal(t, 20, b.sync.Progress().Skipped)
	a.decide("frame-3", "three")
	b.decide("frame-3", "of a machine that cannot read the others")
	b.decide("frame-b", "which goes on")
	require.Eventually(t, func() bool { return len(a.all()) == 21 && b.sync.Progress().Sent > 0 }, patience, 20*time.Millisecond)
	b.stop()
	assert.Equal(t, 1, b.sync.Progress().Sent)
	assert.Equal(t, 20, b.sync.Progress().Skipped, "each counts once")
	assert.Len(t, a.all()["frame-3"].Decisions, 3)
	assert.Equal(t, 1, strings.Count(b.log.String(), "key=frame-3 "), "%s", b.log)

	b.sync.Now = func() core.Millis { return core.MillisOf(time.Now()) }
	h.run(b)
	require.Eventually(t, func() bool { return len(a.all()["frame-3"].Decisions) == 4 }, patience, 20*time.Millisecond)
	alike(t, 21, a, b)
}

func TestAFailedRoundIsRepeatedAfterAPause(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	a := h.mate("laptop")
	check := make(chan time.Time)
	a.sync.Check = check
	a.decide("frame-1", "one")
	h.run(a)
	tr, err := h.connect("somebody").tree(h.ctx())
	require.NoError(t, err)
	require.Eventually(t, func() bool { return a.sync.Progress().Sent == 1 }, patience, 5*time.Millisecond)
	require.NoError(t, tr.KeyValue.Delete(h.ctx(), "frame-1"))
	require.Eventually(t, func() bool { return a.sync.Progress().Sent == 2 }, patience, 5*time.Millisecond)
	require.NoError(t, tr.KeyValue.Delete(h.ctx(), "frame-1"))
	require.Eventually(t, func() bool { return a.sync.Progress().Sent == 3 }, patience, 5*time.Millisecond)
	e, err := tr.KeyValue.Get(h.ctx(), "frame-1")
	require.NoError(t, err, "a frame that was deleted on the hub is restored")
	assert.NotEmpty(t, e.Value())
	a.stop()
	assert.Equal(t, 2*a.sync.Retry, a.sync.retry, "the second pause is longer")

	h.run(a)
	for range 2 { // the second is taken when the first is done
		check <- time.Now()
	}
	a.stop()
	assert.Zero(t, a.sync.retry, "this round has lasted")
}

func TestAStreamWithoutBatches(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	_, err := h.connect("admin").js.CreateKeyValue(h.ctx(), jetstream.KeyValueConfig{Bucket: "flame_shop_tree"})
	require.NoError(t, err)
	a, b := h.mate("laptop"), h.mate("desk")
	for i := range 600 {
		a.decide(fmt.Sprint("frame-", i), "one")
		b.decide(fmt.Sprint("frame-", i), "two")
	}
	alike(t, 600, h.run(a), h.run(b))
}

// noise returns text that cannot be made smaller than half of it.
func noise(t *testing.T, size int) string {
	raw := make([]byte, size/2)
	_, err := rand.Read(raw)
	require.NoError(t, err)
	return hex.EncodeToString(raw)
}

func TestResultsThatAreTooLargeForTheHub(t *testing.T) {
	t.Parallel()
	h := startHub(t, func(o *server.Options) { o.MaxPayload = 256 << 10 })
	a, b := h.mate("laptop"), h.mate("desk")
	results := noise(t, 900<<10)
	a.write("frame-1", func(f *core.Frame) { f.Results = results })
	a.write("frame-2", func(f *core.Frame) { f.Results = strings.Repeat("the same ", 100_000) })
	a.write("frame-3", func(f *core.Frame) { f.Goal = noise(t, 900<<10) })
	h.run(a)
	h.run(b)
	require.Eventually(t, func() bool { return len(b.all()) == 2 }, patience, 20*time.Millisecond)
	assert.Empty(t, b.all()["frame-1"].Work.Results)
	assert.Equal(t, a.all()["frame-2"], b.all()["frame-2"])
	assert.Equal(t, []string{"frame-3"}, a.sync.Progress().TooLarge)

	b.decide("frame-1", "added to the copy without results")
	require.Eventually(t, func() bool { return len(a.all()["frame-1"].Decisions) == 1 }, patience, 20*time.Millisecond)
	assert.Equal(t, results, a.all()["frame-1"].Work.Results, "which they survive")
	a.stop()
	again := h.mate("laptop")
	again.docs, again.agreed = a.docs, a.agreed
	again.decide("frame-1", "by the next process")
	h.run(again)
	require.Eventually(t, func() bool { return len(b.all()["frame-1"].Decisions) == 2 }, patience, 20*time.Millisecond)
	assert.Equal(t, results, again.all()["frame-1"].Work.Results)
}
