package queue

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
)

func TestAJobFromItsAskerToItsWorkerAndBack(t *testing.T) {
	r := newRig(t, time.Second, eternal)
	laptop, desk := r.queue("laptop"), r.queue("desk")
	r.put(laptop, "job-1", 0)
	r.put(laptop, "job-1", 0)
	require.NoError(t, desk.Submit(r.ctx(), Job{ID: "job-1", Queue: "other", Body: json.RawMessage(`{}`)}), "the id decides")
	assert.Equal(t, 1, r.left(laptop))
	runs, done := r.follow(laptop, "job-1")
	assert.Equal(t, "laptop", r.becomes(runs, Queued).Asker)

	lease, job := r.next(desk)
	assert.Equal(t, Job{ID: "job-1", Queue: "gpu", Asker: "laptop", Body: json.RawMessage(`{"task":"job-1"}`)}, job)
	desk = r.queue("desk") // another connection
	o, err := desk.SendHeartbeat(r.ctx(), &lease, json.RawMessage(`{"turns":1}`))
	require.NoError(t, err)
	assert.Zero(t, o)
	run := r.becomes(runs, Running)
	for run.Progress == nil {
		run = r.becomes(runs, Running)
	}
	assert.Equal(t, []any{"desk", 1, `{"turns":1}`}, []any{run.Worker, run.Attempt, string(run.Progress)})
	r.put(laptop, "job-1", 0)
	require.NoError(t, desk.Finish(r.ctx(), &lease, json.RawMessage(`{"ok":true}`)))
	require.NoError(t, desk.Finish(r.ctx(), &lease, json.RawMessage(`{"ok":true}`)), "again, as if the answer had been lost")
	run = r.becomes(runs, Ended)
	assert.Equal(t, []string{`{"ok":true}`, `{"turns":1}`}, []string{string(run.Outcome), string(run.Progress)})
	require.NoError(t, r.ends(done))
	r.put(laptop, "job-1", 0)
	assert.Zero(t, r.left(laptop), "a job that has ended is not run again")
	runs, done = r.follow(laptop, "job-1")
	r.becomes(runs, Ended)
	require.NoError(t, r.ends(done))
}

func TestAJobThatIsCancelled(t *testing.T) {
	r := newRig(t, time.Second, eternal)
	laptop, desk := r.queue("laptop"), r.queue("desk")
	require.ErrorIs(t, laptop.Order(r.ctx(), "job-1", Command{Cancel: true}), core.ErrNotFound)
	r.put(laptop, "job-1", 0)
	require.NoError(t, laptop.Order(r.ctx(), "job-1", Command{Reason: "hurry"}), "the job is still waiting")
	require.Equal(t, Queued, r.run(laptop, "job-1").State)
	require.NoError(t, laptop.Order(r.ctx(), "job-1", Command{Cancel: true, Reason: "no longer needed"}))
	run := r.run(laptop, "job-1")
	assert.Equal(t, []any{Ended, "no longer needed", 0}, []any{run.State, run.Reason, run.Attempt})
	assert.Zero(t, r.left(laptop))

	r.put(laptop, "job-2", 0)
	lease, job := r.next(desk)
	require.Equal(t, "job-2", job.ID)
	require.NoError(t, laptop.Order(r.ctx(), "job-2", Command{Cancel: true, Reason: "too dear"}))
	assert.Equal(t, Running, r.run(laptop, "job-2").State, "its worker ends it")
	o, err := desk.SendHeartbeat(r.ctx(), &lease, nil)
	require.NoError(t, err)
	assert.Equal(t, Command{Cancel: true, Reason: "too dear"}, o)
	require.NoError(t, desk.Finish(r.ctx(), &lease, json.RawMessage(`{"cancelled":true}`)))
	assert.Zero(t, r.left(laptop))
}

