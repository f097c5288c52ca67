package supervise

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"flame/core"
	"flame/local/place"
)

type child struct {
	cmd  *exec.Cmd
	over chan struct{} // closed when it is
}

// start runs a command of the job. Its output goes to files, which survive if
// the supervisor dies.
func (s *Supervisor) start(command []string, prompt string) (*child, error) {
	stdout, err := appendTo(filepath.Join(s.Job.Dir, OutputFile))
	if err != nil {
		return nil, err
	}
	defer stdout.Close()
	stderr, err := appendTo(filepath.Join(s.Job.Dir, ErrorsFile))
	if err != nil {
		return nil, err
	}
	defer stderr.Close()
	cmd := exec.Command(command[0], command[1:]...)
	// OpenCode takes its folder from PWD (observed); the variable with the id is the agent's mark.
	cmd.Dir, cmd.Env = s.Job.Cwd, append(append(environment(s.Job.Unset...), s.Job.Env...), "PWD="+s.Job.Cwd, core.AgentVariable+"="+s.Job.ID)
	cmd.Stdout, cmd.Stderr, cmd.Stdin = stdout, stderr, strings.NewReader(prompt)
	cmd.SysProcAttr = place.DieWithParent(syscall.SIGKILL) // elsewhere than on Linux, its keeper or the recovery ends it
	cmd.SysProcAttr.Setpgid = true
	cmd.WaitDelay = 5 * time.Second // another process may hold the host's stdin open
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, over: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // ProcessState has the rest
		close(c.over)
	}()
	return c, nil
}

func appendTo(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
}

func environment(unset ...string) []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(unset, name)
	})
}

// exit returns the status of a finished process, or -1 if a signal ended it.
func (c *child) exit() int {
	if c.cmd.ProcessState == nil {
		return -1
	}
	return c.cmd.ProcessState.ExitCode()
}

// maxStderr is how much of the end of stderr an outcome carries, in bytes.
const maxStderr = 4_000

func lastErrors(dir string) string {
	path := filepath.Join(dir, ErrorsFile)
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	end, _, err := ReadFrom(path, max(info.Size()-maxStderr, 0), maxStderr)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(end), "?"))
}

// complaints returns the beginning of the host's stderr, where hosts report problems with
// their options.
func (s *Supervisor) complaints() string {
	begin, _, err := ReadFrom(filepath.Join(s.Job.Dir, ErrorsFile), 0, 16*maxStderr)
	if err != nil {
		return ""
	}
	return string(begin)
}

func (s *Supervisor) printed() (total int64) {
	for _, name := range []string{OutputFile, ErrorsFile} {
		if info, err := os.Stat(filepath.Join(s.Job.Dir, name)); err == nil {
			total += info.Size()
		}
	}
	return total
}

// passing matches transient errors: too many requests, server trouble, a broken
// connection.
var passing = core.Pattern(`(?i)\b(429|5\d\d)\b|overloaded|rate.?limit|too many requests|` +
	`connection (closed|reset|error|refused)|socket hang up|ECONNRESET|ETIMEDOUT|fetch failed|network error|` +
	`temporarily unavailable|usage limit|database is locked|SQLITE_BUSY`)

// permanent matches errors that no retry fixes, whatever else they say.
var permanent = core.Pattern(`(?i)authenticat|unauthori[sz]ed|\b40[0134]\b|invalid.{0,10}key|permission|` +
	`credit balance|budget|context.{0,20}(length|window|limit|overflow)|prompt is too long|max.?turns`)

// transient reports whether another attempt may help after this error.
func transient(text string) bool {
	return passing().MatchString(text) && !permanent().MatchString(text)
}

var (
	resetAt    = core.Pattern(`\|(\d{10})\b`) // "usage limit reached|1790000000"
	retryAfter = core.Pattern(`(?i)(?:retry.?after|try again in)\D{0,3}(\d{1,5})\s*(ms|m|s)?`)
)

// delay returns the pause before another attempt, the first being 0: it
// doubles, with jitter so that many do not retry at once. A time named in the
// error is respected.
func delay(first time.Duration, attempt int, text string, now time.Time) time.Duration {
	if m := resetAt().FindStringSubmatch(text); m != nil {
		if at, err := strconv.ParseInt(m[1], 10, 64); err == nil {
			return max(time.Unix(at, 0).Sub(now), 0)
		}
	}
	pause := first << attempt
	if m := retryAfter().FindStringSubmatch(text); m != nil {
		n, err := strconv.Atoi(m[1])
		unit := map[string]time.Duration{"ms": time.Millisecond, "m": time.Minute}[strings.ToLower(m[2])]
		if unit == 0 {
			unit = time.Second
		}
		if err == nil {
			return max(time.Duration(n)*unit, pause)
		}
	}
	return pause + rand.N(pause/4+1)
}
