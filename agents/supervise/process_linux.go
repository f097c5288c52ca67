package supervise

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
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
		Process: Process{PID: pid, Started: fields[started] + place()}, parent: above, name: string(stat[open+1 : end]),
		zombie: fields[state] == "Z" || fields[state] == "X",
	}, err == nil
}

// place names this boot and this namespace of pids, in which a pid and its start
// mean one process.
var place = sync.OnceValue(func() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		boot = nil
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		space = ""
	}
	return "/" + strings.TrimSpace(string(boot)) + "/" + space
})

// elsewhere reports whether a start is one of this boot in another namespace.
func elsewhere(started string) bool {
	theirs, ours := strings.Split(started, "/"), strings.Split(place(), "/")
	return len(theirs) == 3 && theirs[1] == ours[1] && theirs[2] != ours[2]
}

// marksOf gives the agents that processes work for, by pid.
func marksOf(all []entry) map[int]string {
	marks := map[int]string{}
	for _, p := range all {
		if mark := markOf(p.PID); mark != "" {
			marks[p.PID] = mark
		}
	}
	return marks
}

// commandOf gives the words that a process was started with.
func commandOf(pid int) []string {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return nil
	}
	return strings.Split(string(line), "\x00")
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
