package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
)

func TestAWorkerThatIsGone(t *testing.T) {
	r := newRig(t, 50*time.Millisecond, 200*time.Millisecond)
	laptop, desk, couch := r.queue("laptop"), r.queue("desk"), r.queue("couch")
	r.put(laptop, "job-again", 1)
	old, _ := r.next(desk)
	_, err := desk.SendHeartbeat(r.ctx(), &old, json.RawMessage(`{"turns":1}`))
	require.NoError(t, err)

	lease, job := r.next(couch)
	assert.Equal(t, []any{"job-again", 2, "couch"}, []any{job.ID, lease.Attempt, lease.Worker})
	stop := r.holding(couch, &lease)
	_, err = desk.SendHeartbeat(r.ctx(), &old, nil)
	require.ErrorIs(t, err, ErrFenced)
	require.ErrorIs(t, desk.Finish(r.ctx(), &old, json.RawMessage(`"stale"`)), ErrFenced)
	require.ErrorIs(t, r.queue("desk").Finish(r.ctx(), &old, nil), ErrFenced, "another process with the same lease")
	run := r.run(laptop, "job-again")
	assert.Equal(t, []any{Running, "couch", 1}, []any{run.State, run.Worker, r.left(laptop)}, "the stale worker removed nothing")
	stop()

	r.put(laptop, "job-last", 0)
	none, give := context.WithCancel(r.ctx())
	got := make(chan string, 10)
	go func() {
		for {
			lease, _, err := desk.Claim(none, "gpu")
			if err != nil {
				return
			}
			got <- lease.Job // and never a word again
		}
	}()
	for _, id := range []string{"job-again", "job-last"} {
		require.Eventually(t, func() bool { return r.run(laptop, id).State == Lost }, patience, 20*time.Millisecond)
		assert.Contains(t, r.run(laptop, id).Reason, "worker lost")
	}
	assert.Equal(t, 1, r.run(laptop, "job-last").Attempt)
	r.emptied(laptop)
	give()
	assert.Equal(t, "job-last", <-got)
	assert.Empty(t, got)
}

func TestAJobOfARunningWorkerIsNotTakenOver(t *testing.T) {
	r := newRig(t, 100*time.Millisecond, 500*time.Millisecond)
	laptop, desk, couch := r.queue("laptop"), r.queue("desk"), r.queue("couch")
	couch.opened = time.Now().Add(patience) // it looks long enough on any machine
	r.put(laptop, "job-1", 1)
	lease, _ := r.next(desk)
	lease.reply = "" // the hub does not hear of it and gives the job to others
	stop := r.holding(desk, &lease)
	ctx, cancel := context.WithCancel(r.ctx())
	looked := make(chan error, 1)
	go func() {
		_, _, err := couch.Claim(ctx, "gpu")
		looked <- err
	}()
	require.Eventually(t, func() bool { // it was delivered twice
		c, err := couch.jobs.Consumer(r.ctx(), "q_gpu")
		return err == nil && c.CachedInfo().Delivered.Consumer >= 3
	}, patience, 50*time.Millisecond)
	cancel()
	require.ErrorIs(t, <-looked, context.Canceled)
	stop()
	run := r.run(laptop, "job-1")
	assert.Equal(t, []any{Running, "desk", 1}, []any{run.State, run.Worker, run.Attempt})
}

func TestTheCapHoldsForAllWorkers(t *testing.T) {
	r := newRig(t, time.Second, eternal)
	laptop, desk, couch := r.queue("laptop"), r.queue("desk"), r.queue("couch")
	desk.AtOnce, couch.AtOnce = 3, 3
	for i := range 7 {
		r.put(laptop, fmt.Sprint("job-", i), 0)
	}
	leases := make(chan Lease, 10)
	ctx, cancel := context.WithCancel(r.ctx())
	var slots sync.WaitGroup
	for i := range 6 {
		q := []*Queue{desk, couch}[i%2]
		slots.Go(func() {
			for ctx.Err() == nil {
				if lease, _, err := q.Claim(ctx, "gpu"); err == nil {
					leases <- lease
				}
			}
		})
	}
	defer func() { cancel(); slots.Wait() }()
	var held []Lease
	for len(held) < 3 {
		held = append(held, <-leases)
	}
	for left := 4; left > 0; left-- {
		info, err := laptop.jobs.Consumer(r.ctx(), "q_gpu")
		require.NoError(t, err)
		require.Equal(t, []int{3, left}, []int{info.CachedInfo().NumAckPending, int(info.CachedInfo().NumPending)})
		require.Empty(t, leases)
		require.NoError(t, desk.Finish(r.ctx(), &held[0], nil))
		held = append(held[1:], <-leases)
	}
}

