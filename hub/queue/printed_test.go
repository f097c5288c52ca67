package queue

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
)

func TestTheOutputOfARunningJobIsShown(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100*time.Millisecond, 500*time.Millisecond)
	asker, worker := r.queue("desk"), r.queue("box")
	r.put(asker, "job-1", 0)
	lease, _ := r.next(worker)
	require.Equal(t, 1, lease.Attempt)
	require.NoError(t, worker.Print(r.ctx(), "job-1", 1, 0, []byte("before anybody looks\n")))

	type piece struct {
		offset int64
		text   string
	}
	pieces := make(chan piece)
	ctx, stop := context.WithCancel(r.ctx())
	over := make(chan error, 1)
	go func() {
		over <- asker.Printed(ctx, "job-1", 1, func(offset int64, text []byte) { pieces <- piece{offset, string(text)} })
	}()
	next := func() piece {
		select {
		case p := <-pieces:
			return p
		case err := <-over:
			require.NoError(t, err)
		case <-time.After(patience):
			require.Fail(t, "nothing was printed")
		}
		return piece{}
	}
	assert.Equal(t, piece{0, "before anybody looks\n"}, next())
	for _, strange := range []nats.Header{nil, {offsetHeader: {"-1"}}, {offsetHeader: {"much"}}} {
		_, err := asker.conn.JetStream().PublishMsg(r.ctx(), &nats.Msg{Subject: asker.logOf("job-1", 1), Header: strange, Data: []byte("x")})
		require.NoError(t, err)
	}
	require.NoError(t, worker.Print(r.ctx(), "job-1", 2, 0, []byte("of another attempt")))
	require.NoError(t, worker.Print(r.ctx(), "job-1", 1, 21, []byte("and after")))
	assert.Equal(t, piece{21, "and after"}, next(), "unreadable pieces and other attempts are skipped")
	require.ErrorContains(t, worker.Print(r.ctx(), "job-1", 1, 30, []byte(strings.Repeat("x", MaxPiece+1))), "the hub accepts 65536")

	stop()
	assert.ErrorIs(t, r.ends(over), context.Canceled)
	go func() { over <- asker.Printed(r.ctx(), "job-1", 1, func(int64, []byte) {}) }()
	r.stop()
	assert.ErrorIs(t, r.ends(over), core.ErrUnavailable)
}
