package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/hub"
)

// alone returns the path of a flame that has no flame-hub beside it.
func alone(t *testing.T) string {
	program := filepath.Join(t.TempDir(), "flame")
	require.NoError(t, os.Link(flameBinary(t), program))
	return program
}

// A flame-hub that stands in for the real one says what it was started with.
const stubHub = `#!/bin/sh
case "$1" in call) read -r line; echo "$ANSWER"; exit;; esac
echo "args: $*"; read -r line; echo "stdin: $line"
trap 'echo "got TERM" >&2; exit 7' TERM
echo ready >&2
while :; do sleep 0.05; done
`

func TestFlameBecomesFlameHub(t *testing.T) {
	t.Parallel()
	s := newSealed(t)
	s.write(filepath.Join(s.bin, hub.Program), stubHub)
	cmd := s.command("--json", "hub", "invite", "--expires", "1d")
	cmd.Path = alone(t)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out := &heard{}
	cmd.Stdout = out
	go func() { _, _ = in.Write([]byte("a line\n")) }()
	p, _ := begin(t, cmd, syscall.SIGKILL, "ready")
	assert.Equal(t, "args: hub --json invite --expires 1d\nstdin: a line\n", out.String())
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	<-p.ended
	assert.Equal(t, 7, cmd.ProcessState.ExitCode(), "it is the same process")
	assert.Contains(t, p.said.String(), "got TERM")
}

func TestAMissingFlameHubIsNamed(t *testing.T) {
	t.Parallel()
	s := newSealed(t)
	program := alone(t)
	run := func(args ...string) (said string, code int) {
		cmd := s.command(args...)
		cmd.Path = program
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	for _, args := range [][]string{{"hub"}, {"join"}, {"leave", "--json"}, {"worker", "--queue", "x"}} {
		said, code := run(args...)
		assert.Equal(t, 1, code, "%v", args)
		assert.Regexp(t, "^flame: flame-hub is not installed: .*\nhint: every package of flame contains it; .*`GOBIN="+
			"~/.local/bin go install ./flame-hub`", said)
	}
	said, code := run("help", "hub")
	assert.Zero(t, code)
	assert.Contains(t, said, "Run the server where several machines share their trees")

	goal := frameID.FindString(s.flame("", "push", "Here"))
	require.NotEmpty(t, goal)
	link := hub.Link{URL: "nats://127.0.0.1:1", Project: "shop", Machine: "desk-1"}
	require.NoError(t, hub.Save(s.data(), link))
	said, code = run("doctor")
	assert.Zero(t, code)
	assert.Regexp(t, "the hub: flame-hub is not installed: (?s:.*)go install ./flame-hub", said)
	s.write(filepath.Join(s.bin, "claude"), stubClaude)
	said, _ = run("agents", "spawn", "builder", "look", "--on", "gpu")
	assert.Contains(t, said, "flame-hub is not installed")
	_, code = run("push", "Also here")
	assert.Zero(t, code, "the rest works")
}

// data returns the only data folder.
func (s *sealed) data() string {
	found, err := filepath.Glob(filepath.Join(s.home, ".local/share/flame/*/flame.db"))
	require.NoError(s.t, err)
	require.Len(s.t, found, 1)
	return filepath.Dir(found[0])
}

func TestAnotherVersionOfFlameHubIsNamed(t *testing.T) {
	t.Parallel()
	s := newSealed(t)
	s.write(filepath.Join(s.bin, hub.Program), stubHub)
	s.flame("", "push", "Here")
	require.NoError(t, hub.Save(s.data(), hub.Link{URL: "nats://127.0.0.1:1", Project: "shop", Machine: "desk-1"}))
	const wrong = `{"version": "v0.0.1", "kind": "invalid", "error": "it is wrong", "hint": "do better"}`
	for answer, says := range map[string]string{
		`{"version": "v0.0.1", "server": "2.15.2"}`: "is version v0.0.1, and flame ",
		wrong:      `it is wrong \(flame-hub is version v0.0.1, and flame .*\)(?s:.*)do better`,
		"nonsense": "has ended without an answer",
	} {
		cmd := s.command("doctor")
		cmd.Path = alone(t)
		cmd.Env = append(cmd.Env, "ANSWER="+answer)
		said, _ := cmd.CombinedOutput()
		assert.Regexp(t, says, string(said))
	}
}

// A flame-hub that dies is started again while its server lives, and ends with it.
func TestAKilledFlameHubComesBack(t *testing.T) {
	t.Parallel()
	all := machines(t, "desk", "couch")
	desk, couch := all[0], all[1]
	desk.hub("--listen", "127.0.0.1:0")
	desk.flame("join")
	couch.flame("join", desk.invite())
	couch.serve()
	server := desk.command("serve")
	stdin, err := server.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	defer stdin.Close()
	desk.shows("doctor", "is connected")
	first := 0 // a kill of process 0 would end these tests
	require.Eventually(t, func() bool { first = desk.keeper(); return first != 0 }, hubPatience, 20*time.Millisecond)
	require.NoError(t, syscall.Kill(first, syscall.SIGKILL))
	require.Eventually(t, func() bool {
		status, err := hub.LoadStatus(dataOf(t, desk))
		return err == nil && status.PID != first && status.Since > 0
	}, hubPatience, 20*time.Millisecond)
	again := desk.keeper()
	desk.serve() // a second server starts none
	desk.flame("push", "After the death")
	couch.shows("tree", "After the death")

	taken := planned.FindString(desk.flame("plan", "To be taken over"))
	couch.shows("tree", "To be taken over")
	lonely := couch.command("activate", taken)
	lonely.Path = alone(t)
	said, err := lonely.CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(said), "not connected to the hub now")
	couch.flame("activate", taken)
	require.NoError(t, server.Process.Kill())
	_ = server.Wait()
	require.Eventually(t, func() bool { return desk.keeper() != again }, hubPatience, 20*time.Millisecond, "it ends with its server")
	desk.shows("doctor", "is connected")
}

// keeper returns the process that keeps the machine's project connected.
func (m machine) keeper() int {
	found := regexp.MustCompile(`process (\d+) is connected`).FindStringSubmatch(m.doctor())
	if found == nil {
		return 0
	}
	pid, err := strconv.Atoi(found[1])
	require.NoError(m, err)
	return pid
}
