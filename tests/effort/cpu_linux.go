package effort

import (
	"runtime"
	"syscall"
	"testing"
	"time"
)

// Quick fails a test whose f takes more than limit of the processor. It counts the time of
// the one thread that f runs on, so a busy machine changes nothing; work that f leaves to
// other goroutines is not counted. The race detector slows code ten to forty times.
func Quick(t testing.TB, limit time.Duration, f func()) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadTime(t)
	f()
	if took := threadTime(t) - before; took > limit {
		t.Errorf("it took %v of the processor, more than %v", took, limit)
	}
}

// threadTime returns how long the processor has worked for this thread.
func threadTime(t testing.TB) time.Duration {
	t.Helper()
	const ofThisThread = 1 // RUSAGE_THREAD
	var used syscall.Rusage
	if err := syscall.Getrusage(ofThisThread, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
