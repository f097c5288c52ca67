//go:build !linux

package supervise

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"flame/core"
)

// adopt does nothing where the system knows no such thing: what leaves the tree is
// found by its mark.
func adopt() error { return nil }

// bound puts a child into a group of its own. Nothing here makes it die with its
// parent; whoever recovers the agent ends it.
func bound() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// listed asks ps; started takes five words there.
func listed(args ...string) (all []entry) {
	out, err := exec.Command("ps", append(args, "-o", "pid=,ppid=,stat=,lstart=,comm=")...).Output()
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(out)) {
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

// elsewhere is about namespaces, which other systems have none of.
func elsewhere(string) bool { return false }

// marksOf reads the environments that ps shows of the user's own processes, behind
// their commands.
func marksOf([]entry) map[int]string {
	marks := map[int]string{}
	out, err := exec.Command("ps", "-A", "-E", "-ww", "-o", "pid=,command=").Output()
	if err != nil {
		return marks
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		_, after, found := strings.Cut(line, " "+core.AgentVariable+"=")
		if mark := strings.Fields(after); found && len(mark) > 0 && len(fields) > 0 {
			if pid, err := strconv.Atoi(fields[0]); err == nil {
				marks[pid] = mark[0]
			}
		}
	}
	return marks
}

// commandOf gives the words that a process was started with.
func commandOf(pid int) []string {
	out, err := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return nil
	}
	return strings.Fields(string(out))
}
