package supervise

import (
	"context"
	"strings"
	"time"

	"flame/core"
)

type watch struct {
	s      *Supervisor
	limits Limits
	begun  time.Time
	heard  time.Time // when the last line came
	spoke  time.Time // when the last line came that was about the agent's work
	active bool      // the journal knows that it is running
	looks  int       // number of looks at the output so far
}

// until returns when the process is over, or with the reason why it must end.
func (w *watch) until(ctx context.Context, c *child) stop {
	look, tell := time.NewTicker(w.s.Pace.Look), time.NewTicker(w.s.Pace.Tell)
	defer look.Stop()
	defer tell.Stop()
	for {
		select {
		case <-c.over:
			return stop{}
		case <-ctx.Done():
			return w.s.told()
		case <-look.C:
			// At 1, 2, 4, …: a young family changes fast. One that has just
			// changed may be between fork and exec.
			if w.looks++; w.looks&(w.looks-1) == 0 || w.s.changed {
				w.s.remember()
			}
			w.read()
			if end := w.check(); end.state != "" {
				return end
			}
		case <-tell.C:
			if end := w.s.tell(ctx); end.state != "" {
				return end
			}
		}
	}
}

// read processes new lines and reports whether there are more.
func (w *watch) read() bool {
	s := w.s
	s.account.measure(s.Meter)
	more, err := s.tail.lines(w.take)
	if err != nil {
		s.Log.Warn("output", "error", err)
		return false
	}
	if s.account.known && !w.active {
		if err := s.Journal.Active(context.Background(), s.account.Progress); err != nil {
			s.Log.Warn("journal", "error", err)
		} else {
			w.active = true
		}
	}
	return more
}

func (w *watch) take(line []byte) {
	w.heard = time.Now()
	w.s.account.LastLine = core.MillisOf(w.heard)
	if !object(line) {
		w.s.account.overhear(line)
		return
	}
	m := w.s.Read(line)
	if m.Role != core.RoleOther || len(m.Notes) > 0 {
		w.spoke = w.heard
	}
	w.s.account.note(m)
}

// drain reads what a process that is over has left unread. What cannot be read within the time
// that the agent has left, or Pace.Grace, is skipped but for its end, where the result is.
func (w *watch) drain() {
	until := time.Now().Add(max(w.s.Pace.Grace, w.s.left(w.limits)))
	for w.read() {
		if time.Now().After(until) {
			w.s.tail.skipToEnd()
			w.read()
			break
		}
	}
	w.s.tail.last(w.take)
}

// check returns what ends a process now: that it is over its limits, or said that it
// is done and does not go.
func (w *watch) check() stop {
	a, l, s := &w.s.account, w.limits, w.s
	silent, rests := time.Since(w.heard), a.settled && time.Since(w.spoke) > s.Pace.linger(len(a.running) > 0)
	timeout := func(reason string) stop {
		return stop{state: core.AgentTimeout, reason: reason, handBack: true, fatal: OverBudget(reason)}
	}
	switch {
	case rests && a.failed != "":
		return stop{state: core.AgentError, reason: "the host ended with an error", failure: a.failed, transient: transient(a.failed)}
	case rests:
		return stop{state: core.AgentCompleted, reason: "the host did not exit by itself"}
	case !a.known && l.Start > 0 && time.Since(w.begun) > l.Start:
		end := timeout("no line came within " + core.Span(l.Start.Milliseconds()))
		end.transient = a.Attempt == 0 // a host that hung as it began has done nothing; one that does so twice waits for something
		return end
	case a.known && l.Idle > 0 && silent > l.Idle:
		return timeout("nothing came for " + core.Span(l.Idle.Milliseconds()))
	case l.Wall > 0 && s.left(l) <= 0:
		return timeout("it took over " + core.Span(l.Wall.Milliseconds()))
	case w.s.Job.Fatal != "" && strings.Contains(w.s.complaints(), w.s.Job.Fatal):
		return stop{state: core.AgentError, reason: "the host does not enforce the agent's limits", failure: w.s.Job.Fatal, fatal: true}
	case l.Output > 0 && s.printed() > l.Output:
		return stop{state: core.AgentError, reason: "it printed more than the limit"}
	}
	if reason := a.over(l); reason != "" {
		return stop{state: core.AgentError, reason: reason, handBack: true, fatal: OverBudget(reason)}
	}
	return stop{}
}