func TestInvalidJobsAreNotPut(t *testing.T) {
	r := newRig(t, time.Second, eternal)
	q := r.queue("laptop")
	body := json.RawMessage(`{}`)
	for name, tt := range map[string]struct {
		job  Job
		says string
	}{
		"an id that is a subject":   {Job{ID: "a.>", Queue: "gpu", Body: body}, "id of a job"},
		"no id":                     {Job{Queue: "gpu", Body: body}, "id of a job"},
		"a queue with a star":       {Job{ID: "a", Queue: "*", Body: body}, "name of a queue"},
		"a queue with a long name":  {Job{ID: "a", Queue: strings.Repeat("q", 65), Body: body}, "name of a queue"},
		"retries without end":       {Job{ID: "a", Queue: "gpu", Retries: 1000, Body: body}, "cannot have 1000 retries"},
		"a body that is no JSON":    {Job{ID: "a", Queue: "gpu", Body: json.RawMessage(`{`)}, "is not JSON"},
		"a body that has a million": {Job{ID: "a", Queue: "gpu", Body: json.RawMessage(`"` + strings.Repeat("x", 1e6) + `"`)}, "has 976 KB, and the hub accepts 900"},
	} {
		t.Run(name, func(t *testing.T) {
			err := q.Submit(r.ctx(), tt.job)
			require.ErrorIs(t, err, core.ErrInvalid)
			assert.Contains(t, err.Error(), tt.says)
		})
	}
	require.ErrorIs(t, q.Follow(r.ctx(), "unknown", func(JobRecord) error { return nil }), core.ErrNotFound)
	assert.Zero(t, r.left(q))
	_, _, err := q.Claim(r.ctx(), "a.*")
	require.ErrorIs(t, err, core.ErrInvalid)
}

// Nobody else serves the queue.
func TestTheAskerNoticesThatAWorkerIsGone(t *testing.T) {
	for name, tt := range map[string]struct {
		retries int
		cancel  bool
		state   State
		says    string
	}{
		"it is lost":                     {state: Lost, says: "worker lost: desk"},
		"or cancelled, if that is asked": {retries: 1, cancel: true, state: Ended, says: "enough"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, 50*time.Millisecond, 200*time.Millisecond)
			laptop, desk := r.queue("laptop"), r.queue("desk")
			r.put(laptop, "job-1", tt.retries)
			lease, _ := r.next(desk)
			_, err := desk.SendHeartbeat(r.ctx(), &lease, json.RawMessage(`{"turns":3}`))
			require.NoError(t, err)
			if tt.cancel {
				require.NoError(t, laptop.Order(r.ctx(), "job-1", Command{Cancel: true, Reason: "enough"}))
			}
			runs, done := r.follow(laptop, "job-1")
			run := r.becomes(runs, tt.state)
			assert.Contains(t, run.Reason, tt.says)
			assert.Equal(t, []string{"desk", `{"turns":3}`}, []string{run.Worker, string(run.Progress)})
			require.NoError(t, r.ends(done))
			r.emptied(laptop)
			_, err = desk.SendHeartbeat(r.ctx(), &lease, nil)
			require.ErrorIs(t, err, ErrFenced)
			require.ErrorIs(t, desk.Finish(r.ctx(), &lease, json.RawMessage(`{}`)), ErrFenced)
			assert.Equal(t, tt.state, r.run(laptop, "job-1").State)
		})
	}
}

// After a connection is made others have time to come back, unless they have.
func TestAWorkerThatReconnectedAndEndedIsNoticedAtOnce(t *testing.T) {
	r := newRig(t, 50*time.Millisecond, 200*time.Millisecond)
	laptop, desk := r.queue("laptop"), r.queue("desk")
	r.put(laptop, "job-1", 0)
	r.put(laptop, "job-2", 0)
	for range 2 {
		_, _ = r.next(desk)
	}
	other := r.queue("laptop")
	laptop.opened, other.opened = time.Now().Add(patience), time.Now().Add(patience)
	silent, _ := r.follow(other, "job-2")
	r.becomes(silent, Running)
	runs, done := r.follow(laptop, "job-1")
	run := r.becomes(runs, Running)
	lease := Lease{JobRecord: run}
	_, err := desk.SendHeartbeat(r.ctx(), &lease, nil)
	require.NoError(t, err)
	r.becomes(runs, Lost)
	require.NoError(t, r.ends(done))
	assert.Equal(t, Running, r.run(laptop, "job-2").State, "its worker may not be back yet")
}
