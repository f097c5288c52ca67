package web_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/render/board"
	"flame/tests/projecttest"
	"flame/web"
)

// counted counts how often projects are opened and closed, which may take until go is closed.
type counted struct {
	opened, closed atomic.Int32
	goOn           chan struct{}
}

func (c *counted) options(lingers time.Duration) func(*web.Options) {
	return func(o *web.Options) {
		open := o.Open
		o.IdleTimeout = lingers
		o.Open = func(ctx context.Context, name string) (board.Source, error) {
			if name == "slow-1" {
				c.opened.Add(1)
				<-c.goOn
				return board.Source{}, core.Unavailablef(nil, "it is on a disk that sleeps")
			}
			opened, err := open(ctx, name)
			if err == nil {
				c.opened.Add(1)
				opened.Close = func() error { c.closed.Add(1); return nil }
			}
			return opened, err
		}
	}
}

// follow opens a stream of the project, until leave is called.
func (s site) follow() (stream *bufio.Reader, leave func()) {
	ctx, leave := context.WithTimeout(context.Background(), time.Minute)
	s.T.Cleanup(leave)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+"/api/thing-1/live", nil)
	require.NoError(s.T, err)
	req.Header.Set("Authorization", "Bearer "+token)
	got, err := httpClient.Do(req)
	require.NoError(s.T, err)
	s.T.Cleanup(func() { got.Body.Close() })
	return bufio.NewReader(got.Body), leave
}

func TestTheServerClosesAnUnusedProject(t *testing.T) {
	c := &counted{}
	s := serve(t, c.options(time.Millisecond))
	s.Push(projecttest.Host("s"), "work")
	stream, leave := s.follow()
	_, err := stream.ReadString('\n')
	require.NoError(t, err)
	for range 3 {
		status, _ := s.send(http.MethodGet, "/api/thing-1/search?q=work", "", nil)
		assert.Equal(t, 200, status)
	}
	assert.Equal(t, []int32{1, 0}, []int32{c.opened.Load(), c.closed.Load()}, "a page looks at it")
	leave()
	require.Eventually(t, func() bool { return c.closed.Load() == 1 }, time.Minute, time.Millisecond)
	status, _ := s.send(http.MethodGet, "/api/thing-1/search?q=work", "", nil)
	assert.Equal(t, 200, status, "it is opened again")
	assert.EqualValues(t, 2, c.opened.Load())
}

func TestASlowProjectIsOpenedOnceAndDelaysNoOtherProject(t *testing.T) {
	c := &counted{goOn: make(chan struct{})}
	s := serve(t, c.options(0))
	var asking sync.WaitGroup
	for range 5 {
		asking.Go(func() {
			status, answer := s.send(http.MethodGet, "/api/slow-1/search?q=x", "", nil)
			assert.Equal(t, 503, status)
			assert.Contains(t, answer, "a disk that sleeps")
		})
	}
	require.Eventually(t, func() bool { return c.opened.Load() == 1 }, time.Minute, time.Millisecond)
	status, _ := s.send(http.MethodGet, "/api/thing-1/search?q=x", "", nil)
	assert.Equal(t, 200, status)
	close(c.goOn)
	asking.Wait()
	before := c.opened.Load()
	status, _ = s.send(http.MethodGet, "/api/slow-1/search?q=x", "", nil)
	assert.Equal(t, 503, status)
	assert.Equal(t, before+1, c.opened.Load(), "each later question tries again")
}

func TestStreamsAreLimited(t *testing.T) {
	s := serve(t)
	var leaves []func()
	for range 50 {
		stream, leave := s.follow()
		_, err := stream.ReadString('\n')
		require.NoError(t, err)
		leaves = append(leaves, leave)
	}
	status, answer := s.send(http.MethodGet, "/api/thing-1/live", "", nil)
	assert.Equal(t, 503, status)
	assert.Contains(t, answer, "close some of the pages")
	status, _ = s.send(http.MethodGet, "/api/thing-1/search?q=x", "", nil)
	assert.Equal(t, 200, status, "questions are answered")
	for _, leave := range leaves {
		leave()
	}
	require.Eventually(t, func() bool {
		stream, leave := s.follow()
		defer leave()
		line, _ := stream.ReadString('\n')
		return strings.Contains(line, `"board"`)
	}, time.Minute, 10*time.Millisecond)
}

func TestConnectionsAreLimited(t *testing.T) {
	s := serve(t)
	addr := strings.TrimPrefix(s.base, "http://")
	var all []net.Conn
	for range 500 {
		conn, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		all = append(all, conn)
	}
	more, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer more.Close()
	require.NoError(t, all[0].SetReadDeadline(time.Now().Add(time.Minute)))
	_, err = all[0].Read(make([]byte, 1))
	assert.ErrorIs(t, err, io.EOF, "the one that sent nothing for longest makes room")
	_, err = more.Write([]byte("GET /start.json HTTP/1.1\r\nHost: " + addr + "\r\n\r\n"))
	require.NoError(t, err)
	_, err = http.ReadResponse(bufio.NewReader(more), nil)
	require.NoError(t, err, "connections that send nothing do not keep the page away")
	for _, conn := range all {
		conn.Close()
	}
	require.Eventually(t, func() bool {
		got, err := httpClient.Get(s.base + "/start.json")
		if err == nil {
			got.Body.Close()
		}
		return err == nil
	}, time.Minute, 10*time.Millisecond)
}
