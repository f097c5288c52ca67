package tests

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"flame/store/disk"
	"flame/tests/effort"
)

// busy is a claude that calls a tool and then works until it is signalled.
const busy = `case "$*" in *--version*) echo "2.1.328 (Claude Code)"; exit ;; esac
cat >/dev/null &
echo '{"type":"system","subtype":"init","session_id":"busy-1","model":"claude-opus-5-5","tools":["Grep"]}'
echo '{"type":"assistant","session_id":"busy-1","message":{"id":"m1","model":"claude-opus-5-5","usage":{"input_tokens":1000},"content":[' \
  '{"type":"text","text":"I look at BUSY-WORDS"},{"type":"tool_use","id":"t1","name":"Grep","input":{"pattern":"x"}}]}}'
exec sleep 600
`

// topped returns a project with some frames, and a shell in a terminal that shows it.
func topped(t *testing.T, columns, lines int) (*fronted, *screen) {
	t.Helper()
	f := newFronted(t, busy)
	f.says("push", "Fix the login")
	f.says("push", "Read the code")
	f.says("plan", "Write \x1b[31mtests\x1b[0m\nfor it")
	s := newScreen(t, columns, lines, func(program string, args ...string) *exec.Cmd {
		cmd := exec.Command(program, args...)
		cmd.Dir, cmd.Env = f.project, f.env
		return cmd
	}, "sh", "-c", `stty -g >"$HOME/before"; echo BEFORE
sh -c 'echo $$ >"$HOME/pid"; exec "$0" top 2>"$HOME/errors"' "$0"; echo "LEFT $?"
stty -g >"$HOME/after"; echo >"$HOME/over"; read line`, flameBinary(t))
	s.shows(`flame · project  live`)
	s.shows(`Fix the login`)
	return f, s
}

// says runs flame, which must succeed, and returns its answer.
func (f *fronted) says(args ...string) string {
	f.t.Helper()
	out, errs, code := f.run(args...)
	require.Zero(f.t, code, "flame %v: %s", args, errs)
	return out
}

// left checks that a terminal is as it was before.
func (f *fronted) left(s *screen) {
	f.t.Helper()
	s.shows(`LEFT \d+`)
	require.Eventually(f.t, func() bool {
		_, err := os.Stat(filepath.Join(f.home, "over"))
		return err == nil
	}, soon, 10*time.Millisecond)
	before, err := os.ReadFile(filepath.Join(f.home, "before"))
	require.NoError(f.t, err)
	after, err := os.ReadFile(filepath.Join(f.home, "after"))
	require.NoError(f.t, err)
	assert.Equal(f.t, string(before), string(after))
	assert.Equal(f.t, "0 1 1\n", s.tmux("display", "-p", "#{alternate_on} #{cursor_flag} #{wrap_flag}"))
	assert.Regexp(f.t, `^BEFORE\n`, s.text(), "what was there is there again")
}

// guards returns the process that was started as flame top, and the process that shows the screen.
func (f *fronted) guards() (guard, screen int) {
	f.t.Helper()
	text, err := os.ReadFile(filepath.Join(f.home, "pid"))
	require.NoError(f.t, err)
	guard, err = strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(f.t, err)
	tasks, err := filepath.Glob("/proc/" + strconv.Itoa(guard) + "/task/*/children")
	require.NoError(f.t, err)
	for _, task := range tasks {
		children, _ := os.ReadFile(task) // an ended thread has none
		if fields := strings.Fields(string(children)); len(fields) > 0 {
			screen, err = strconv.Atoi(fields[0])
			require.NoError(f.t, err)
		}
	}
	require.NotZero(f.t, screen)
	return guard, screen
}

