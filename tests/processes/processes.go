// Package processes finds and starts processes, for tests.
package processes

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flame/agents/supervise"
)

// All returns the ids of all processes.
func All(t testing.TB) (pids []int) {
	dirs, err := filepath.Glob("/proc/[0-9]*") // a pattern that goes on below them would read each of these, which takes long
	require.NoError(t, err)
	for _, dir := range dirs {
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// With returns the processes that have one of these variables, NAME=value.
func With(t testing.TB, variables ...string) []int {
	return slices.DeleteFunc(All(t), func(pid int) bool {
		for variable := range bytes.SplitSeq(read(pid, "environ"), []byte{0}) { // empty for zombies
			if slices.Contains(variables, string(variable)) {
				return false
			}
		}
		return true
	})
}

// Command returns the command line of a process; empty if it is over.
func Command(pid int) string {
	return string(bytes.ReplaceAll(bytes.TrimRight(read(pid, "cmdline"), "\x00"), []byte{0}, []byte(" ")))
}

// Stat returns what the system tells of a process behind its name (proc_pid_stat(5)); nothing if it is gone.
func Stat(pid int) []string {
	stat := string(read(pid, "stat"))
	return strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
}

// Parent returns the process that another one is a child of; 0 if that is gone.
func Parent(pid int) (above int) {
	if stat := Stat(pid); len(stat) > 1 {
		above, _ = strconv.Atoi(stat[1])
	}
	return above
}

// Runs reports whether a process is there and not over.
func Runs(pid int) bool {
	stat := Stat(pid)
	// The first thread of one that was killed is over before the others are.
	return len(stat) > 17 && (stat[0] != "Z" || stat[17] != "0" && stat[17] != "1")
}

func read(pid int, name string) []byte {
	content, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), name)) // it may have ended
	return content
}

// A Bystander is a process that prints each line of its input until it ends.
type Bystander struct {
	*exec.Cmd
	Noted supervise.Process // as a supervisor would note it
	Lives func() bool       // asks it: a signal that was sent before takes effect before the answer
}

// Stand starts a shell, by any name, as a bystander with more words in its command line and environment.
func Stand(t testing.TB, shell string, env []string, words ...string) Bystander {
	cmd := exec.Command(shell, append([]string{"-c", "while read line; do echo $line; done"}, words...)...)
	cmd.Env = append(os.Environ(), env...)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	lines := bufio.NewScanner(out)
	b := Bystander{Cmd: cmd, Lives: func() bool {
		_, err := fmt.Fprintln(in, "alive")
		return err == nil && lines.Scan() && lines.Text() == "alive"
	}}
	require.True(t, b.Lives()) // before, the system may not know its command line yet
	_, place, _ := strings.Cut(supervise.Self().Started, "/")
	b.Noted = supervise.Process{PID: cmd.Process.Pid, Started: Stat(cmd.Process.Pid)[19] + "/" + place}
	return b
}
