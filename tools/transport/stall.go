package transport

import (
	"sync"
	"syscall"
	"time"
)

// A stall is noticed when no answer has been delivered for grace: the client
// does not read, or its request waits for something. A request that is being
// worked on gets more time, as a large message needs on a busy machine.
type stall struct {
	noticed func()
	timer   *time.Timer

	mu      sync.Mutex
	writing bool          // a message is being written to the client
	used    time.Duration // processor time of this process when the wait began
	rounds  int           // how often the wait was extended
}

const (
	// atWork is the processor time that a process uses during grace if it is
	// not just waiting: its share of a busy machine, and more than a server's
	// own housekeeping of some 10 ms.
	atWork = 50 * time.Millisecond
	// maxRounds bounds a request that never ends.
	maxRounds = 3
)

// newStall returns a stall that calls noticed; it does not count before begin.
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

// watch returns write, recording the answers that are delivered.
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

// processorTime returns the processor time of this process so far, or 0 if the
// system does not report it.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
