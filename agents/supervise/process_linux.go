package supervise

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"flame/core"
)

// adopt makes this process the parent of all orphans below it, so that nothing
// which an agent started gets out of its reach.
func adopt() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// bound makes a child die with the thread that started it.
func bound() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// processes lists those of the system.
func processes() (all []entry) {
	names, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	for _, name := range names {
		if pid, err := strconv.Atoi(filepath.Base(name)); err == nil {
			if p, ok := process(pid); ok {
				all = append(all, p)
			}
		}
	}
	return all
}

// process reads what the system tells of one (proc_pid_stat(5)).
func process(pid int) (entry, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return entry{}, false
	}
	// The name, in brackets, may hold anything.
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return entry{}, false
	}
	fields := strings.Fields(string(stat[end+1:]))
	const state, parent, started = 0, 1, 19
	if len(fields) <= started {
		return entry{}, false
	}
	above, err := strconv.Atoi(fields[parent])
	return entry{
		Process: Process{PID: pid, Started: fields[started]}, parent: above, name: string(stat[open+1 : end]),
		zombie: fields[state] == "Z" || fields[state] == "X",
	}, err == nil
}

// markOf gives the agent that a process works for by its environment.
func markOf(pid int) string {
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return ""
	}
	for variable := range bytes.SplitSeq(environ, []byte{0}) {
		if value, ok := bytes.CutPrefix(variable, []byte(core.AgentVariable+"=")); ok {
			return string(value)
		}
	}
	return ""
}
