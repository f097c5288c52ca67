package git

import "golang.org/x/sys/unix"

// limit bounds the memory of a process and of its future children, in bytes. Mapped files,
// such as packs, do not count (setrlimit(2), RLIMIT_DATA). limit ignores the error for a
// process that has ended.
func limit(pid int, memory uint64) {
	_ = unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: memory, Max: memory}, nil)
}
