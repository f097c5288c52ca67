package tests

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
)

// answers listens and answers each connection.
func answers(t *testing.T, answer func(net.Conn)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				answer(conn)
			}()
		}
	}()
	return l.Addr().String()
}

// saysInfo answers like a NATS server that only introduces itself.
func saysInfo(info string) func(net.Conn) {
	return func(conn net.Conn) {
		fmt.Fprintf(conn, "INFO %s\r\n", info)
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			if lines.Text() == "PING" {
				fmt.Fprint(conn, "PONG\r\n")
			}
		}
	}
}

func TestOtherServersAreNotJoined(t *testing.T) {
	t.Parallel()
	desk := machines(t, "desk")[0]
	for name, tt := range map[string]struct {
		answer func(net.Conn)
		says   string
	}{
		"an old server":      {saysInfo(`{"server_id":"x","version":"2.9.0","headers":true,"jetstream":true,"max_payload":1048576}`), "flame needs 2.12 or newer"},
		"an unknown server":  {saysInfo(`{"server_id":"x","version":"\u001b[2Jnew","max_payload":1048576}`), "flame needs 2.12 or newer"},
		"another protocol":   {func(c net.Conn) { fmt.Fprint(c, "HTTP/1.1 400 Bad Request\r\n\r\n") }, "cannot be used"},
		"a line without end": {func(c net.Conn) { fmt.Fprint(c, "INFO "+strings.Repeat("x", 1<<16)) }, "cannot be used"},
		"no answer":          {func(net.Conn) {}, "cannot be used"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := desk.fails("join", "nats://me:aSecret@"+answers(t, tt.answer), "--project", "shop")
			assert.Contains(t, said, tt.says)
			assert.NotContains(t, said, "aSecret")
			assert.NotContains(t, said, "\x1b")
		})
	}
	t.Cleanup(func() {
		assert.Contains(t, desk.flame("doctor"), "has joined no hub", "nothing is kept of what failed")
	})
}

// TestGarbageOnAHub has a member of the project write nonsense wherever it can.
func TestGarbageOnAHub(t *testing.T) {
	t.Parallel()
	desk, box, _ := two(t)
	box.serve()
	box.worker() // this creates everything
	frame := frameID.FindString(desk.flame("push", "Mend the login"))
	box.shows("tree", "Mend the login")
	conn := box.connect()
	project := conn.Link().Project
	garbage := [][]byte{
		{}, []byte("{"), []byte("null"), []byte("[]"), []byte(`"x"`), []byte(strings.Repeat("[", 900_000)), []byte(strings.Repeat("x", 7<<20)), {0, 0xff, 0xfe},
		[]byte(`{"v":1,"id":"` + frame + `","work":{"machine":"../x","goal":"\u001b[2J"}}`), []byte(`{"v":99999}`), []byte(`{"job":"x","state":"running"}`),
	}
	var refused int
	for _, bucket := range []string{"tree", "claims", "machines", "runs", "orders"} {
		for i, value := range garbage {
			keys := []string{frame, fmt.Sprintf("frame-odd%05d", i), fmt.Sprintf("x%d.y", i), conn.Link().Machine}
			if len(value) > 1000 {
				keys = keys[:1] // large ones take long
			}
			for _, key := range keys {
				if _, err := conn.JetStream().Publish(t.Context(), "$KV.flame_"+project+"_"+bucket+"."+key, value); err != nil {
					refused++
				}
			}
		}
	}
	for i, value := range garbage {
		if len(value) > 1<<20 {
			continue
		}
		for _, subject := range []string{
			fmt.Sprintf("flame.%s.job.gpu.agent-odd%05d", project, i), fmt.Sprintf("flame.%s.job.gpu.a.b.%d", project, i),
			fmt.Sprintf("$O.flame_%s_files.M.x%d", project, i), fmt.Sprintf("$O.flame_%s_files.C.x%d", project, i),
		} {
			if _, err := conn.JetStream().Publish(t.Context(), subject, value); err != nil {
				refused++
			}
		}
	}
	assert.Zero(t, refused, "a member may write all that")
	desk.flame("push", "After the garbage")
	box.shows("tree", "Mend the login", "After the garbage")
	box.flame("push", "Of the box")
	desk.shows("tree", "Of the box")
	for _, m := range []machine{desk, box} {
		assert.NotContains(t, m.flame("tree")+m.doctor(), "\x1b")
	}
	run := desk.until(desk.away("make the file"), ended)
	assert.Equal(t, core.AgentCompleted, run.State, "%+v", run.Outcome)
}

