package supervise

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"flame/core"
)

// adopt makes this process the parent of all orphans below it, so that nothing
// an agent started escapes.
func adopt() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// How much is read of what the system reports about a process, in bytes. A
// process can make its command line and environment as long as its memory
// (prctl(2), PR_SET_MM_MAP), so they need bounds.
const (
	maxStat    = 4 << 10
	maxCommand = 16 << 10
	maxEnviron = 2 << 20 // the limit of execve(2) with the usual stack of 8 MB
)

func open(pid int, name string) (*os.File, error) {
	return os.Open(filepath.Join("/proc", strconv.Itoa(pid), name))
}

// read reads the beginning of a process's file; nothing if the process is gone
// or another user's.
func read(pid int, name string, most int64) []byte {
	file, err := open(pid, name)
	if err != nil {
		return nil
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, most))
	if err != nil {
		return nil // it has ended in the meantime
	}
	return content
}

func processes() (all []entry) {
	folder, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer folder.Close()
	names, _ := folder.Readdirnames(-1) // of those that could be read
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := process(pid); ok {
				all = append(all, p)
			}
		}
	}
	return all
}

// process reads what the system reports about a process (proc_pid_stat(5)).
func process(pid int) (entry, bool) {
	stat := read(pid, "stat", maxStat)
	// The name, in brackets, may contain anything, including brackets and
	// newlines.
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return entry{}, false
	}
	fields := strings.Fields(string(stat[end+1:]))
	const state, parent, threads, started = 0, 1, 17, 19
	if len(fields) <= started {
		return entry{}, false
	}
	above, err := strconv.Atoi(fields[parent])
	others, _ := strconv.Atoi(fields[threads]) // 1 or 0 once all are over
	return entry{
		Process: Process{PID: pid, Started: fields[started] + here()}, parent: above, name: string(stat[open+1 : end]),
		// A process whose first thread has ended is reported as a zombie, but
		// the other threads run.
		zombie: fields[state] == "X" || fields[state] == "Z" && others <= 1,
	}, err == nil
}

// stillThere reports whether a process may still run.
func stillThere(p Process) bool { return p.runs() }

// here identifies this boot and pid namespace, in which a pid and its start
// identify a process.
var here = sync.OnceValue(func() string {
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

// elsewhere reports whether a start is from this boot but another pid
// namespace.
func elsewhere(started string) bool {
	theirs, ours := strings.Split(started, "/"), strings.Split(here(), "/")
	return len(theirs) == 3 && theirs[1] == ours[1] && theirs[2] != ours[2]
}

// marksOf returns the agents that processes work for, by pid.
func marksOf(all []entry) map[int]string {
	marks := map[int]string{}
	for _, p := range all {
		if mark := markOf(p.PID); mark != "" {
			marks[p.PID] = mark
		}
	}
	return marks
}

// markOf returns the agent that a process works for, by its environment.
func markOf(pid int) string {
	file, err := open(pid, "environ")
	switch {
	case errors.Is(err, os.ErrPermission): // another user's, or a supervisor with a gateway
		return supervised(commandsOf([]entry{{Process: Process{PID: pid}}})[pid])
	case err != nil:
		return "" // it is gone
	}
	defer file.Close()
	environ, _ := io.ReadAll(io.LimitReader(file, maxEnviron)) // of a process that ends meanwhile, what could be read
	for variable := range bytes.SplitSeq(environ, []byte{0}) {
		if value, ok := bytes.CutPrefix(variable, []byte(core.AgentVariable+"=")); ok {
			return string(value)
		}
	}
	return ""
}

// commandsOf returns the words that processes were started with, by pid.
func commandsOf(all []entry) map[int]string {
	commands := map[int]string{}
	for _, p := range all {
		line := bytes.TrimRight(read(p.PID, "cmdline", maxCommand), "\x00")
		commands[p.PID] = string(bytes.ReplaceAll(line, []byte{0}, []byte(" ")))
	}
	return commands
}
