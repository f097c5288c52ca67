package server

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/flame-hub/client"
	"flame/flame-hub/queue"
	"flame/hub"
)

// filling returns half a megabyte that cannot be compressed.
func filling() string {
	source := rand.NewChaCha8([32]byte{1})
	text := make([]byte, 512<<10)
	_, _ = source.Read(text) // never fails
	return string(text)
}

func TestAFullProjectDoesNotAffectOthers(t *testing.T) {
	g, lines := newRig(t, "blue", "red")
	_, err := g.folder.edit(g.ctx, func(l *ledger) error { l.Space = 2 << 20; return nil })
	require.NoError(t, err)
	g.restart()
	g.serve()
	blue, red := g.join(lines[0], "desk"), g.join(lines[1], "couch")
	open := func(link hub.Link) (*client.Conn, *queue.Queue) {
		conn, err := client.Connect(g.ctx, link)
		require.NoError(t, err)
		t.Cleanup(conn.Close)
		q, err := queue.Open(g.ctx, conn)
		require.NoError(t, err)
		return conn, q
	}
	_, full := open(blue)
	for i := 0; err == nil; i++ {
		require.Less(t, i, 10, "the project never becomes full")
		err = full.PutObject(g.ctx, strings.Repeat("x", i+1), strings.NewReader(filling()))
	}
	require.ErrorIs(t, err, core.ErrUnavailable)
	require.ErrorContains(t, err, "project blue has no room left on the hub")
	assert.Contains(t, core.HintOf(err), "`flame hub --space SIZE`")

	conn, q := open(red)
	require.NoError(t, q.PutObject(g.ctx, "changes", strings.NewReader(filling())), "the other project still works")
	machines, err := conn.Machines(g.ctx)
	require.NoError(t, err)
	require.NoError(t, machines.Tell(g.ctx, hub.Machine{ID: red.Machine, Version: "1"}))

	files, err := g.connect(blue).ObjectStore(g.ctx, "flame_blue_files")
	require.NoError(t, err)
	require.NoError(t, files.Delete(g.ctx, "x"))
	require.NoError(t, full.PutObject(g.ctx, "again", strings.NewReader("little")), "removing data makes room")
	green := g.invite("green")
	g.reload()
	_, _ = open(g.join(green, "sofa")) // one that is added is taken, whatever the others have
	_, err = g.folder.edit(g.ctx, func(l *ledger) error { l.Space = DefaultSpace; return nil })
	require.NoError(t, err)
	g.restart()
	_, full = open(blue)
	require.NoError(t, full.PutObject(g.ctx, "more", strings.NewReader(filling())), "more room")
	_, err = g.folder.edit(g.ctx, func(l *ledger) error { l.Space = 1 << 20; return nil })
	require.NoError(t, err)
	g.restart()
	_, full = open(blue)
	var got strings.Builder
	require.NoError(t, full.Object(g.ctx, "more", &got, 1<<20), "existing data stays if the limit shrinks")
	require.ErrorContains(t, full.PutObject(g.ctx, "most", strings.NewReader(filling())), "no room left")
}

func TestURLsOfServers(t *testing.T) {
	for url, right := range map[string]bool{
		"nats://h": true, "tls://h:4222,tls://g:65535": true, "nats://h:99999": false, "nats://h:4222,nats://h:65536": false, "http://h": false,
	} {
		assert.Equal(t, right, CheckURL(url) == nil, url)
	}
}