func TestDataOfOtherMachinesIsNotTrusted(t *testing.T) {
	r := newRig(t, 50*time.Millisecond, 200*time.Millisecond)
	laptop, desk := r.queue("laptop"), r.queue("desk")
	js := laptop.conn.JetStream()
	for id, text := range map[string]string{
		"no-json": "{", "other-id": `{"id":"x","queue":"gpu","asker":"laptop"}`, "odd-asker": `{"id":"odd-asker","queue":"gpu","asker":"../x"}`,
		"odd-id!": `{"id":"odd-id!","queue":"gpu","asker":"laptop"}`, "retries": `{"id":"retries","queue":"gpu","asker":"laptop","retries":-1}`,
		"large": strings.Repeat("[", 2e6), "deep": strings.Repeat("[", 8e5),
	} {
		_, err := js.Publish(r.ctx(), laptop.subject("gpu", id), []byte(text))
		require.NoError(t, err)
	}
	r.put(laptop, "job-damaged", 5)
	damaged := map[string]string{
		"no JSON":      "{",
		"another's":    `{"job":"x","state":"queued","queue":"gpu","asker":"laptop"}`,
		"no state":     `{"job":"job-damaged","queue":"gpu","asker":"laptop"}`,
		"nobody's run": `{"job":"job-damaged","state":"running","queue":"gpu","asker":"laptop","attempt":1}`,
		"many tries":   `{"job":"job-damaged","state":"queued","queue":"gpu","asker":"laptop","attempt":999999}`,
		"odd worker":   `{"job":"job-damaged","state":"running","queue":"gpu","asker":"laptop","attempt":1,"claim":"x","worker":"\u001b[2J"}`,
		"large":        `"` + strings.Repeat("x", 1e6) + `"`,
	}
	seen, done := r.follow(laptop, "job-damaged")
	r.becomes(seen, Queued)
	for name, text := range damaged {
		_, err := laptop.runs.Put(r.ctx(), "job-damaged", []byte(text))
		require.NoError(t, err)
		_, known, err := laptop.Find(r.ctx(), "job-damaged")
		require.ErrorIs(t, err, core.ErrInvalid, name)
		assert.True(t, known)
	}
	_, err := laptop.orders.Put(r.ctx(), "job-good", []byte("{{{"))
	require.NoError(t, err)
	r.put(laptop, "job-good", 0)
	lease, job := r.next(desk)
	require.Equal(t, "job-good", job.ID)
	run := r.becomes(seen, Lost)
	assert.Contains(t, run.Reason, "damaged")
	require.NoError(t, r.ends(done))
	_, err = laptop.runs.Put(r.ctx(), "job-good", []byte("nonsense"))
	require.NoError(t, err)
	o, err := desk.SendHeartbeat(r.ctx(), &lease, nil)
	require.NoError(t, err, "the holder of the job writes its record again")
	assert.Zero(t, o)
	require.NoError(t, laptop.runs.Purge(r.ctx(), "job-good"))
	require.NoError(t, laptop.runs.Delete(r.ctx(), "job-good"))
	_, err = desk.SendHeartbeat(r.ctx(), &lease, nil)
	require.NoError(t, err)
	assert.Equal(t, "desk", r.run(laptop, "job-good").Worker)
	require.NoError(t, laptop.runs.Delete(r.ctx(), "job-new"))
	r.put(laptop, "job-new", 0)
	assert.Equal(t, Queued, r.run(laptop, "job-new").State)
}

func TestFiles(t *testing.T) {
	r := newRig(t, time.Second, eternal)
	laptop, desk := r.queue("laptop"), r.queue("desk")
	large := bytes.Repeat([]byte("0123456789"), 100_000)
	for _, content := range [][]byte{{}, large, []byte("small")} {
		require.NoError(t, laptop.PutObject(r.ctx(), "run-1", bytes.NewReader(content)))
		var got bytes.Buffer
		require.NoError(t, desk.Object(r.ctx(), "run-1", &got, int64(len(content))))
		assert.True(t, bytes.Equal(content, got.Bytes()))
	}
	require.ErrorIs(t, desk.Object(r.ctx(), "run-1", &bytes.Buffer{}, 4), core.ErrInvalid, "too large")
	require.NoError(t, desk.objects.Delete(r.ctx(), "run-1"))
	require.ErrorIs(t, laptop.Object(r.ctx(), "run-1", &bytes.Buffer{}, 100), core.ErrNotFound)
	require.ErrorIs(t, laptop.PutObject(r.ctx(), "../x", nil), core.ErrInvalid)
	broken := errors.New("broken")
	require.ErrorIs(t, laptop.PutObject(r.ctx(), "run-2", readerOf(func([]byte) (int, error) { return 0, broken })), broken)
	require.ErrorIs(t, laptop.Object(r.ctx(), "run-2", &bytes.Buffer{}, 100), core.ErrNotFound, "no partial file")
	_, err := laptop.objects.AddLink(r.ctx(), "link", must(laptop.objects.PutBytes(r.ctx(), "real", large)))
	require.NoError(t, err)
	require.ErrorIs(t, laptop.Object(r.ctx(), "link", &bytes.Buffer{}, 1e7), core.ErrInvalid)
}

type readerOf func([]byte) (int, error)

func (f readerOf) Read(b []byte) (int, error) { return f(b) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