func TestAScreenShowsTheProjectLive(t *testing.T) {
	t.Parallel()
	onLinux(t)
	f, s := topped(t, 80, 24)
	s.shows(`→ 2 in progress  ○ 1 planned`)
	s.shows(`○ Write \[31mtests\[0m for it`)
	f.says("push", "A piece of another process")
	s.shows(`→ A piece of another proc`)

	s.keys("j", "Enter")
	s.shows(`Frame: Read the code`)
	s.shows(`Goal: Read the code\nParent: frame-\w+ \(in_progress\) "Fix the login"`)
	s.keys("q")
	s.shows(`frame +who`)

	s.keys("/")
	s.keys("-l", "write")
	s.shows(`(?m)^/write$`)
	s.keys("Enter")
	s.shows(`1 frame found with "write"; Esc shows all`)
	assert.NotContains(t, s.text(), "A piece of another")
	assert.Contains(t, s.text(), "Fix the login", "what is above stays")
	s.keys("Escape")
	s.shows(`A piece of another proc`)

	s.tmux("resize-window", "-x", "120", "-y", "40")
	s.shows(`A piece of another process +cli`)
	s.keys("?")
	s.shows(`Ctrl-Z +suspend`)
	s.keys("Escape", "q")
	s.shows(`LEFT 0`)
	f.left(s)
}

func TestAScreenCancelsAnAgentAfterAQuestion(t *testing.T) {
	t.Parallel()
	onLinux(t)
	f, s := topped(t, 100, 30)
	f.says("agents", "spawn", "analyzer", "Look for x")
	s.shows(`▸ analyzer +Grep: I look at BUSY-WORDS`)
	s.shows(`live +1 agent`)
	s.keys("/")
	s.keys("-l", "Look for x")
	s.keys("Enter")
	s.shows(`1 frame found`)
	s.keys("x")
	s.shows(`cancel analyzer agent-\w+ and what it started\? y/N`)
	s.keys("n")
	s.shows(`nothing was cancelled`)
	s.keys("x")
	s.shows(`cancel analyzer agent-\w+`)
	s.keys("y")
	s.shows(`1 agent will stop|! .*Look for x`)
	s.shows(`live +[\d.k]+ tokens`)
	s.keys("n")
	s.shows(`! analyzer ended \(cancelled\): Look for x`)
	s.keys("q", "q")
	f.left(s)
}

func TestATerminalIsRestored(t *testing.T) {
	t.Parallel()
	effort.Heavy(t)
	onLinux(t)
	says := map[string]string{"q": `^$`, "Ctrl-C": `^$`, "SIGTERM": `^flame: interrupted\n$`, "a fault of the screen": `SIGABRT(?s:.*)goroutine`}
	for name, end := range map[string]func(t *testing.T, s *screen, guard, screen int) error{
		"q":                     func(_ *testing.T, s *screen, _, _ int) error { s.keys("q"); return nil },
		"Ctrl-C":                func(_ *testing.T, s *screen, _, _ int) error { s.keys("C-c"); return nil },
		"SIGTERM":               func(_ *testing.T, _ *screen, guard, _ int) error { return syscall.Kill(guard, syscall.SIGTERM) },
		"SIGINT":                func(_ *testing.T, _ *screen, guard, _ int) error { return syscall.Kill(guard, syscall.SIGINT) },
		"SIGHUP":                func(_ *testing.T, _ *screen, guard, _ int) error { return syscall.Kill(guard, syscall.SIGHUP) },
		"SIGTERM to the screen": func(_ *testing.T, _ *screen, _, screen int) error { return syscall.Kill(screen, syscall.SIGTERM) },
		"SIGHUP to the screen":  func(_ *testing.T, _ *screen, _, screen int) error { return syscall.Kill(screen, syscall.SIGHUP) },
		"SIGKILL to the screen": func(_ *testing.T, _ *screen, _, screen int) error { return syscall.Kill(screen, syscall.SIGKILL) },
		"a fault of the screen": func(_ *testing.T, _ *screen, _, screen int) error { return syscall.Kill(screen, syscall.SIGABRT) },
		"SIGSTOP, and then a kill": func(_ *testing.T, _ *screen, guard, screen int) error {
			if err := syscall.Kill(screen, syscall.SIGSTOP); err != nil {
				return err
			}
			return syscall.Kill(guard, syscall.SIGTERM) // the screen cannot receive it
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, s := topped(t, 80, 24)
			guard, screen := f.guards()
			require.NoError(t, end(t, s, guard, screen))
			f.left(s)
			errs, err := os.ReadFile(filepath.Join(f.home, "errors"))
			require.NoError(t, err)
			assert.Regexp(t, says[name], string(errs))
			assert.ErrorIs(t, syscall.Kill(screen, 0), syscall.ESRCH, "it is over")
		})
	}
}

