package supervise

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
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
	self, _ := process(os.Getpid())
	self.PID = os.Getpid()
	return self.Process
}

// Here reports whether this process can see the other: one in another namespace of
// pids it cannot.
func (p Process) Here() bool { return !elsewhere(p.Started) }

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

// family gives what works for an agent: everything below root but root itself,
// everything that carries its mark, and what of it was seen before. What carries
// the mark of another agent that is supervised is that one's.
func family(agent string, root int, before []Process) []entry {
	all := processes()
	marks := marksOf(all)
	own := func(p entry) bool {
		mark := marks[p.PID]
		return mark == agent || slices.Contains(before, p.Process) && (mark == "" || !supervised(mark, all, marks))
	}
	return reach(all, root, own, func(p entry) bool {
		mark := marks[p.PID]
		return mark == "" || mark == agent || !supervised(mark, all, marks)
	})
}

// below gives the processes below root.
func below(root int) []Process {
	var found []Process
	always, never := func(entry) bool { return true }, func(entry) bool { return false }
	for _, p := range reach(processes(), root, never, always) {
		found = append(found, p.Process)
	}
	return found
}

// reach gives the processes that are own, and those that descend from root, or from
// one of them, as far as all between may be taken along.
func reach(all []entry, root int, own, along func(entry) bool) (found []entry) {
	within := map[int]bool{root: root != 0}
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if within[p.PID] || p.PID == os.Getpid() {
				continue
			}
			if own(p) || within[p.parent] && along(p) {
				within[p.PID], grown = true, true
				found = append(found, p)
			}
		}
	}
	return found
}

// supervised reports whether a supervisor runs for the agent of a mark: anyone can
// set one.
func supervised(mark string, all []entry, marks map[int]string) bool {
	return slices.ContainsFunc(all, func(p entry) bool {
		return marks[p.PID] == mark && !p.zombie && slices.Contains(commandOf(p.PID), "supervise")
	})
}

// kill ends what works for an agent, SIGTERM first and SIGKILL after grace, and
// returns once nothing of it is left.
func kill(agent string, root int, before []Process, grace time.Duration) {
	told := map[int]bool{}
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		left, waited := living(family(agent, root, before)), time.Since(begun)
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

// KillRest ends what a supervisor that is gone has left of the agent of a folder.
func KillRest(agent, dir string) {
	var before []Process
	if raw, err := os.ReadFile(filepath.Join(dir, familyFile)); err != nil || json.Unmarshal(raw, &before) != nil {
		before = nil // its marks must do
	}
	kill(agent, 0, before, 2*time.Second)
}
