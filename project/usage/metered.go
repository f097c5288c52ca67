package usage

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/samber/lo"

	"flame/core"
	"flame/project"
)

// A MeteredRequest is a gateway's report about one request to a session's model.
type MeteredRequest struct {
	Answer  string      // id of the answer in the host's log; empty if none came
	Class   string      // the purpose of the request: one of the classes; another word, or empty, is possible
	Model   string      // the requested model
	Asked   core.Millis // when it arrived at the gateway
	First   core.Millis // ms from then to the first token; 0 if none came
	Took    core.Millis // ms from then to the end of the answer
	Status  int         // of HTTP; 0 if the upstream gave none
	Usage   core.Usage  // with its cost in USD
	Window  int         // tokens that the model takes, by the request or its refusal; 0: unknown
	Context int         // tokens of the session's context then; 0 for requests outside of the conversation
	Given   int64       // bytes of the body that the host sent
	Sent    int64       // bytes of the body that the gateway forwarded
	Logged  bool        // the host's log has the answer by another id, and flame counts its usage from there
}

// classes are the purposes of requests, and a word for any other purpose.
var classes = []string{"main", "subagent", "workflow", "compaction", "auxiliary", otherClass}

const otherClass = "other"

// class returns the class of the request.
func (r *MeteredRequest) class() string {
	if slices.Contains(classes, r.Class) {
		return r.Class
	}
	return otherClass
}

// answer returns the request's answer in the gateway's report. An answer that never came gets
// a name by which flame recognizes the request.
func (r *MeteredRequest) answer() answer {
	if r.Answer != "" {
		return answer{ID: r.Answer, Told: true}
	}
	return answer{ID: fmt.Sprint("none ", r.Asked, " ", r.Took, " ", r.Given), Told: true, Shown: true}
}

// usage returns the request's usage without tool calls, which only the log shows.
func (r *MeteredRequest) usage() core.Usage {
	used := r.Usage
	used.ToolCalls = 0
	return used
}

// tally returns the Totals of the request alone.
func (r *MeteredRequest) tally() Totals {
	t := Totals{Requests: 1, Usage: r.usage(), BytesReceived: r.Given, BytesForwarded: r.Sent}
	if r.Status == 0 || r.Status >= 400 { // the upstream gave no answer
		t.Failed = 1
	}
	if r.First > 0 {
		t.Begun, t.FirstSum, t.FirstMax = 1, r.First, r.First
	}
	return t
}

// data returns the data of the request's event.
func (r *MeteredRequest) data() map[string]any {
	return map[string]any{
		"class": r.class(), "model": core.OneLine(r.Model, 100), "status": r.Status, "first": r.First, "took": r.Took,
		"in": r.Usage.TokensIn, "out": r.Usage.TokensOut, "cacheRead": r.Usage.CacheRead, "cacheWritten": r.Usage.CacheWritten,
		"cost": r.Usage.CostUSD, "given": r.Given, "sent": r.Sent,
	}
}

// CountRequests counts requests of the step's session. It does not change the session itself. It
// counts each answer once, whether the log or the gateway reports it first, and however
// often. It charges requests of a session without a frame once the session has one.
func CountRequests(s *project.Op, requests []MeteredRequest) error {
	m, err := meterOf(s)
	if err != nil {
		return err
	}
	requests = slices.Clone(requests)
	slices.SortStableFunc(requests, func(a, b MeteredRequest) int { return cmp.Compare(a.Asked, b.Asked) })
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
	answerJoin
	home   string
	worked project.Timeline
	from   core.Millis // the supervisor of an agent counts the requests before this
}

// meterOf returns the meter of the step's session.
func meterOf(s *project.Op) (m meter, err error) {
	log, err := project.RecordTranscript.Find(s.Tx, s.Session.ID)
	if err != nil {
		return m, err
	}
	known := false
	if m.answerJoin, known, err = recordJoined.Get(s.Tx, s.Session.ID); !known && log.Until > 0 {
		m.Unread = log
	}
	if err != nil {
		return m, err
	}
	if m.from, err = supervised(s, log); err != nil {
		return m, err
	}
	if m.worked, err = project.RecordWorked.Find(s.Tx, s.Session.ID); err != nil {
		return m, err
	}
	m.home, err = homeOf(s, s.Session)
	return m, err
}

