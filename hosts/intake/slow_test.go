package intake_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/hosts/intake"
	"flame/project"
)

// A slowDisk is a Store whose commits take a while, before or after they are on the disk.
type slowDisk struct {
	project.Store
	before, after time.Duration
}

func (s slowDisk) Update(ctx context.Context, f func(project.Tx) error) error {
	return s.slowly(ctx, s.Store.Update, f)
}

func (s slowDisk) Run(ctx context.Context, f func(project.Tx) error) error {
	return s.slowly(ctx, s.Store.Run, f)
}

func (s slowDisk) slowly(ctx context.Context, run func(context.Context, func(project.Tx) error) error, f func(project.Tx) error) error {
	slow := false
	// The transaction has its deadline behind it by then, as one whose COMMIT has begun.
	err := run(context.WithoutCancel(ctx), func(tx project.Tx) error {
		err := f(tx)
		if slow = err == nil; slow {
			time.Sleep(s.before)
		}
		return err
	})
	if slow {
		time.Sleep(s.after)
	}
	return err
}

func TestAnEventWhoseCommitOutlastsItsHostsPatienceIsKeptOnce(t *testing.T) {
	t.Parallel()
	const failure = `{"hook_event_name": "PostToolUseFailure", "session_id": "s", "tool_name": "Bash", "error": "status 1"}`
	const patience = time.Second
	tests := map[string]struct {
		disk   slowDisk
		queued intake.QueuedEvent
		late   bool // it is in the inbox, too
		within time.Duration
	}{
		"a commit that is in time":       {disk: slowDisk{after: patience / 2}, within: patience},
		"a commit that is slow to end":   {disk: slowDisk{after: 2 * patience}, within: 2 * patience},
		"a commit that is slow to begin": {disk: slowDisk{before: 2 * patience}, within: 2 * patience},
		"an event that can be told from others": {
			disk: slowDisk{after: 2 * patience}, queued: intake.QueuedEvent{Source: "plugin", N: 7}, late: true, within: 3 * patience / 2,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStation(t)
				s.handle("opencode", prompt("s", "m1", "Work"))
				s.patience = patience
				slow, p := s.Handler, *s.Project
				tt.disk.Store = p.Store
				p.Store, slow.Project = tt.disk, &p
				tt.queued.At, tt.queued.Dir, tt.queued.Event = s.Project.Now(), "/project", json.RawMessage(failure)
				begun := time.Now()
				_, late, err := slow.Handle(t.Context(), s.host("claude-code"), tt.queued)
				require.NoError(t, err)
				assert.Equal(t, tt.late, late)
				assert.LessOrEqual(t, time.Since(begun), tt.within)
				time.Sleep(time.Minute) // until the commit is over, whoever waits for it
				require.NoError(t, s.TakeIn(t.Context()))
				assert.Equal(t, 1, s.failures())
			})
		})
	}
}

func TestAnEventWhoseCommitDoesNotEndIsNotLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStation(t)
		s.handle("opencode", prompt("s", "m1", "Work"))
		s.patience = time.Second
		stuck, p := s.Handler, *s.Project
		p.Store, stuck.Project = slowDisk{Store: p.Store, before: time.Hour}, &p
		begun := time.Now()
		_, late, err := stuck.Handle(t.Context(), s.host("claude-code"), intake.QueuedEvent{
			At: s.Project.Now(), Dir: "/project", Event: json.RawMessage(`{"hook_event_name": "Stop", "session_id": "s"}`),
		})
		require.NoError(t, err)
		assert.True(t, late)
		assert.True(t, s.Inbox.HasLines())
		assert.Less(t, time.Since(begun), 4*time.Second, "before the host ends its hook")
		time.Sleep(2 * time.Hour)
	})
}
