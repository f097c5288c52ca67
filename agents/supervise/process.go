package supervise

import (
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// A Process is a process that runs or ran. Pids are reused, so its start distinguishes it from
// others.
type Process struct {
	PID     int    `json:"pid"`
	Started string `json:"started"` // as the system reports it, with boot and pid namespace on systems that have those: no two processes share it
}

// Self returns this process.
func Self() Process {
	self, _ := process(os.Getpid())
	self.PID = os.Getpid()
	return self.Process
}

// IsVisible reports whether this process can see the other, which it cannot in
// another pid namespace.
func (p Process) IsVisible() bool { return !elsewhere(p.Started) }

// Alive reports whether a process other than this one still runs as recorded.
// It is false for records that no process can have: no start or a malformed
// one, a pid that is not positive, that of the system's first process or this
// one's own.
func (p Process) Alive() bool {
	if p.PID <= 1 || p.PID == os.Getpid() || p.Started == "" {
		return false
	}
	return p.runs()
}

func (p Process) runs() bool {
	now, ok := process(p.PID)
	return ok && !now.zombie && now.Process == p
}

// Gone reports whether the process has certainly ended. It returns false for incomplete
// records, and for processes that this one cannot see.
func (p Process) Gone() bool {
	return p.PID > 1 && p.Started != "" && p.IsVisible() && !stillThere(p)
}

// Caller returns the process that runs this one: its parent, or the process above the shells
// that were started for this command. It returns zero if that is unknown.
func Caller() Process {
	for p := range above(maxShells) {
		if !runsOneCommand(commandsOf([]entry{p})[p.PID]) {
			return p.Process
		}
	}
	return Process{}
}

// above yields this process's ancestors, the nearest first.
func above(most int) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		for pid := os.Getppid(); pid > 1 && most > 0; most-- {
			p, ok := process(pid)
			if !ok || !yield(p) {
				return
			}
			pid = p.parent
		}
	}
}

// maxShells is how many shells in a row Caller looks past.
const maxShells = 5

// runsOneCommand reports whether a command line is a shell that runs a single command and ends
// with it.
func runsOneCommand(line string) bool {
	words := strings.SplitN(line, " ", 3)
	shells := []string{"sh", "bash", "dash", "zsh", "ksh", "ash"}
	return len(words) == 3 && words[1] == "-c" && slices.Contains(shells, filepath.Base(words[0])) && !strings.ContainsAny(words[2], ";\n&|")
}

// Signal sends a signal to p if it is alive and works for the agent: its
// command line is that of the agent's supervisor, or it bears the agent's mark.
// It leaves any other process alone.
func (p Process) Signal(agent string, signal syscall.Signal) error {
	return p.send(signal, func() bool { return worksFor(p.PID, agent) })
}

// send sends a signal to p if it is alive and may returns true. Linux holds the
// process by a pidfd from before the check until the signal is sent, so its pid
// cannot be reused in between; elsewhere those moments remain.
func (p Process) send(signal syscall.Signal, may func() bool) error {
	if !p.Alive() {
		return nil
	}
	held, err := os.FindProcess(p.PID)
	if err != nil {
		return err
	}
	defer func() { _ = held.Release() }() // nothing was requested that could fail
	if !p.Alive() || !may() {
		return nil
	}
	if err := held.Signal(signal); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// worksFor reports whether a process bears an agent's mark, or is its supervisor.
func worksFor(pid int, agent string) bool {
	of := []entry{{Process: Process{PID: pid}}}
	return agent != "" && (marksOf(of)[pid] == agent || supervises(commandsOf(of)[pid], agent))
}

// supervises reports whether a command line is that of an agent's supervisor, or of
// its keeper.
func supervises(command, agent string) bool {
	words := strings.Fields(command)
	return slices.Contains(words, "supervise") && slices.ContainsFunc(words, func(word string) bool { return filepath.Base(word) == agent })
}

// supervised returns the agent of a supervisor with this command line; empty for other
// programs.
func supervised(command string) string {
	words := strings.Fields(command)
	if !slices.Contains(words, "supervise") {
		return ""
	}
	return filepath.Base(words[len(words)-1])
}

// An entry is a process with its place among the others.
type entry struct {
	Process
	name   string
	parent int
	zombie bool // it is over, but its parent has not waited for it
}

// AncestorNames returns the names of this process's ancestors, the nearest first.
func AncestorNames() (names []string) {
	for p := range above(100) {
		names = append(names, p.name)
	}
	return names
}
