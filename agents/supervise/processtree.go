package supervise

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"flame/core"
)

// A processTree has all processes that work for an agent: the descendants of root, without root
// itself; the processes that bear the agent's mark; the recorded members; and the descendants
// of all these. A process that bears the mark of another supervised agent belongs to that one,
// with everything below it.
type processTree struct {
	agent  string
	root   int              // 0: the agent has none
	noted  []member         // when it was last looked at
	waits  int              // pid of a child that another part of this program waits for; 0: none
	spares func(entry) bool // members to leave alone; nil: none
}

// A member is a process of an agent's tree as recorded. It identifies a process that
// removed its mark and left its parents.
type member struct {
	Process
	Command string `json:"command"` // the beginning of its command line
}

// end ends the family with SIGTERM first, SIGKILL after grace, and returns once
// nothing of it is left.
func (f processTree) end(grace time.Duration) {
	told, always := map[Process]bool{}, func() bool { return true }
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		left, waited := f.living(), time.Since(begun)
		if len(left) == 0 {
			left = f.living() // the list lacks a process that was forked after the listing by a parent that had ended before it was read
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

func (f processTree) living() []entry {
	all := processes()
	marks := marksOf(all)
	free := f.free(all, marks)
	own := func(p entry) bool { return f.agent != "" && marks[p.PID] == f.agent || f.notes(p) && free(p) }
	return slices.DeleteFunc(f.reap(reach(all, f.root, own, free)), func(p entry) bool { return f.spares != nil && f.spares(p) })
}

// free returns a function that reports whether a process bears no mark of
// another agent that has a supervisor or keeper: anyone can set a mark.
func (f processTree) free(all []entry, marks map[int]string) func(entry) bool {
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
func (f processTree) notes(p entry) bool {
	return slices.ContainsFunc(f.noted, func(m member) bool {
		return m.Process == p.Process && m.Command != "" && m.Command == beginning(commandsOf([]entry{p})[p.PID])
	})
}

// members returns the family's processes that are below root or were recorded,
// in the form to record.
func (f processTree) members() []member {
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
func (f processTree) reap(all []entry) []entry {
	return slices.DeleteFunc(all, func(p entry) bool {
		if p.zombie && p.parent == os.Getpid() && p.PID != f.waits {
			_, _ = syscall.Wait4(p.PID, nil, syscall.WNOHANG, nil) // an error means it is gone, as wanted
		}
		return p.zombie
	})
}

// reach returns the processes that are own, and the descendants of root and of own processes,
// as far as all processes between them may be included. It never includes the system's first
// process or this one.
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

// Limits on what is recorded of such a tree: the number of members, the bytes of
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

// KillLeftovers ends the processes that a dead supervisor left of the agent of a folder. It ends
// the keeper last: while the keeper lives, all unmarked processes of the agent are below it.
func KillLeftovers(agent, dir string) {
	rest := processTree{agent: agent, noted: loadFamily(dir)}
	rest.spares = func(p entry) bool {
		command := commandsOf([]entry{p})[p.PID]
		return supervises(command, agent) && slices.Contains(strings.Fields(command), keepOption)
	}
	rest.end(killGrace)
	rest.spares = nil
	rest.end(0)
}

// killGrace is the time from SIGTERM to SIGKILL for processes that a supervisor left.
const killGrace = 2 * time.Second

// keepOption makes `supervise` the keeper of another one.
const keepOption = "--keep"

// RunKeeper runs the supervisor of an agent, `program supervise AGENT`, and ends
// everything it leaves. On Linux nothing escapes, however early the supervisor
// is killed: its orphans become this process's children. Elsewhere a process
// that removed its mark is found only if it was recorded (family.json). A
// supervisor that ends normally leaves nothing, and agents that the agent
// started have keepers of their own and continue. A keeper that is itself
// killed takes nothing with it: the supervisor continues, and the process that
// recovers the agent ends the rest.
func RunKeeper(seat StartSpec) error {
	// The supervisor handles these. If they were ignored here, they would be
	// ignored by everything below.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	unbound := adopt()
	cmd := seat.command()
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		now := core.MillisOf(time.Now())
		return errors.Join(unbound, err, save(filepath.Join(seat.Dir, outcomeFile), Outcome{
			State: core.AgentError, Reason: "its supervisor could not be started", Error: err.Error(),
			Partial: true, ExitCode: -1, StartedAt: now, EndedAt: now,
		}))
	}
	_ = cmd.Wait() // however it ended
	processTree{agent: seat.Agent, root: os.Getpid(), noted: loadFamily(seat.Dir)}.end(killGrace)
	return unbound
}

// A StartSpec holds what is needed to start an agent's supervisor: `program
// supervise AGENT`, with Env on top of this process's environment.
type StartSpec struct {
	Program string
	Agent   string   // subagent_id
	Dir     string   // the agent's folder
	Cwd     string   // the supervisor's working folder
	Env     []string // NAME=value
}

// Start starts a supervisor through a process that exits at once, so that no ancestor can end
// it: OpenCode kills all descendants of its MCP servers when it exits (observed). It returns
// the process of the supervisor's keeper, which lives at least as long; the supervisor reports
// its own when it begins.
func Start(ctx context.Context, seat StartSpec) (Process, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, seat.Program, "supervise", "--detach", seat.Agent)
	cmd.Dir, cmd.Env = seat.Cwd, append(os.Environ(), seat.Env...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return Process{}, fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	var p Process
	return p, json.Unmarshal(stdout.Bytes(), &p)
}

// StartKeeper starts the keeper of a supervisor (RunKeeper) and returns its process
// without waiting for it or for the supervisor. This process itself does not
// bear the agent's mark: otherwise a supervisor that finishes at once would end the
// process that started it.
func StartKeeper(seat StartSpec) (Process, error) {
	log, err := appendTo(filepath.Join(seat.Dir, LogFile))
	if err != nil {
		return Process{}, err
	}
	defer log.Close()
	cmd := seat.command(keepOption)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return Process{}, err
	}
	p, _ := process(cmd.Process.Pid)
	p.PID = cmd.Process.Pid
	return p.Process, cmd.Process.Release()
}

// command returns `program supervise OPTION… AGENT` in a session of its own,
// without a terminal, with the agent's mark.
func (s StartSpec) command(options ...string) *exec.Cmd {
	cmd := exec.Command(s.Program, append(append([]string{"supervise"}, options...), s.Agent)...)
	cmd.Dir, cmd.Env = s.Cwd, append(append(environment(core.AgentVariable), core.AgentVariable+"="+s.Agent), s.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}