func TestASuspendedScreenBlocksNothing(t *testing.T) {
	t.Parallel()
	effort.Heavy(t)
	f := newFronted(t, busy)
	f.says("push", "Fix the login")
	x := newTerminal(t, f)
	x.enter("TERM=xterm '" + flameBinary(t) + "' top; echo status=$?\n")
	x.wait(`\x1b\[\?1049h`)
	x.wait(`Fix the login`)
	for range 2 {
		x.enter("\x1a")
		x.wait(`\x1b\[\?1049l`)
		x.wait(`Stopped[^$]*\$ `)
		f.says("push", "Meanwhile")
		x.enter("fg\n")
		x.wait(`\x1b\[\?1049h`)
		x.wait(`Meanwhile`)
	}
	x.enter("q")
	x.wait(`\x1b\[\?1049l[^$]*\$ `)
	x.enter("echo status=$?\n")
	x.wait(`status=0`)
}

// steers matches control sequences.
var steers = regexp.MustCompile(`\x1b(?:\[[0-9;?]*[^0-9;?]|[^\[])`)

// quiet matches sequences that a terminal never answers: cursor, colours, erasing, modes.
var quiet = regexp.MustCompile(`^\x1b\[(?:[0-9;]*[GHJKm]|\?[0-9]+[hl])$`)

func TestAScreenStartsAtOnceOnASilentTerminal(t *testing.T) {
	t.Parallel()
	effort.Heavy(t)
	onLinux(t)
	f := newFronted(t, busy)
	f.says("push", "Fix the login")
	const atOnce = 300 * time.Millisecond // on a busy machine; libraries wait for seconds for an answer
	begins := func(until string, args ...string) (*terminal, time.Duration) {
		cmd := f.command(args...)
		cmd.Env = append(f.env, "TERM=xterm-256color", "NO_COLOR=1")
		began := time.Now()
		x := inTerminal(t, cmd)
		x.wait(until)
		return x, time.Since(began)
	}
	for command, until := range map[string]string{"status": `Fix the login`, "top": `\? keys`} {
		fastest := time.Hour
		for range 50 { // one of which comes while the screen is idle
			x, took := begins(until, command)
			for _, sequence := range steers.FindAllString(x.all(), -1) {
				assert.NotEqual(t, "status", command, "%q", sequence)
				assert.Regexp(t, quiet, sequence)
			}
			if fastest = min(fastest, took); fastest < atOnce {
				break
			}
		}
		assert.Less(t, fastest, atOnce, command)
	}
}

func TestAScreenNeedsATerminal(t *testing.T) {
	t.Parallel()
	f := newFronted(t, busy)
	out, errs, code := f.run("top")
	assert.Empty(t, out)
	assert.Equal(t, 1, code)
	assert.Equal(t, "flame: stdin and stdout must both be a terminal\nhint: `flame status` and `flame tree` print the same once\n", errs)
	onLinux(t)
	cmd := f.command("top")
	cmd.Env = append(f.env, "TERM=dumb")
	x := inTerminal(t, cmd)
	x.wait(`TERM is dumb`)
	x.wait(`flame status`)
	assert.NotContains(t, x.all(), "\x1b")
}

func TestAScreenFollowsTheWidthOfItsTerminal(t *testing.T) {
	t.Parallel()
	effort.Heavy(t)
	onLinux(t)
	f := newFronted(t, busy)
	f.says("push", "Fix the login")
	x := f.shown() // in a terminal that does not report its size
	x.wait(`\? keys`)
	for _, size := range []unix.Winsize{{Row: 5, Col: 20}, {Row: 1, Col: 1}, {Row: 60, Col: 200}} {
		require.NoError(t, unix.IoctlSetWinsize(int(x.master.Fd()), unix.TIOCSWINSZ, &size))
		x.wait(`\x1b\[2J`)
	}
	x.wait(`q quit`)
}

