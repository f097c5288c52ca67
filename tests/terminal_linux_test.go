package tests

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A terminal has a shell with job control.
type terminal struct {
	t      *testing.T
	master *os.File

	mu   sync.Mutex
	seen strings.Builder
	read int // of seen, by wait
}

// newTerminal starts a shell for a user.
func newTerminal(t *testing.T, f *fronted) *terminal {
	t.Helper()
	onLinux(t)
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	cmd := exec.Command(shell, "--norc", "--noprofile", "-i")
	cmd.Dir, cmd.Env = f.project, append(f.env, "PS1=$ ", "TERM=dumb")
	return inTerminal(t, cmd)
}

// inTerminal starts a command in a terminal that answers no queries.
func inTerminal(t *testing.T, cmd *exec.Cmd) *terminal {
	onLinux(t)
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	require.NoError(t, err)
	slave, err := os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	defer slave.Close()
	term := &terminal{t: t, master: os.NewFile(uintptr(fd), "terminal")}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // this hangs up
		_ = cmd.Wait()
		_ = term.master.Close()
	})
	go term.listen()
	return term
}

// all returns everything that was written to the terminal so far.
func (x *terminal) all() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.seen.String()
}

func (x *terminal) listen() {
	buffer := make([]byte, 4096)
	for {
		n, err := x.master.Read(buffer)
		if err != nil {
			return
		}
		x.mu.Lock()
		x.seen.Write(buffer[:n])
		x.mu.Unlock()
	}
}

func (x *terminal) enter(keys string) {
	_, err := x.master.WriteString(keys)
	require.NoError(x.t, err)
}

// wait waits until the terminal shows a match behind the previous one.
func (x *terminal) wait(pattern string) {
	shows := regexp.MustCompile(pattern)
	require.Eventually(x.t, func() bool { return x.shows(shows) }, soon, 5*time.Millisecond, "%s is not shown", pattern)
}

// shows reports whether the terminal shows a match, and moves behind it.
func (x *terminal) shows(what *regexp.Regexp) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	found := what.FindStringIndex(x.seen.String()[x.read:])
	if found != nil {
		x.read += found[1]
	}
	return found != nil
}

func TestATerminalIsTheProgramsOwn(t *testing.T) {
	t.Parallel()
	f := newFronted(t, `n=0
trap 'n=$((n+1))' INT; trap 'echo went on' CONT; trap 'echo resized' WINCH
sleep 60 & # it forks no more: what is stopped in between would keep its parent from stopping
echo begun
while [ $n = 0 ]; do wait; done
kill $!
sleep 0.3 # another signal would come now
exit $((40+n))`)
	x := newTerminal(t, f)
	x.enter("'" + flameBinary(t) + "' claude; echo status=$?\n")
	x.wait(`begun`)
	require.NoError(t, unix.IoctlSetWinsize(int(x.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 99}))
	x.wait(`resized`)
	for range 3 {
		x.enter("\x1a")
		x.wait(`Stopped`)
		x.enter("jobs\n")
		x.wait(`Stopped.* claude`)
		x.enter("fg\n")
		x.wait(`went on`)
	}
	x.enter("\x03")
	x.enter("echo status=$?\n")
	x.wait(`status=41`)
	assert.Empty(t, f.folders())
}

// drawsInPlace matches the codes that move the cursor to the top of the terminal and erase.
var drawsInPlace = regexp.MustCompile(`\x1b\[[HKJ]`)

func TestAFollowedTreeIsDrawnAgainWhenItChanges(t *testing.T) {
	t.Parallel()
	f := newFronted(t, "")
	push := func(goal string) {
		_, errs, code := f.run("push", goal)
		require.Zero(t, code, errs)
	}
	push("Fix the login")
	piped := f.command("tree", "--follow")
	out := new(heard)
	piped.Stdout = out
	require.NoError(t, piped.Start())
	t.Cleanup(func() { _ = piped.Process.Kill() })
	colours, plain := f.command("tree", "--follow"), f.command("tree", "--follow")
	colours.Env, plain.Env = append(f.env, "TERM=xterm"), append(f.env, "TERM=xterm", "NO_COLOR=1")
	wide, narrow := inTerminal(t, colours), inTerminal(t, plain)
	require.NoError(t, unix.IoctlSetWinsize(int(narrow.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 4, Col: 20}))

	require.Eventually(t, func() bool { return strings.Contains(out.String(), "Fix the login") }, soon, 5*time.Millisecond)
	wide.wait(`\x1b\[H\x1b\[36m→ \x1b\[0mFix the login`)
	narrow.wait(`→ Fix`)
	for _, goal := range []string{"Read the code", "Write \x1b[2Jtests"} {
		push(goal)
	}
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "Write [2Jtests") }, soon, 5*time.Millisecond)
	wide.wait(`Read the code`)
	wide.wait(`Write \[2Jtests`)
	narrow.wait(`\x1b\[H… 2 more lines\x1b\[K\r\n .*→ .*\x1b\[K\r\n→ in_progress  .{0,10}\x1b\[K\r\n\x1b\[J`)
	for _, sequence := range regexp.MustCompile(`\x1b\[[^A-Za-z]*[A-Za-z]`).FindAllString(narrow.all(), -1) {
		assert.Regexp(t, drawsInPlace, sequence)
	}
	assert.NotContains(t, out.String(), "\x1b")
	assert.LessOrEqual(t, strings.Count(out.String(), "○ planned"), 3, "drawn only when it has changed")

	wide.enter("\x03")
	assert.NoError(t, colours.Wait())
	require.NoError(t, piped.Process.Signal(syscall.SIGINT))
	assert.NoError(t, piped.Wait())
	_, errs, code := f.run("tree", "--follow", "frame-nothing")
	assert.Equal(t, 1, code, errs)
}
