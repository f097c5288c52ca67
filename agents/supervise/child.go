package supervise

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"flame/core"
)

// A child is one process of the host.
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
	cmd.Dir, cmd.Env = s.Job.Cwd, s.environment()
	cmd.Stdout, cmd.Stderr, cmd.Stdin = stdout, stderr, strings.NewReader(prompt)
	cmd.SysProcAttr = bound()
	cmd.WaitDelay = 5 * time.Second // something else may hold what the host was to read
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

// environment returns the supervisor's own environment without what the host
// must not get, with what it must, and with the agent's mark.
func (s *Supervisor) environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(s.Job.Unset, name)
	})
	// OpenCode takes its folder from PWD (observed).
	return append(append(env, s.Job.Env...), "PWD="+s.Job.Cwd, core.AgentVariable+"="+s.Job.ID)
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

// lastErrors returns the end of what the host wrote to stderr.
func lastErrors(dir string) string {
	file, err := openFile(filepath.Join(dir, ErrorsFile))
	if err != nil {
		return ""
	}
	defer file.Close()
	size, err := file.Seek(0, 2)
	if err != nil {
		return ""
	}
	end := make([]byte, min(size, maxStderr))
	if _, err := file.ReadAt(end, size-int64(len(end))); err != nil {
		return ""
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(end), "?"))
}

// complaints returns the first thing the host wrote to stderr: before all else
// it says there how it understood its options.
func (s *Supervisor) complaints() string {
	file, err := openFile(filepath.Join(s.Job.Dir, ErrorsFile))
	if err != nil {
		return ""
	}
	defer file.Close()
	begin, err := io.ReadAll(io.LimitReader(file, 16*maxStderr))
	if err != nil {
		return ""
	}
	return string(begin)
}

// printed returns how many bytes the host has written.
func (s *Supervisor) printed() (total int64) {
	for _, name := range []string{OutputFile, ErrorsFile} {
		if info, err := os.Stat(filepath.Join(s.Job.Dir, name)); err == nil {
			total += info.Size()
		}
	}
	return total
}

// missing reports whether a command could not be started because it does not
// exist.
func missing(err error) bool {
	return errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist)
}