// shown starts flame top in a terminal.
func (f *fronted) shown() *terminal {
	f.t.Helper()
	cmd := f.command("top")
	cmd.Env = append(f.env, "TERM=xterm")
	return inTerminal(f.t, cmd)
}

// data returns the data folder of the project.
func (f *fronted) data() string {
	f.t.Helper()
	var where struct{ Data string }
	require.NoError(f.t, json.Unmarshal([]byte(f.says("where", "--json")), &where))
	return where.Data
}

func TestAScreenReportsErrorsAndRecovers(t *testing.T) {
	t.Parallel()
	effort.Heavy(t)
	onLinux(t)
	tests := map[string]struct {
		breaks func(t *testing.T, database string) (mend func() error)
		says   string
	}{
		"a damaged store": {func(t *testing.T, database string) func() error {
			was, err := os.ReadFile(database)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(database, bytes.Repeat([]byte("damaged "), len(was)/8), 0o600))
			return func() error { return os.WriteFile(database, was, 0o600) }
		}, `! .*(damaged|not a database)`},
		"a store of a newer flame": {func(t *testing.T, database string) func() error {
			runs := func(query string) error {
				db, err := sql.Open("sqlite", database)
				require.NoError(t, err)
				defer db.Close()
				_, err = db.Exec(query)
				return err
			}
			version := strconv.Itoa(disk.NewestSchema.Version)
			require.NoError(t, runs("PRAGMA user_version = 999; UPDATE meta SET value = value + 999 WHERE name = 'oldest'"))
			return func() error {
				return runs("PRAGMA user_version = " + version + "; UPDATE meta SET value = value - 999 WHERE name = 'oldest'")
			}
		}, `newer`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFronted(t, busy)
			f.says("push", "Fix the login")
			mend := tt.breaks(t, filepath.Join(f.data(), "flame.db"))
			x := f.shown()
			x.wait(tt.says)
			require.NoError(t, mend())
			x.wait(`live`)
			x.wait(`Fix the login`)
			x.enter("q")
			x.wait(`\?1049l`)
		})
	}
}

func TestAScreenFollowsDataThatIsRemovedAndRestored(t *testing.T) {
	t.Parallel()
	effort.Heavy(t)
	onLinux(t)
	f := newFronted(t, busy)
	f.says("push", "Fix the login")
	data := f.data()
	x, other := f.shown(), f.shown()
	x.wait(`Fix the login`)
	other.wait(`Fix the login`)
	require.NoError(t, os.Rename(data, data+"-away"))
	x.wait(`No frames yet`)
	other.wait(`No frames yet`)
	require.NoError(t, os.Rename(data+"-away", data))
	x.wait(`Fix the login`)
	other.wait(`Fix the login`)
	f.says("push", "One more")
	x.wait(`One more`)
	other.wait(`One more`)
}

func TestAScreenAnswersWhileTheStoreIsLocked(t *testing.T) {
	t.Parallel()
	effort.Heavy(t)
	onLinux(t)
	f := newFronted(t, busy)
	f.says("push", "Fix the login")
	f.says("agents", "spawn", "analyzer", "Look for x")
	x := f.shown()
	x.wait(`BUSY-WORDS`)
	lock, err := os.OpenFile(filepath.Join(f.data(), "flame.lock"), os.O_RDWR, 0)
	require.NoError(t, err)
	defer lock.Close()
	require.NoError(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	x.enter("/Look for x\r")
	x.wait(`1 frame found`)
	x.enter("xy")
	x.wait(`cancelling agent-`)
	x.enter("\r")
	x.wait(`Goal: .*Look for x`)
	x.enter("q")
	require.NoError(t, lock.Close())
	x.wait(`live.*[\d.k]+ tokens`)
	x.enter("q")
	x.wait(`\?1049l`)
}
