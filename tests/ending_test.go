package tests

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/effort"
)

// soon is the bound, on a machine that stands still for seconds, for an end that should take about 3 s.
const soon = 25 * time.Second

// endsSoon waits for the end of a program.
func endsSoon(t testing.TB, cmd *exec.Cmd) error {
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(soon):
		assert.NoError(t, cmd.Process.Kill())
		<-ended
		require.Failf(t, "it did not end", "%v after %v", cmd.Args, soon)
		return nil
	}
}

func TestAServerWithUnreadAnswersEndsSoon(t *testing.T) {
	t.Parallel()
	tests := map[string]func(server *exec.Cmd, in io.Closer) error{
		"after the end of its input": func(_ *exec.Cmd, in io.Closer) error { return in.Close() },
		"after SIGTERM":              func(server *exec.Cmd, _ io.Closer) error { return server.Process.Signal(syscall.SIGTERM) },
		"after SIGINT":               func(server *exec.Cmd, _ io.Closer) error { return server.Process.Signal(os.Interrupt) },
	}
	for name, end := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newSealed(t).command("serve")
			in, err := server.StdinPipe()
			require.NoError(t, err)
			out, err := server.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, server.Start())
			send := func(message string) {
				_, err := io.WriteString(in, message+"\n")
				require.NoError(t, err)
			}
			send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"deaf","version":"1"}}}`)
			send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"flame_push","arguments":{"goal":"left behind"}}}`)
			answers := bufio.NewScanner(out)
			for range 2 {
				require.True(t, answers.Scan())
			}
			frame := regexp.MustCompile(`Started (frame-\w{8})`).FindStringSubmatch(answers.Text())
			require.NotNil(t, frame, answers.Text())
			for id := range 500 {
				send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, id+10)) // some 20 KB each
			}
			require.NoError(t, end(server, in))
			assert.NoError(t, endsSoon(t, server), "that is a good end")

			taken := exec.Command(server.Path, "activate", frame[1], "--session", "another")
			taken.Dir, taken.Env = server.Dir, server.Env
			said, err := taken.CombinedOutput()
			assert.NoError(t, err, "its session has ended, so that others may take its frame: %s", said)
		})
	}
}

// full returns the write end of a full pipe without a reader.
func full(t *testing.T) *os.File {
	nobody, end, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _ = nobody.Close(); _ = end.Close() })
	for refused := 0; refused < 3; refused++ { // on a busy machine a deadline may pass before the first try
		require.NoError(t, end.SetWriteDeadline(time.Now().Add(100*time.Millisecond)))
		if _, err = end.Write([]byte{'x'}); err == nil {
			refused = -1
			continue
		}
		require.True(t, errors.Is(err, os.ErrDeadlineExceeded), err)
	}
	return end
}

func TestASignalEndsAStuckCommand(t *testing.T) {
	t.Parallel()
	effort.Heavy(t)
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		for _, command := range []string{"config", "tree", "events --json", "call flame_get_state"} {
			t.Run(fmt.Sprintf("%s, %v", command, signal), func(t *testing.T) {
				t.Parallel()
				cmd := newSealed(t).command(strings.Fields(command)...)
				push := exec.Command(cmd.Path, "push", "Something to show")
				push.Dir, push.Env = cmd.Dir, cmd.Env
				require.NoError(t, push.Run())
				// Warnings come before the output.
				cmd.Env = append(cmd.Env, "FLAME_TOKEN_BUDGET_TOTAL=many")
				stderr, err := cmd.StderrPipe()
				require.NoError(t, err)
				cmd.Stdout = full(t)
				require.NoError(t, cmd.Start())
				require.True(t, bufio.NewScanner(stderr).Scan())
				require.NoError(t, cmd.Process.Signal(signal))
				var exit *exec.ExitError
				require.ErrorAs(t, endsSoon(t, cmd), &exit)
				assert.Equal(t, 1, exit.ExitCode())
			})
		}
	}
}
