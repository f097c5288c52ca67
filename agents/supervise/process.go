package supervise

import (
	"errors"
	"os"
	"slices"
	"syscall"
	"time"
)

// A Process is one that runs or ran. Pids come again, so its start tells it from
// others.
type Process struct {
	PID     int    `json:"pid"`
	Started string `json:"started"` // as the system tells it; equal for the same process
}

// Self is this process.
func Self() Process {
	pid := os.Getpid()
	for _, p := range processes() {
		if p.PID == pid {
			return p.Process
		}
	}
	return Process{PID: pid}
}

// Alive reports whether the process still runs.
func (p Process) Alive() bool {
	now, ok := process(p.PID)
	return ok && !now.zombie && (p.Started == "" || now.Started == p.Started)
}

// Signal sends the process a signal; one that is gone gets none.
func (p Process) Signal(signal syscall.Signal) error {
	if !p.Alive() {
		return nil
	}
	if err := syscall.Kill(p.PID, signal); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// An entry is a process with its place among the others.
type entry struct {
	Process
	name   string
	parent int
	zombie bool
}

// Above gives the names of the processes that this one was started by, at any
// distance, the nearest first.
func Above() (names []string) {
	for pid := os.Getppid(); pid > 1 && len(names) < 100; {
		p, ok := process(pid)
		if !ok {
			break
		}
		names, pid = append(names, p.name), p.parent
	}
	return names
}

// family gives what works for an agent: everything below root but root itself, and
// everything that carries its mark. What carries another agent's is that one's.
func family(agent string, root int) []entry {
	all := processes()
	within := map[int]bool{root: root != 0}
	marks := map[int]string{}
	for _, p := range all {
		marks[p.PID] = markOf(p.PID)
	}
	var found []entry
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if within[p.PID] || p.PID == os.Getpid() {
				continue
			}
			if mark := marks[p.PID]; mark == agent || within[p.parent] && mark == "" {
				within[p.PID], grown = true, true
				found = append(found, p)
			}
		}
	}
	return found
}

// kill ends what works for an agent, SIGTERM first and SIGKILL after grace, and
// returns once nothing of it is left.
func kill(agent string, root int, grace time.Duration) {
	const look = 20 * time.Millisecond
	told := map[int]bool{}
	for waited := time.Duration(0); ; waited += look {
		left := living(family(agent, root))
		if len(left) == 0 || waited > grace+5*time.Second {
			return // what even SIGKILL does not end hangs in the system
		}
		for _, p := range left {
			switch {
			case waited >= grace:
				_ = p.Signal(syscall.SIGKILL)
			case !told[p.PID]:
				told[p.PID] = true
				_ = p.Signal(syscall.SIGTERM)
			}
		}
		time.Sleep(look)
	}
}

// living leaves out processes that are over, and takes from the system those whose
// parent this process has become.
func living(all []entry) []entry {
	return slices.DeleteFunc(all, func(p entry) bool {
		if p.zombie && p.parent == os.Getpid() {
			_, _ = syscall.Wait4(p.PID, nil, syscall.WNOHANG, nil) // gone is what is wanted
		}
		return p.zombie
	})
}

// KillRest ends what a supervisor that is gone has left of an agent.
func KillRest(agent string) { kill(agent, 0, 2*time.Second) }
