// Package trace counts a process's requests to the kernel. Unlike its time, these do not depend on
// other load on the machine.
package trace

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Counts are those of one process, with all its threads.
type Counts struct {
	Faults int            // page faults that needed no disk
	Peak   int            // peak resident memory, in KB
	Calls  map[string]int // system calls, by the kinds in kinds
}

// kinds are the counted system calls. Calls by which threads wait for each other are not among
// them: their number depends on chance.
var kinds = map[uint64]string{
	unix.SYS_STAT: "stat", unix.SYS_LSTAT: "stat", unix.SYS_FSTAT: "stat", unix.SYS_NEWFSTATAT: "stat", unix.SYS_STATX: "stat",
	unix.SYS_OPEN: "open", unix.SYS_OPENAT: "open", unix.SYS_READLINK: "readlink", unix.SYS_READLINKAT: "readlink",
	unix.SYS_PREAD64: "read", unix.SYS_READ: "read", unix.SYS_PWRITE64: "write", unix.SYS_WRITE: "write",
	unix.SYS_FSYNC: "sync", unix.SYS_FDATASYNC: "sync", unix.SYS_FCNTL: "lock", unix.SYS_FLOCK: "lock",
	unix.SYS_CLONE: "thread", unix.SYS_CLONE3: "thread", unix.SYS_EXECVE: "program",
}

// Run runs a command to its end. It returns an error that wraps syscall.EPERM if this process may
// not trace others.
func Run(cmd *exec.Cmd) (Counts, error) {
	runtime.LockOSThread() // the kernel knows the tracer by its thread
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Setpgid: true}
	if err := cmd.Start(); err != nil {
		return Counts{}, err
	}
	t := tracer{leader: cmd.Process.Pid, inside: map[int]bool{}, counts: Counts{Calls: map[string]int{}}}
	err := t.follow()
	if err != nil {
		err = errors.Join(err, cmd.Process.Kill())
	}
	_ = cmd.Wait() // the tracer has seen its end already
	return t.counts, err
}

// A tracer follows one process.
type tracer struct {
	leader int
	inside map[int]bool // threads that are in a system call
	counts Counts
}

const options = unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEEXIT | unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_EXITKILL

// follow continues the process from stop to stop until it has ended.
func (t *tracer) follow() error {
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(t.leader, &status, 0, nil); err != nil {
		return err
	}
	if err := syscall.PtraceSetOptions(t.leader, options); err != nil {
		return err
	}
	for thread, signal := t.leader, 0; ; {
		if err := syscall.PtraceSyscall(thread, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
		var err error
		if thread, err = t.next(&status); err != nil {
			return err
		}
		if thread == t.leader && (status.Exited() || status.Signaled()) {
			return ended(status)
		}
		if signal, err = t.stopped(thread, status); err != nil {
			return err
		}
	}
}

// next waits for the next stop of a thread. Other children of this process are in other process
// groups.
func (t *tracer) next(status *syscall.WaitStatus) (thread int, err error) {
	for {
		thread, err = syscall.Wait4(-t.leader, status, unix.WALL, nil)
		if !errors.Is(err, syscall.EINTR) {
			return thread, err
		}
	}
}

// ended returns an error for a process that did not exit with status 0.
func ended(status syscall.WaitStatus) error {
	if status.Exited() && status.ExitStatus() == 0 {
		return nil
	}
	return fmt.Errorf("the process ended with status %#x", int(status))
}

// stopped counts the system call that a thread begins, and returns the signal for the thread.
func (t *tracer) stopped(thread int, status syscall.WaitStatus) (signal int, err error) {
	switch {
	case !status.Stopped():
		return 0, nil
	case status.StopSignal() == syscall.SIGTRAP|0x80:
		if t.inside[thread] = !t.inside[thread]; !t.inside[thread] {
			return 0, nil
		}
		var registers syscall.PtraceRegs
		if err := syscall.PtraceGetRegs(thread, &registers); err != nil && !errors.Is(err, syscall.ESRCH) {
			return 0, err
		}
		if kind := kinds[registers.Orig_rax]; kind != "" {
			t.counts.Calls[kind]++
		}
		return 0, nil
	case status.TrapCause() == unix.PTRACE_EVENT_EXIT && thread == t.leader:
		return 0, t.look()
	case status.StopSignal() == syscall.SIGTRAP, status.StopSignal() == syscall.SIGSTOP:
		return 0, nil // of the tracing itself
	}
	return int(status.StopSignal()), nil
}

// look reads the kernel's figures of the process, which is about to end.
func (t *tracer) look() error {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", t.leader))
	if err != nil {
		return err
	}
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscanf(peak, "%d kB", &t.counts.Peak); err != nil {
		return fmt.Errorf("peak of memory: %w", err)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", t.leader))
	if err != nil {
		return err
	}
	// The fields after the name, which may contain spaces, begin with the third; the tenth counts
	// the faults.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	t.counts.Faults, err = strconv.Atoi(fields[7])
	return err
}
