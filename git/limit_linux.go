package git

import "golang.org/x/sys/unix"

// maxMemory bounds what git may allocate, in bytes: a link to /dev/zero in
// place of a reference or a list of attributes is read until memory runs out.
// Files that git maps, such as packs, do not count (setrlimit(2), RLIMIT_DATA).
const maxMemory = 1 << 30

// limit bounds the memory of a process and of its future children. A process
// that has ended needs no limit.
func limit(pid int) {
	_ = unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: maxMemory, Max: maxMemory}, nil)
}
