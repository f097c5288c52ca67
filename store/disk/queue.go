package disk

import (
	"os"
	"slices"
	"sync"
)

// waits are the waits for locks that other processes hold. They are the process's and not
// those of a Store, because threads are: a system call cannot be interrupted, so a wait
// that is given up leaves its thread behind until the lock is released. Hence all waits
// for a file share one thread.
var waits waiting

// A waiting is the queues of a process.
type waiting struct {
	sync.Mutex
	queues []*queue
}

// A queue is the waits for one kind of lock on one file, the first come first.
type queue struct {
	file    os.FileInfo
	how     int
	on      *os.File // as opened by the wait whose system call this is, which may be given up
	waiters []*waiter
}

// A waiter is the wait of one caller.
type waiter struct {
	queue *queue
	file  *os.File      // that the caller opened; once it is over, the one that has the lock
	err   error         // instead of the lock
	over  chan struct{} // closed when the lock is granted or err is set
}

// join adds a wait with an open file.
func (a *waiting) join(file *os.File, how int) (*waiter, error) {
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

// leave gives up a wait and closes its file, unless the wait is over.
func (a *waiting) leave(w *waiter) (left bool) {
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

// serve takes the lock for one wait after the other, first with file.
func (a *waiting) serve(q *queue, file *os.File) {
	for file != nil {
		file = a.grant(q, flock(file, q.how))
	}
}

// grant gives the lock that q.on has to the first wait, or an error, and returns the file
// for the next. A lock that nobody waits for any more is released.
func (a *waiting) grant(q *queue, err error) (next *os.File) {
	a.Lock()
	defer a.Unlock()
	if len(q.waiters) == 0 {
		q.on.Close()
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
