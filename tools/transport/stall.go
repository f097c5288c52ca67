package transport

import (
	"sync"
	"syscall"
	"time"
)

// A stall is noticed when no answer has got away for grace: the client does not read,
// or what it asked for waits for something. What is being worked at is given more time,
// as a large message needs on a busy machine.
type stall struct {
	noticed func()
	timer   *time.Timer

	mu      sync.Mutex
	writing bool          // a message is on its way to the client
	used    time.Duration // of the processor by this process, when the wait began
	rounds  int           // how often the wait was prolonged
}

const (
	// atWork is how much of the processor a process uses in grace that does not wait:
	// its share of a busy machine, and more than a server's own housekeeping, some 10 ms.
	atWork = 50 * time.Millisecond
	// maxRounds bounds what never comes to its end.
	maxRounds = 3
)

// newStall calls noticed at the stall; none counts before begin.
func newStall(noticed func()) *stall {
	s := &stall{noticed: noticed}
	s.timer = time.AfterFunc(grace, s.look)
	s.timer.Stop()
	return s
}

func (s *stall) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wait()
}

func (s *stall) wait() {
	s.used = processorTime()
	s.timer.Reset(grace)
}

func (s *stall) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writing || s.rounds == maxRounds || processorTime()-s.used < atWork {
		s.noticed()
		return
	}
	s.rounds++
	s.wait()
}

// watch returns write, noting the answers that get away.
func (s *stall) watch(write func(output) error) func(output) error {
	return func(o output) error {
		s.setWriting(true)
		defer s.setWriting(false)
		err := write(o)
		if o.last && s.timer.Stop() { // false before begin
			s.begin()
		}
		return err
	}
}

func (s *stall) setWriting(writing bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writing = writing
}

// processorTime returns what this process has used of the processor so far; 0 where the
// system does not tell.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