// supervised returns the time until which a supervisor counts the usage of the step's
// session: its own supervisor or, for a child without a record of its own, that of its parent.
func supervised(s *project.Op, log project.Transcript) (core.Millis, error) {
	if s.Session.Parent == "" || s.Session.Tracked || s.Session.HasFrame() {
		return log.From, nil
	}
	above, _, err := project.RecordTranscript.Get(s.Tx, s.Session.Parent)
	return max(log.From, above.From), err
}

// wait adds a request to those to charge, without its usage if the log has shown the answer
// or a supervisor counts it.
func (m *meter) wait(r *MeteredRequest, shown bool) {
	w := pendingRequests{Answer: r.Answer, At: r.Asked, Usage: r.usage(), Context: r.Context, Classes: tallies{r.class(): r.tally()}}
	if shown || r.Logged || r.Asked < m.from {
		w.Usage = core.Usage{}
	}
	if shown || r.Logged {
		w.Context = 0
	}
	m.Waiting = append(m.Waiting, w)
}

// patience is how long requests of a child wait for its frame, in ms: hosts report the child
// after its first answer.
const patience = 10_000

// settle charges the requests that it can charge now, and has the rest charged later.
func (m *meter) settle(s *project.Op) error {
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

// An answerJoin matches the answers of a session that a gateway reported with those in the
// session's log. Only sessions that a gateway has metered have one.
type answerJoin struct {
	Answers []answer          `json:"answers,omitempty"` // the newest last
	Waiting []pendingRequests `json:"waiting,omitempty"` // requests that are not charged yet, in order

	// Unread is how far flame had counted the log when a gateway reported the first request.
	// Flame does not know the answers in that part until it reads the part again.
	Unread project.Transcript `json:"unread,omitzero"`
}

const recordJoined project.RecordKind[answerJoin] = "answers.joined" // by session

// An answer is an answer of a session's model, with the sources that reported it.
type answer struct {
	ID    string `json:"id"`
	Told  bool   `json:"told,omitempty"`  // a gateway reported it; flame counts its usage from there, unless the log was first
	Shown bool   `json:"shown,omitempty"` // the log contains it
	First bool   `json:"first,omitempty"` // the log was first: what it adds later counts, too
}

// A pendingRequests is a request, or the sum of several, that waits for a frame or for the log before
// flame can charge it.
type pendingRequests struct {
	Answer  string      `json:"answer,omitempty"`
	At      core.Millis `json:"at"`
	Usage   core.Usage  `json:"usage,omitzero"`    // still to be counted
	Context int         `json:"context,omitempty"` // tokens
	Classes tallies     `json:"classes"`
}

const (
	maxAnswers = 1000 // answers that only one source reported
	maxSettled = 100  // answers that both reported, kept because a gateway may repeat itself
)

// see records that a gateway or the log reports an answer, and returns which of the two had
// reported it before.
func (j *answerJoin) see(now answer) (before answer) {
	i := len(j.Answers) - 1
	for i >= 0 && j.Answers[i].ID != now.ID {
		i--
	}
	if i < 0 {
		j.Answers = append(j.Answers, now)
		return answer{}
	}
	known := &j.Answers[i]
	before = *known
	known.Told, known.Shown, known.First = known.Told || now.Told, known.Shown || now.Shown, known.First || now.First
	return before
}

// save writes j without the oldest answers. It sums up the requests that wait only for a frame:
// they all go to the session's first frame.
func (j *answerJoin) save(tx project.Tx, session string) error {
	alone, settled := 0, 0
	for i := len(j.Answers) - 1; i >= 0; i-- {
		count, most := &alone, maxAnswers
		if a := j.Answers[i]; a.Told && a.Shown {
			count, most = &settled, maxSettled
		}
		if *count++; *count > most {
			j.Answers[i].ID = ""
		}
	}
	j.Answers = slices.DeleteFunc(j.Answers, func(a answer) bool { return a.ID == "" })
	waiting := 1
	if j.unread() {
		waiting = maxAnswers
	}
	for len(j.Waiting) > waiting {
		j.Waiting[1] = j.Waiting[0].with(j.Waiting[1])
		j.Waiting = j.Waiting[1:]
	}
	return recordJoined.Save(tx, session, *j)
}

// with returns the sum of w and a later request; neither is in the log.
func (w pendingRequests) with(later pendingRequests) pendingRequests {
	sum := pendingRequests{At: w.At, Usage: w.Usage.Add(later.Usage), Context: w.Context, Classes: tallies{}.add(w.Classes).add(later.Classes)}
	if later.Context > 0 {
		sum.Context = later.Context
	}
	return sum
}

// unread reports whether flame has to read part of the log again.
func (j *answerJoin) unread() bool { return j.Unread != project.Transcript{} }

// show returns the part of a log's usage that flame has not counted. For an answer that a
// gateway reported, that is only the tool calls, which a gateway does not know.
func (j *answerJoin) show(spent []usageAt) []usageAt {
	spent = slices.Clone(spent)
	for i := range spent {
		one := &spent[i]
		if one.answer == "" {
			continue
		}
		before := j.see(answer{ID: one.answer, Shown: true})
		if !before.Told && !before.Shown {
			j.see(answer{ID: one.answer, First: true})
		} else if !one.grows || !before.First {
			one.usage = core.Usage{ToolCalls: one.usage.ToolCalls}
		}
		if before.Told {
			one.context = 0
		}
	}
	return spent
}

// reread records the answers in the part of the log that flame had counted before a gateway
// reported the first request.
func (j *answerJoin) reread(old []string) {
	told := j.Answers
	j.Answers, j.Unread = nil, project.Transcript{}
	for _, id := range old {
		j.see(answer{ID: id, Shown: true, First: true})
	}
	for _, a := range told {
		if before := j.see(a); !before.Shown {
			continue
		}
		for i := range j.Waiting {
			if j.Waiting[i].Answer == a.ID {
				j.Waiting[i].Usage, j.Waiting[i].Context = core.Usage{}, 0
			}
		}
	}
}

// charge charges the waiting requests to the frames in which the session worked at the time,
// by default to home. Without a home, or until flame has read the log again, they continue
// to wait.
func (j *answerJoin) charge(s *project.Op, session, home string) error {
	if home == "" || j.unread() {
		return nil
	}
	spent := lo.Map(j.Waiting, func(w pendingRequests, _ int) usageAt {
		return usageAt{at: w.At, usage: w.Usage, context: w.Context, classes: w.Classes}
	})
	j.Waiting = nil
	return spend(s, session, home, spent)
}

// isOld reports whether an entry of the log at path is in the part that flame has to read
// again, or belongs to the log before.
func (j *answerJoin) isOld(path string, entry core.LogEntry) bool {
	if path != j.Unread.Path {
		return entry.Time <= j.Unread.Until
	}
	return entry.Next.Offset <= j.Unread.At.Offset || entry.Time < j.Unread.Since
}

// oldAnswers returns the ids of the answers since begun that flame counted before a gateway
// metered the session, as far as the log at path has them.
func (j *answerJoin) oldAnswers(p *project.Project, host, path string, begun core.Millis) (ids []string) {
	for entry, err := range p.Transcripts(host, path, core.LogPosition{}) {
		if err != nil {
			return ids // the count of the log reports the error
		}
		m := entry.Message
		if m.Role != core.RoleAssistant || m.ID == "" || m.Time < begun || !j.isOld(path, entry) {
			continue
		}
		if ids = append(ids, m.ID); len(ids) > 2*maxAnswers {
			ids = slices.Clone(ids[len(ids)-maxAnswers:])
		}
	}
	return ids
}
