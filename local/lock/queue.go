package lock

import (
	"os"
	"slices"
	"sync"
)

// waits are this process's waits for locks that other processes hold. A wait is a system call
// that cannot be interrupted: after its caller stops waiting, it keeps its thread until the
// lock is released. So all waits for a file in the process share one thread.
var waits waitQueues

// A waitQueues holds the queues of a process.
type waitQueues struct {
	sync.Mutex
	queues []*queue
}

// A queue holds the waits for one kind of lock on one file, the oldest first.
type queue struct {
	file    os.FileInfo
	how     int
	on      *os.File // that the system call waits for; its caller may have stopped waiting
	waiters []*waiter
}

// A waiter is the wait of one caller.
type waiter struct {
	queue *queue
	file  *os.File      // that the caller opened; after the wait, the file with the lock
	err   error         // of the wait
	over  chan struct{} // closed when file has the lock or err is set
}

// join adds a wait with an open file.
func (a *waitQueues) join(file *os.File, how int) (*waiter, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	a.Lock()
	defer a.Unlock()
	w := &waiter{file: file, over: make(chan struct{})}
	for _, q := range a.queues {
		if q.how == how && os.SameFile(q.file, info) {
			w.queue, q.waiters = q, append(q.waiters, w)
			return w, nil
		}
	}
	w.queue = &queue{file: info, how: how, on: file, waiters: []*waiter{w}}
	a.queues = append(a.queues, w.queue)
	go a.serve(w.queue, file)
	return w, nil
}

// leave removes a wait and closes its file. It reports false if the wait is over already.
func (a *waitQueues) leave(w *waiter) (left bool) {
	a.Lock()
	defer a.Unlock()
	q := w.queue
	i := slices.Index(q.waiters, w)
	if i < 0 {
		return false
	}
	q.waiters = slices.Delete(q.waiters, i, i+1)
	if w.file != q.on {
		w.file.Close()
	}
	return true
}

// serve takes the lock for one wait after another, beginning with file.
func (a *waitQueues) serve(q *queue, file *os.File) {
	for file != nil {
		file = a.grant(q, flock(file, q.how))
	}
}

// grant gives the lock of q.on, or an error, to the first waiter, and returns the next waiter's
// file. Without a waiter it releases the lock.
func (a *waitQueues) grant(q *queue, err error) (next *os.File) {
	a.Lock()
	defer a.Unlock()
	if len(q.waiters) == 0 {
		unlock(q.on)
	} else {
		w := q.waiters[0]
		q.waiters = q.waiters[1:]
		if w.file != q.on {
			w.file.Close()
		}
		w.file, w.err = q.on, err
		close(w.over)
	}
	if len(q.waiters) > 0 {
		q.on = q.waiters[0].file
		return q.on
	}
	a.queues = slices.DeleteFunc(a.queues, func(other *queue) bool { return other == q })
	return nil
}
