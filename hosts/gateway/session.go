package gateway

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"flame/core"
	"flame/core/fold"
	"flame/hosts"
	"flame/hosts/gateway/codec"
	"flame/project"
	"flame/project/turns"
	"flame/project/usage"
)

// notNoted is the edition of an unchanged request: flame does not note its answer, which
// therefore counts as an answer to the whole past.
const notNoted = fold.Unknown

const (
	patience     = 450 * time.Millisecond // that a request waits for the decision what to leave out
	patienceRead = 50 * time.Millisecond  // that it then waits for the previous decision
	maxRefused   = 2                      // refused edited requests in a row, after which flame edits no more of a session's
)

// hourLife is how long the API's cache keeps unused content, if a request asks for an hour.
const hourLife = core.Millis(60 * 60_000)

// A session is the gateway's memory of a session that sends requests.
type session struct {
	mu      sync.Mutex
	kept    *usage.RequestLog  // the state after the last decision; nil: there was none
	seen    []usage.SeenAnswer // the answers since, oldest first
	refused int                // edited requests in a row that the API refused
}

// sessionOf returns the session or subagent that sends a request; nil if the request does not
// name one.
func (g *Gateway) sessionOf(asked hosts.RequestInfo) *session {
	if asked.Session == "" {
		return nil
	}
	id := asked.Session + "/" + asked.Agent
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.sessions[id] == nil {
		g.sessions[id] = &session{}
	}
	return g.sessions[id]
}

// fold leaves the finished frames out of a request.
func (s *session) fold(ctx context.Context, x *exchange, request *codec.Request) {
	history := request.History(x.g.Wire)
	x.sent.names = request.Names()
	a, ok := s.decide(ctx, x, request, history)
	if !a.Counted {
		x.sent.uncounted.Count(history, a.Edits)
	}
	if !ok || a.Kept.Refused(history) >= maxRefused && x.asked.Class != hosts.ClassCompaction {
		return
	}
	x.sent.edition, x.sent.body = a.Edition, request.Amended(history, a.Edits)
}

// decide returns what to leave out; ok is false if that is unknown. If the store is unavailable,
// decide leaves out the same as before, as the rest may not fit the model's window.
func (s *session) decide(ctx context.Context, x *exchange, request *codec.Request, history []fold.Message) (a turns.RequestEdits, ok bool) {
	r := turns.Request{Untold: true, Undated: true, History: history}
	asks := request.Asks()
	if asks.Hour {
		r.CacheLife = hourLife
	}
	read, write := x.g.Wire.Prices(asks.Model, asks.Hour)
	inRound := len(history) > 0 && history[len(history)-1].IsToolResult
	r.Terms = fold.Conditions{Prices: fold.Prices{Read: read, Write: write}, Leads: asks.Leads, Holds: asks.Leads && inRound}
	s.mu.Lock()
	kept := s.kept
	r.Seen = slices.Clone(s.seen)
	s.mu.Unlock()
	soon, cancel := context.WithDeadline(ctx, x.due)
	defer cancel()
	a, err := turns.EditRequest(soon, x.g.Project, x.caller(), r)
	if err == nil {
		s.keep(a.Kept, r.Seen)
		return a, true
	}
	x.g.Log.Warn("flame could not decide what to leave out of a request", "session", x.asked.Session, "error", err)
	if kept != nil {
		a = turns.ReplayFrom(x.g.Project, *kept, r)
		s.keep(a.Kept, nil)
		return a, true
	}
	soon, cancel = context.WithDeadline(ctx, x.due.Add(patienceRead))
	defer cancel()
	if a, err = turns.ReplayEdits(soon, x.g.Project, x.caller(), r); err != nil {
		x.g.Log.Warn("flame sends a request unchanged", "session", x.asked.Session, "error", err)
		return a, false
	}
	s.keep(a.Kept, nil)
	return a, true
}

// keep keeps the state after a decision, and forgets answers that are stored.
func (s *session) keep(kept usage.RequestLog, stored []usage.SeenAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = &kept
	s.seen = slices.DeleteFunc(s.seen, func(a usage.SeenAnswer) bool { return slices.Contains(stored, a) })
}

// stopped reports whether flame no longer edits requests of a class. It still edits those for a
// summary, which may otherwise not fit the window.
func (s *session) stopped(class hosts.RequestClass) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused >= maxRefused && class != hosts.ClassCompaction
}

// answered notes the answer to a request.
func (s *session) answered(x *exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case x.refused() && x.sent.edited:
		if s.refused++; s.refused == maxRefused {
			x.g.Log.Warn("the API refused edited requests repeatedly: flame stops editing requests of this session", "session", x.asked.Session)
		}
	case x.metered.Status == 200 && x.sent.edited:
		s.refused = 0
	}
	if answer := x.answer(); answer != nil {
		s.seen = append(s.seen, *answer)
	}
}

// answer returns the note of an answer; nil if there is nothing to note, or for a summary, which
// comes back in a message of role user.
func (x *exchange) answer() *usage.SeenAnswer {
	refused := x.sent.edited && x.refused()
	if x.sent.edition == notNoted || !refused && (x.name == "" || x.asked.Class == hosts.ClassCompaction) {
		return nil
	}
	return &usage.SeenAnswer{Name: x.name, Time: x.metered.Asked, Edition: x.sent.edition, Refused: refused}
}

// A measurement is the data of a request that flame stores.
type measurement struct {
	by      project.Caller
	metered usage.MeteredRequest
	answer  *usage.SeenAnswer // nil: there is nothing to note
	sent    fold.Meter
}

