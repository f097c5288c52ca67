package usage

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"flame/core"
	"flame/project"
)

// A Request is what a gateway saw of one request to a session's model.
type Request struct {
	Answer  string      // id of the answer, as the host's log names it; empty if none came
	Class   string      // what the host asked for: one of the classes; another word, or empty, is possible
	Model   string      // that was asked
	Asked   core.Millis // when it arrived at the gateway
	First   core.Millis // ms from then to the first token; 0 if none came
	Took    core.Millis // ms from then to the end of the answer
	Status  int         // of HTTP; 0 if the upstream gave none
	Usage   core.Usage  // with its cost in USD
	Window  int         // tokens that the model takes, as the request or its refusal says; 0: they do not
	Context int         // tokens of the session's context then; 0 for requests beside the conversation
	Given   int64       // bytes of the body as the host sent it
	Sent    int64       // bytes of the body as it went on
}

// classes are what a host may ask a model for, and what stands for any other word.
var classes = []string{"main", "subagent", "workflow", "compaction", "auxiliary", otherClass}

const otherClass = "other"

// class returns which of the classes the request is of.
func (r *Request) class() string {
	if slices.Contains(classes, r.Class) {
		return r.Class
	}
	return otherClass
}

// answer returns the request's answer, as the gateway tells of it. One that never came
// has a name of its own, by which the request is known again.
func (r *Request) answer() answer {
	if r.Answer != "" {
		return answer{ID: r.Answer, Told: true}
	}
	return answer{ID: fmt.Sprint("none ", r.Asked, " ", r.Took, " ", r.Given), Told: true, Shown: true}
}

// failed reports whether the upstream gave no answer.
func (r *Request) failed() bool { return r.Status == 0 || r.Status >= 400 }

// usage returns what the request took; which tools were called, only the log tells.
func (r *Request) usage() core.Usage {
	used := r.Usage
	used.ToolCalls = 0
	return used
}

// tally returns what the request alone comes to.
func (r *Request) tally() Tally {
	t := Tally{Requests: 1, Usage: r.usage(), Given: r.Given, Sent: r.Sent}
	if r.failed() {
		t.Failed = 1
	}
	if r.First > 0 {
		t.Begun, t.FirstSum, t.FirstMax = 1, r.First, r.First
	}
	return t
}

// data returns what an event tells of the request.
func (r *Request) data() map[string]any {
	return map[string]any{
		"class": r.class(), "model": core.OneLine(r.Model, 100), "status": r.Status, "first": r.First, "took": r.Took,
		"in": r.Usage.TokensIn, "out": r.Usage.TokensOut, "cacheRead": r.Usage.CacheRead, "cacheWritten": r.Usage.CacheWritten,
		"cost": r.Usage.CostUSD, "given": r.Given, "sent": r.Sent,
	}
}

// Meter counts requests of the step's session. It changes nothing of the session itself.
// Each answer is counted once, whether its log or the gateway tells of it first, and
// however often. Requests of a session without a frame are charged when it has one.
func Meter(s *project.Step, requests []Request) error {
	m, err := meterOf(s)
	if err != nil {
		return err
	}
	requests = slices.Clone(requests)
	slices.SortStableFunc(requests, func(a, b Request) int { return cmp.Compare(a.Asked, b.Asked) })
	sums := tallies{}
	for i := range requests {
		r := &requests[i]
		before := m.see(r.answer())
		if before.Told {
			continue // the gateway repeats itself
		}
		m.wait(r, before.Shown)
		sums.add(tallies{r.class(): r.tally()})
		if err := s.Emit(core.RequestAnswered, m.worked.At(r.Asked, m.home), r.data()); err != nil {
			return err
		}
	}
	return errors.Join(
		note(s.Tx, recordByHost, s.Session.Host, sums), note(s.Tx, recordBySession, s.Session.ID, sums), m.settle(s),
	)
}

// A meter counts requests of one session.
type meter struct {
	joined
	home   string
	worked project.Timeline
	from   core.Millis // requests before this are counted by the supervisor of an agent
}

// meterOf returns the meter of the step's session.
func meterOf(s *project.Step) (m meter, err error) {
	var log project.Transcript
	if _, err = project.RecordTranscript.Load(s.Tx, s.Session.ID, &log); err != nil {
		return m, err
	}
	known, err := recordJoined.Load(s.Tx, s.Session.ID, &m.joined)
	if err != nil {
		return m, err
	}
	if !known && log.Until > 0 {
		m.Unread = log
	}
	if m.from, err = supervised(s, log); err != nil {
		return m, err
	}
	if m.worked, err = project.TimelineOf(s.Tx, s.Session.ID); err != nil {
		return m, err
	}
	m.home, err = homeOf(s, s.Session)
	return m, err
}

// supervised returns until when a supervisor counts what the step's session uses: its
// own, or for a child that nobody follows that of its parent.
func supervised(s *project.Step, log project.Transcript) (core.Millis, error) {
	if s.Session.Parent == "" || s.Session.Tracked || s.Session.HasFrame() {
		return log.From, nil
	}
	var above project.Transcript
	_, err := project.RecordTranscript.Load(s.Tx, s.Session.Parent, &above)
	return max(log.From, above.From), err
}

// wait adds a request to those that are to be charged. Its usage is not, where the log
// has shown the answer or a supervisor counts it.
func (m *meter) wait(r *Request, shown bool) {
	w := waiting{Answer: r.Answer, At: r.Asked, Usage: r.usage(), Context: r.Context, Classes: tallies{r.class(): r.tally()}}
	if shown || r.Asked < m.from {
		w.Usage = core.Usage{}
	}
	if shown {
		w.Context = 0
	}
	m.Waiting = append(m.Waiting, w)
}

// patience is how long requests of a child wait for its frame, in ms: hosts tell of the
// child after its first answer.
const patience = 10_000

// settle charges what can be charged now, and has the rest charged later.
func (m *meter) settle(s *project.Step) error {
	id, due := s.Session.ID, s.Now
	if s.Session.Parent == "" || s.Session.HasFrame() {
		if err := m.charge(s, id, m.home); err != nil {
			return err
		}
	} else if !m.unread() {
		due += patience
	}
	waits := len(m.Waiting) > 0 || m.unread()
	if err := m.save(s.Tx, id); err != nil || !waits {
		return err
	}
	_, set, err := s.Tx.Deadline(project.UsageDeadline, id)
	if set || err != nil {
		return err
	}
	return s.Tx.SetDeadline(project.Deadline{Kind: project.UsageDeadline, Subject: id, Due: due, Set: s.Now})
}