// served has the machine run a server with these lines in its configuration, at a fixed address.
func (m machine) served(address, lines string) *exec.Cmd {
	m.Helper()
	file := filepath.Join(m.home, "nats.conf")
	text := fmt.Sprintf("listen: %q\n%s\n", address, lines)
	require.NoError(m, os.WriteFile(file, []byte(text), 0o600))
	cmd := exec.Command(m.server, "-c", file)
	require.NoError(m, cmd.Start())
	m.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	require.Eventually(m, func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}, hubPatience, 20*time.Millisecond)
	return cmd
}

// The hub's disk is full, and then has room again.
func TestAHubWithoutRoom(t *testing.T) {
	t.Parallel()
	all := machines(t, "desk", "couch")
	desk, couch := all[0], all[1]
	address := fmt.Sprintf("127.0.0.1:%d", freePorts(t, 1)[0])
	store := fmt.Sprintf("jetstream { store_dir: %q, sync_interval: always, ", filepath.Join(desk.home, "store"))
	server := desk.served(address, store+"max_file_store: 300KB }")
	for _, m := range all {
		m.flame("join", "nats://"+address, "--project", "shop")
		m.serve()
	}
	desk.flame("push", "Small")
	couch.shows("tree", "Small")
	random, noise := rand.NewChaCha8([32]byte{}), make([]byte, 75_000) // incompressible
	for i := range 8 {
		_, _ = random.Read(noise) // never fails
		desk.flame("push", fmt.Sprint("Large ", i))
		desk.flame("decision", base64.StdEncoding.EncodeToString(noise))
	}
	desk.shows("doctor", "is its disk full, or the space that its server may use?")
	desk.flame("push", "Works on")
	assert.Contains(t, desk.flame("tree"), "Works on")

	require.NoError(t, server.Process.Signal(syscall.SIGTERM))
	_, err := server.Process.Wait()
	require.NoError(t, err)
	desk.served(address, store+"max_file_store: 1GB }")
	desk.flame("push", "Last")
	couch.shows("tree", "Large 7", "Works on", "Last")
}

// The hub's limit is below the size of flame's messages.
func TestAHubForSmallMessages(t *testing.T) {
	t.Parallel()
	all := machines(t, "desk", "box")
	desk, box := all[0].withClaude(), all[1].withClaude()
	address := fmt.Sprintf("127.0.0.1:%d", freePorts(t, 1)[0])
	desk.served(address, fmt.Sprintf("max_payload: 16KB\njetstream { store_dir: %q }", filepath.Join(desk.home, "store")))
	for _, m := range []machine{desk, box} {
		m.flame("join", "nats://"+address, "--project", "shop")
		m.serve()
	}
	desk.flame("push", "Large")
	desk.flame("decision", strings.Repeat("so it is. ", 5_000))
	desk.shows("doctor", "max_payload of the server")
	desk.flame("push", "Small")
	box.shows("tree", "Small")
	box.worker()
	run := desk.until(desk.away(strings.Repeat("make the file. ", 3_000)), ended)
	assert.Equal(t, core.AgentError, run.State)
	assert.Contains(t, run.Outcome.Reason, "than the hub's server accepts")
	run = desk.until(desk.away("make the file"), ended)
	assert.Equal(t, core.AgentCompleted, run.State, "%+v", run.Outcome)
}

// The refusals contain the reason.
func TestAWorkerRefusesForbiddenWork(t *testing.T) {
	t.Parallel()
	desk, box, _ := two(t)
	worker := box.worker("--repos", "github.com/me/*")
	run := desk.until(desk.away("make the file"), ended)
	assert.Equal(t, core.AgentError, run.State)
	assert.Contains(t, run.Outcome.Error, "--repos")
	assert.Empty(t, run.Changes)
	require.NoError(t, worker.Process.Kill())
}

// The two machines have the same key and name, as after a copy of a home.
func TestTwoMachinesWithOneIdentity(t *testing.T) {
	t.Parallel()
	all := machines(t, "desk", "copy")
	desk, twin := all[0], all[1]
	desk.hub("--listen", "127.0.0.1:0")
	desk.flame("join")
	twin.flame("push", "Of the copy")
	link, err := os.ReadFile(filepath.Join(dataOf(t, desk), "hub.json"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dataOf(t, twin), "hub.json"), link, 0o600))
	desk.serve()
	desk.flame("push", "Of the desk")
	desk.shows("doctor", "is connected")
	twin.serve()
	require.Eventually(t, func() bool {
		return strings.Contains(desk.doctor()+twin.doctor(), "was the data folder copied?")
	}, hubPatience, 200*time.Millisecond)

	invitation := desk.invite()
	twin.flame("leave")
	twin.flame("join", invitation, "--new-id")
	twin.shows("tree", "Of the desk", "Of the copy")
	desk.shows("tree", "Of the copy")
	for _, m := range all {
		require.Eventually(t, func() bool { return !strings.Contains(m.doctor(), "was the data folder copied?") }, hubPatience, 200*time.Millisecond)
	}
}
