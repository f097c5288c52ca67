package tests

import (
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

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
