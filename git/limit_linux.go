package git

import "golang.org/x/sys/unix"

// limit bounds the memory of a process and of its future children, in bytes. Files
// that git maps, such as packs, do not count (setrlimit(2), RLIMIT_DATA). A process
// that has ended needs no limit.
func limit(pid int, memory uint64) {
	_ = unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: memory, Max: memory}, nil)
}
