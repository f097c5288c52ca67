//go:build !linux

package supervise

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"flame/core"
)

// adopt does nothing on systems without subreapers: what leaves the tree is
// found by its mark, or by its record.
func adopt() error { return nil }

// ps runs ps so that it prints times the same way for every user.
func ps(args ...string) string {
	cmd := exec.Command("ps", args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC")
	out, err := cmd.Output()
	if err != nil {
		return "" // there are none
	}
	return string(out)
}

// listed asks ps; a start is five words there.
func listed(args ...string) (all []entry) {
	for line := range strings.Lines(ps(append(args, "-o", "pid=,ppid=,stat=,lstart=,comm=")...)) {
		fields := strings.Fields(line)
		if len(fields) < 9 {
			continue
		}
		pid, _ := strconv.Atoi(fields[0])
		parent, _ := strconv.Atoi(fields[1])
		if pid > 0 {
			all = append(all, entry{
				Process: Process{PID: pid, Started: strings.Join(fields[3:8], " ")}, parent: parent,
				name:   filepath.Base(strings.Join(fields[8:], " ")),
				zombie: strings.HasPrefix(fields[2], "Z"),
			})
		}
	}
	return all
}

func processes() []entry { return listed("-A") }

func process(pid int) (entry, bool) {
	for _, p := range listed("-p", strconv.Itoa(pid)) {
		return p, true
	}
	return entry{}, false
}

// stillThere reports whether a process may still run: whether any has its pid. Unlike ps,
// that costs nothing.
func stillThere(p Process) bool { return !errors.Is(syscall.Kill(p.PID, 0), syscall.ESRCH) }

// elsewhere concerns pid namespaces, which other systems lack.
func elsewhere(string) bool { return false }

// marksOf reads the environments that ps shows of the user's own processes, behind
// their commands.
func marksOf(all []entry) map[int]string {
	marks, commands := map[int]string{}, commandsOf(all)
	for pid, shown := range texts(all, "-E") {
		environment, _ := strings.CutPrefix(shown, commands[pid]) // words of a command are not a mark
		_, after, found := strings.Cut(environment, " "+core.AgentVariable+"=")
		if mark := strings.Fields(after); found && len(mark) > 0 {
			marks[pid] = mark[0]
		}
	}
	return marks
}

// commandsOf returns the words that processes were started with, by pid.
func commandsOf(all []entry) map[int]string { return texts(all) }

// texts returns what ps shows as the commands of processes, by pid.
func texts(all []entry, args ...string) map[int]string {
	found := map[int]string{}
	if len(all) == 0 {
		return found
	}
	pids := make([]string, len(all))
	for i, p := range all {
		pids[i] = strconv.Itoa(p.PID)
	}
	for line := range strings.Lines(ps(append(args, "-ww", "-o", "pid=,command=", "-p", strings.Join(pids, ","))...)) {
		number, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		if pid, err := strconv.Atoi(number); err == nil {
			found[pid] = strings.TrimSpace(text)
		}
	}
	return found
}