// A measurementWriter stores measurements in order. No request waits for it.
type measurementWriter struct {
	g     *Gateway
	ready chan struct{}
	ended chan struct{}
	stop  context.CancelFunc

	mu      sync.Mutex
	waiting map[project.Caller][]measurement
	size    int // of all that wait
}

const (
	maxQueue     = 10_000          // tellings; further ones are lost
	tellIn       = 2 * time.Second // for the store, for one batch
	leastPause   = 100 * time.Millisecond
	longestPause = 5 * time.Second  // between two attempts
	lastTry      = 5 * time.Second  // to store the rest at the end
	toldIn       = 30 * time.Second // for hooks, to report a session
)

func newTeller(g *Gateway) *measurementWriter {
	ctx, stop := context.WithCancel(context.Background())
	t := &measurementWriter{g: g, ready: make(chan struct{}, 1), ended: make(chan struct{}), stop: stop, waiting: map[project.Caller][]measurement{}}
	go t.run(ctx)
	return t
}

// count passes a measurement on.
func (t *measurementWriter) count(m usage.MeteredRequest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.g.Metered != nil {
		t.g.Metered(m)
	}
}

func (t *measurementWriter) tell(one measurement) {
	t.count(one.metered)
	t.mu.Lock()
	if t.size < maxQueue {
		t.waiting[one.by] = append(t.waiting[one.by], one)
		t.size++
	} else {
		t.g.Log.Error("the usage of a request is lost: the store was unavailable for too long")
	}
	t.mu.Unlock()
	select {
	case t.ready <- struct{}{}:
	default: // it is awake already
	}
}

// close stores the rest, if that takes little time.
func (t *measurementWriter) close() {
	t.stop()
	<-t.ended
}

func (t *measurementWriter) run(ctx context.Context) {
	defer close(t.ended)
	tick := time.NewTicker(toldIn)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-t.ready:
		case <-tick.C:
		case <-ctx.Done():
		}
		for pause := leastPause; ctx.Err() == nil && !t.store(ctx, turns.StoreReport); pause = min(2*pause, longestPause) {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTry)
	defer cancel()
	_ = t.store(last, turns.StoreReport) && t.store(last, turns.StoreLateReport)
}

// store stores the waiting usage, and reports whether the store was available. Usage of unknown
// sessions waits for the next call, but not for long: flame may not be set up in the host.
func (t *measurementWriter) store(ctx context.Context, how func(context.Context, *project.Project, project.Caller, turns.Report) error) bool {
	for by, batch := range t.batches() {
		soon, cancel := context.WithTimeout(ctx, tellIn)
		err := how(soon, t.g.Project, by, reportOf(batch))
		if errors.Is(err, core.ErrNotFound) && t.waited(batch[0]) {
			err = turns.StoreLateReport(soon, t.g.Project, by, reportOf(batch))
		}
		cancel()
		switch {
		case errors.Is(err, core.ErrNotFound):
		case err != nil:
			t.g.Log.Warn("the usage of requests is not stored yet", "error", err)
			return false
		default:
			t.done(by, len(batch))
		}
	}
	return true
}

// waited reports whether usage has waited too long for its session to become known.
func (t *measurementWriter) waited(one measurement) bool {
	return t.g.Project.Now()-one.metered.Asked-one.metered.Took >= core.Millis(toldIn.Milliseconds())
}

// batches returns the waiting tellings, by caller.
func (t *measurementWriter) batches() map[project.Caller][]measurement {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.waiting)
}

// done takes the oldest tellings of a caller, which are stored, out of those that wait.
func (t *measurementWriter) done(by project.Caller, stored int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.size -= stored
	if t.waiting[by] = slices.Clone(t.waiting[by][stored:]); len(t.waiting[by]) == 0 {
		delete(t.waiting, by)
	}
}

func reportOf(batch []measurement) (r turns.Report) {
	for _, one := range batch {
		r.Requests, r.Sent = append(r.Requests, one.metered), r.Sent.Add(one.sent)
		if one.answer != nil {
			r.Seen = append(r.Seen, *one.answer)
		}
	}
	return r
}

// recordBehind, by gateway, is the session whose requests pass it.
const recordBehind project.RecordKind[behind] = "source.behind"

// A behind is a session behind a gateway.
type behind struct {
	Session string      `json:"session"`
	At      core.Millis `json:"at"` // when a hook reported it
}

// behindFor is how long a gateway is remembered without a report, in ms.
const behindFor = 7 * project.Day

// NoteBehind records that the requests of the caller's session pass the gateway around this process, if
// there is one: not every host's requests name their session.
func NoteBehind(ctx context.Context, p *project.Project, by project.Caller) error {
	if p.Gateway == "" || by.Parent != "" {
		return nil
	}
	return p.Store.Run(ctx, func(tx project.Tx) error {
		now := p.Now()
		known, err := recordBehind.Find(tx, p.Gateway)
		if err != nil || known.Session == by.Session && now-known.At < project.Day {
			return err
		}
		if err := recordBehind.Forget(tx, func(b behind) bool { return b.At+behindFor < now }); err != nil {
			return err
		}
		return recordBehind.Save(tx, p.Gateway, behind{Session: by.Session, At: now})
	})
}

// GatewaySession returns the session whose requests pass a gateway now; empty if no hook has reported one.
func GatewaySession(ctx context.Context, p *project.Project, gateway string) (session string, err error) {
	if gateway == "" {
		return "", nil
	}
	known, err := project.Read(ctx, p, func(tx project.Tx) (behind, error) { return recordBehind.Find(tx, gateway) })
	return known.Session, err
}
