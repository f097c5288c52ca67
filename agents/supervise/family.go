package supervise

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A family is every process that works for an agent: what is below root, but
// not root itself; what bears the agent's mark; what was recorded as a member;
// and the descendants of those. A process that bears the mark of another
// supervised agent belongs to that one, with everything below it.
type family struct {
	agent  string
	root   int              // 0: the agent has none
	noted  []member         // when it was last looked at
	waits  int              // pid of a child that another part of this program waits for; 0: none
	spares func(entry) bool // members to leave alone; nil: none
}

// A member is a process of a family as recorded. It identifies a process that
// removed its mark and left its parents.
type member struct {
	Process
	Command string `json:"command"` // the beginning of its command line
}

// end ends the family with SIGTERM first, SIGKILL after grace, and returns once
// nothing of it is left.
func (f family) end(grace time.Duration) {
	told, always := map[Process]bool{}, func() bool { return true }
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		left, waited := f.living(), time.Since(begun)
		if len(left) == 0 {
			left = f.living() // one that was forked after the list was made, by one that ended before it was read, is not on it
		}
		if len(left) == 0 || waited > grace+5*time.Second {
			return // what survives SIGKILL hangs in the system
		}
		for _, p := range left {
			switch {
			case waited >= grace:
				_ = p.send(syscall.SIGKILL, always)
			case !told[p.Process]:
				told[p.Process] = true
				_ = p.send(syscall.SIGTERM, always)
			}
		}
	}
}

// living returns the family's running processes.
func (f family) living() []entry {
	all := processes()
	marks := marksOf(all)
	free := f.free(all, marks)
	own := func(p entry) bool { return f.agent != "" && marks[p.PID] == f.agent || f.notes(p) && free(p) }
	return slices.DeleteFunc(f.reap(reach(all, f.root, own, free)), func(p entry) bool { return f.spares != nil && f.spares(p) })
}

// free returns a function that reports whether a process bears no mark of
// another agent that has a supervisor or keeper: anyone can set a mark.
func (f family) free(all []entry, marks map[int]string) func(entry) bool {
	taken := map[string]bool{}
	marked := slices.DeleteFunc(slices.Clone(all), func(p entry) bool { return p.zombie || marks[p.PID] == "" || marks[p.PID] == f.agent })
	commands := commandsOf(marked)
	for _, p := range marked {
		if mark := marks[p.PID]; supervises(commands[p.PID], mark) {
			taken[mark] = true
		}
	}
	return func(p entry) bool { return !taken[marks[p.PID]] }
}

// notes reports whether a process was recorded as one of the family and is
// still the same.
func (f family) notes(p entry) bool {
	return slices.ContainsFunc(f.noted, func(m member) bool {
		return m.Process == p.Process && m.Command != "" && m.Command == beginning(commandsOf([]entry{p})[p.PID])
	})
}

// members returns the family's processes that are below root or were recorded,
// in the form to record.
func (f family) members() []member {
	all := reach(processes(), f.root, f.notes, func(entry) bool { return true })
	free := f.free(all, marksOf(all))
	living := f.reap(reach(all, f.root, func(p entry) bool { return f.notes(p) && free(p) }, free))
	living = living[:min(len(living), maxNoted)]
	commands, found := commandsOf(living), make([]member, len(living))
	for i, p := range living {
		found[i] = member{p.Process, beginning(commands[p.PID])}
	}
	return found
}

// reap drops finished processes, and reaps those whose parent is this process.
func (f family) reap(all []entry) []entry {
	return slices.DeleteFunc(all, func(p entry) bool {
		if p.zombie && p.parent == os.Getpid() && p.PID != f.waits {
			_, _ = syscall.Wait4(p.PID, nil, syscall.WNOHANG, nil) // an error means it is gone, as wanted
		}
		return p.zombie
	})
}

// reach returns the processes that are own, and those that descend from root or
// from one of them through processes that may all be included. It never
// includes the system's first process or this one.
func reach(all []entry, root int, own, along func(entry) bool) (found []entry) {
	within, children := map[int]bool{0: true, 1: true, root: true, os.Getpid(): true}, map[int][]entry{}
	take := func(p entry) {
		if !within[p.PID] {
			within[p.PID] = true
			found = append(found, p)
		}
	}
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p)
		if own(p) {
			take(p)
		}
	}
	takeChildren := func(pid int) {
		for _, p := range children[pid] {
			if along(p) {
				take(p)
			}
		}
	}
	if root != 0 {
		takeChildren(root)
	}
	for i := 0; i < len(found); i++ { // it grows during the loop
		takeChildren(found[i].PID)
	}
	return found
}

// Limits on what is recorded of a family: the number of members, the bytes of
// each command line, and the bytes of the file.
const (
	maxNoted  = 1_000
	maxWords  = 200
	maxFamily = maxNoted * (maxWords*6 + 200) // JSON writes a byte as up to six
)

// beginning returns the part of a command line that is recorded.
func beginning(command string) string {
	return strings.ToValidUTF8(command[:min(len(command), maxWords)], "?")
}

// loadFamily reads the recorded family of the agent in a folder. The agent can
// write there too: a file that is too long or not such a list counts as empty.
func loadFamily(dir string) (noted []member) {
	raw, err := readFile(filepath.Join(dir, familyFile), maxFamily)
	if err != nil || json.Unmarshal(raw, &noted) != nil || len(noted) > maxNoted {
		return nil // the marks must suffice
	}
	return noted
}

// KillRest ends what a dead supervisor left of the agent of a folder. Its
// keeper, if any, is ended last: while it lives, everything unmarked that the
// agent left is below it.
func KillRest(agent, dir string) {
	rest := family{agent: agent, noted: loadFamily(dir)}
	rest.spares = func(p entry) bool { return keeps(commandsOf([]entry{p})[p.PID], agent) }
	rest.end(killGrace)
	rest.spares = nil
	rest.end(0)
}

// killGrace is the time from SIGTERM to SIGKILL for what a supervisor left.
const killGrace = 2 * time.Second
