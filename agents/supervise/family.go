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

// A family is all that works for an agent: what is below root, but not root itself;
// what bears the agent's mark; what was noted of it; and what descends from those.
// A process that bears the mark of another agent which is supervised is that one's,
// with all below it.
type family struct {
	agent  string
	root   int              // 0: the agent has none
	noted  []member         // when it was looked at last
	waits  int              // pid of a child that another part of this program waits for; 0: there is none
	spares func(entry) bool // which of it to leave alone; nil: none
}

// A member is a process of a family as it was noted. One that took off its mark and
// left its parents is still known by that.
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
			return // what even SIGKILL does not end hangs in the system
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

// living returns the family's processes that are not over.
func (f family) living() []entry {
	all := processes()
	marks := marksOf(all)
	free := f.free(all, marks)
	own := func(p entry) bool { return f.agent != "" && marks[p.PID] == f.agent || f.notes(p) && free(p) }
	return slices.DeleteFunc(f.reap(reach(all, f.root, own, free)), func(p entry) bool { return f.spares != nil && f.spares(p) })
}

// free tells which processes bear no mark of another agent that has a supervisor or
// keeper: anyone can set one.
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

// notes reports whether a process was noted as one of the family and still is what
// it was then.
func (f family) notes(p entry) bool {
	return slices.ContainsFunc(f.noted, func(m member) bool {
		return m.Process == p.Process && m.Command != "" && m.Command == beginning(commandsOf([]entry{p})[p.PID])
	})
}

// members returns what of the family is below root or was noted, as it is to be noted.
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

// reap leaves out processes that are over, and takes those from the system whose
// parent this process has become.
func (f family) reap(all []entry) []entry {
	return slices.DeleteFunc(all, func(p entry) bool {
		if p.zombie && p.parent == os.Getpid() && p.PID != f.waits {
			_, _ = syscall.Wait4(p.PID, nil, syscall.WNOHANG, nil) // gone is what is wanted
		}
		return p.zombie
	})
}

// reach returns the processes that are own, and those that descend from root or from
// one of them as far as all between may be taken along. The system's first process
// and this one are not among them.
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
	for i := 0; i < len(found); i++ { // it grows meanwhile
		takeChildren(found[i].PID)
	}
	return found
}

// What is noted of a family: so many members at most, of each command line so many
// bytes, and so many in the file, which that may not exceed.
const (
	maxNoted  = 1_000
	maxWords  = 200
	maxFamily = maxNoted * (maxWords*6 + 200) // JSON writes a byte as up to six
)

// beginning returns so much of a command line as is noted.
func beginning(command string) string {
	return strings.ToValidUTF8(command[:min(len(command), maxWords)], "?")
}

// loadFamily reads what was noted of the family of an agent in its folder. The agent
// can write there, too: a file that is too long or no such list says nothing.
func loadFamily(dir string) (noted []member) {
	raw, err := readFile(filepath.Join(dir, familyFile), maxFamily)
	if err != nil || json.Unmarshal(raw, &noted) != nil || len(noted) > maxNoted {
		return nil // the marks must do
	}
	return noted
}

// KillRest ends what a supervisor that is gone has left of the agent of a folder. Its
// keeper, if it has one, comes last: while that lives, all that the agent left without
// a mark is below it.
func KillRest(agent, dir string) {
	rest := family{agent: agent, noted: loadFamily(dir)}
	rest.spares = func(p entry) bool { return keeps(commandsOf([]entry{p})[p.PID], agent) }
	rest.end(killGrace)
	rest.spares = nil
	rest.end(0)
}

// killGrace is how long what a supervisor left has from SIGTERM to SIGKILL.
const killGrace = 2 * time.Second
