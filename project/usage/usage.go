// Package usage counts the tokens and USD that sessions used, by the frames in which they
// worked: from hosts' events, from hosts' logs, which it reads later, and from the
// measurements of a gateway between hosts and their models. It keeps which files changed meanwhile,
// with patches, within limits: hosts report that of their tools for editing, but not of shell commands.
// And it keeps the differences between the requests of a session to its model and the history that its
// host has: what flame left out of the requests, and what it inserted.
package usage

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"flame/core"
	"flame/core/fold"
	"flame/project"
	"flame/project/autonomy"
)

const recordCounted project.RecordKind[string] = "session.counted" // by session: id of the last message whose usage the host reported

// CountLater has any process that sweeps with a TranscriptReader count the host's log of the
// caller's session at path soon. A session that flame never saw stays unknown.
func CountLater(ctx context.Context, p *project.Project, by project.Caller, path string) error {
	return p.Run(ctx, by, func(s *project.Op) error {
		if s.NewSession {
			return nil
		}
		return s.Change(func(s *project.Op) error { return s.CountLater(path) })
	})
}

// An AnswerUsage is the usage of one answer of a session's agent.
type AnswerUsage struct {
	ID      string      // of the host; ids of later messages sort after those of earlier ones
	At      core.Millis // when
	Usage   core.Usage
	Context int // tokens that were in the session's context then
}

// Add counts answers that a host reports for the caller's session, each of them once. Before
// the session has a frame, or a parent with one, Add counts nothing: the host has to report
// the answers again.
func Add(s *project.Op, usages []AnswerUsage) error {
	home, err := homeOf(s, s.Session)
	if err != nil || home == "" {
		return err
	}
	last, err := recordCounted.Find(s.Tx, s.Session.ID)
	if err != nil {
		return err
	}
	fresh := slices.DeleteFunc(slices.Clone(usages), func(u AnswerUsage) bool { return u.ID <= last })
	slices.SortFunc(fresh, func(a, b AnswerUsage) int { return cmp.Compare(a.ID, b.ID) })
	fresh = slices.CompactFunc(fresh, func(a, b AnswerUsage) bool { return a.ID == b.ID })
	if len(fresh) == 0 {
		return nil
	}
	log, err := project.RecordTranscript.Find(s.Tx, s.Session.ID)
	if err != nil {
		return err
	}
	var spent []usageAt
	for _, u := range fresh {
		if u.At >= log.Since {
			spent = append(spent, usageAt{at: u.At, usage: u.Usage, context: u.Context, messages: 1})
		}
	}
	if err := errors.Join(spend(s, s.Session.ID, home, spent), forgetWorked(s, s.Session.ID, spent, s.Now)); err != nil {
		return err
	}
	if s.Session.Tracked {
		s.Session.MessageCount += len(spent)
	}
	return recordCounted.Save(s.Tx, s.Session.ID, fresh[len(fresh)-1].ID)
}

// AddSupervised counts the usage that the supervisor of an agent saw since the last call:
// tokens, USD, tool calls and answers. It charges the frame in which the agent's session
// works, or the agent's own frame if the session is unknown.
func AddSupervised(s *project.Op, session, own string, used core.Usage, answers int) error {
	worked, err := project.RecordWorked.Find(s.Tx, session)
	if err != nil || used == (core.Usage{}) {
		return err
	}
	_, err = charge(s, worked.At(s.Now, own), usageAt{usage: used, messages: answers})
	return err
}

// A usageAt is the usage of some messages or requests at one time.
type usageAt struct {
	at       core.Millis
	answer   string // id of the answer; empty for other messages
	grows    bool   // usage adds to what the line before told of the answer
	usage    core.Usage
	context  int // tokens in the session's context; 0: not reported
	messages int
	classes  tallies // requests that a gateway saw
}

// homeOf returns the id of the frame for which a session's work counts by default: its root,
// or for a child without a frame the frame in which its parent works; empty without one.
func homeOf(s *project.Op, session core.Session) (string, error) {
	if session.HasFrame() || session.Parent == "" {
		return session.Root, nil
	}
	parent, err := s.Tx.Session(session.Parent)
	if err != nil {
		return "", project.IgnoreMissing(err)
	}
	open, err := s.NearestOpen(parent.Current)
	return cmp.Or(open, parent.Root), err
}

// spend adds spent to the frames in which a session worked at the time. Their UpdatedAt
// stays, because their content did not change.
func spend(s *project.Op, session, home string, spent []usageAt) error {
	worked, err := project.RecordWorked.Find(s.Tx, session)
	if err != nil {
		return err
	}
	byFrame := map[string]usageAt{}
	for _, one := range spent {
		id := worked.At(one.at, home)
		sum := byFrame[id]
		sum.usage, sum.messages = sum.usage.Add(one.usage), sum.messages+one.messages
		sum.context, sum.classes = cmp.Or(one.context, sum.context), sum.classes.add(one.classes)
		byFrame[id] = sum
	}
	var whole core.Usage
	for id, sum := range byFrame {
		counted, err := charge(s, id, sum)
		if err != nil {
			return err
		}
		if counted {
			whole = whole.Add(sum.usage)
		}
	}
	return AddSpent(s, session, whole)
}

// forgetWorked drops the part of a session's timeline before the newest of spent, but keeps
// it from upto on.
func forgetWorked(s *project.Op, session string, spent []usageAt, upto core.Millis) error {
	if len(spent) == 0 {
		return nil
	}
	worked, err := project.RecordWorked.Find(s.Tx, session)
	if err != nil {
		return err
	}
	newest := slices.MaxFunc(spent, func(a, b usageAt) int { return cmp.Compare(a.at, b.at) })
	return project.ForgetBefore(s.Tx, session, worked, min(newest.at, upto))
}

// charge adds sum to one frame. The usage of a deleted frame is lost: counted is false.
func charge(s *project.Op, id string, sum usageAt) (counted bool, err error) {
	frame, err := s.Tx.Frame(id)
	if err != nil {
		return false, project.IgnoreMissing(err)
	}
	if sum.usage != (core.Usage{}) {
		frame.Usage = frame.Usage.Add(sum.usage)
		if err := s.Tx.SaveFrame(frame); err != nil {
			return false, err
		}
	}
	if err := note(s.Tx, recordByFrame, id, sum.classes); err != nil {
		return false, err
	}
	return true, autonomy.UpdateActivity(s, id, func(a *autonomy.FrameActivity) {
		a.Messages += sum.messages
		a.Tokens = cmp.Or(sum.context, a.Tokens)
	})
}

// recordSpent, by session of a person, is what it used with its subagents and agents, in
// whichever frames: who takes up a frame later changes nothing of it.
const recordSpent project.RecordKind[core.Usage] = "session.spent"

// Spent returns what the session of a person used, with its subagents and agents. A session
// of one of these stands for that of its person.
func Spent(tx project.Tx, session string) (core.Usage, error) {
	person, err := personOf(tx, session)
	if err != nil {
		return core.Usage{}, project.IgnoreMissing(err)
	}
	return recordSpent.Find(tx, person)
}

// AddSpent adds usage of a session, or of an agent that it asked for, to what the session of its
// person spent.
func AddSpent(s *project.Op, session string, used core.Usage) error {
	if used == (core.Usage{}) {
		return nil
	}
	if session == s.Session.ID { // the step saves it at its end
		session = cmp.Or(s.Session.Parent, session)
	}
	person, err := personOf(s.Tx, session)
	if err != nil {
		return project.IgnoreMissing(err)
	}
	return recordSpent.Change(s.Tx, person, func(sum *core.Usage) { *sum = sum.Add(used) })
}

// personOf returns the session of a person to which a session belongs: itself or the last one above it.
func personOf(tx project.Tx, session string) (string, error) {
	for met := map[string]bool{}; ; {
		s, err := tx.Session(session)
		if err != nil || s.Parent == "" || met[session] {
			return session, err
		}
		met[session], session = true, s.Parent
	}
}

// Forget drops the records of how far flame counted a session's usage, and of its requests. The
// sums of the project and of its frames still include the session's requests.
func Forget(tx project.Tx, session core.Session) error {
	m, err := RequestsOf(tx, session.ID)
	if err == nil && m.Requests > 0 {
		err = recordPast.Change(tx, session.Host, func(past *fold.Meter) { *past = past.Add(m) })
	}
	for _, kind := range []string{"session", "calls", "ledger", "answers"} {
		err = errors.Join(err, tx.DeleteRecord(kind, session.ID))
	}
	return errors.Join(err, tx.ClearDeadline(project.UsageDeadline, session.ID))
}

// Totals are those of requests to models.
type Totals struct {
	Requests       int         `json:"requests"`
	Failed         int         `json:"failed"`   // requests without an answer: the upstream refused them, or gave no status
	Usage          core.Usage  `json:"usage"`    // without tool calls, which a gateway does not count
	Begun          int         `json:"begun"`    // requests whose answers had a first token
	FirstSum       core.Millis `json:"firstSum"` // ms to the first token, summed over these
	FirstMax       core.Millis `json:"firstMax"` // ms to the first token, of the slowest
	BytesReceived  int64       `json:"given"`    // bytes of the bodies that the host sent
	BytesForwarded int64       `json:"sent"`     // bytes of the bodies that the gateway forwarded
}

// Add returns the sum of t and other.
func (t Totals) Add(other Totals) Totals {
	return Totals{
		Requests: t.Requests + other.Requests, Failed: t.Failed + other.Failed, Usage: t.Usage.Add(other.Usage),
		Begun: t.Begun + other.Begun, FirstSum: t.FirstSum + other.FirstSum, FirstMax: max(t.FirstMax, other.FirstMax),
		BytesReceived: t.BytesReceived + other.BytesReceived, BytesForwarded: t.BytesForwarded + other.BytesForwarded,
	}
}

// FirstMean returns the mean time to the first token in ms; 0 without one.
func (t Totals) FirstMean() core.Millis { return t.FirstSum / core.Millis(max(1, t.Begun)) }

// BytesSaved returns how many bytes less the gateway forwarded than the host sent; negative if
// it forwarded more.
func (t Totals) BytesSaved() int64 { return t.BytesReceived - t.BytesForwarded }

// tallies are Tallies by class of request.
type tallies map[string]Totals

// add adds other to t, and returns t, or a new map if t is nil.
func (t tallies) add(other tallies) tallies {
	if t == nil {
		t = tallies{}
	}
	for class, tally := range other {
		t[class] = t[class].Add(tally)
	}
	return t
}

const (
	recordByHost    project.RecordKind[tallies] = "host.totals"    // by host, of the whole project
	recordBySession project.RecordKind[tallies] = "answers.totals" // by session
	recordByFrame   project.RecordKind[tallies] = "frame.totals"   // by frame
)

// note adds sums to a record.
func note(tx project.Tx, kind project.RecordKind[tallies], id string, sums tallies) error {
	if len(sums) == 0 {
		return nil
	}
	return kind.Change(tx, id, func(kept *tallies) { *kept = kept.add(sums) })
}

// MoveWork has the work of the caller's session in frame from, with its requests and the files that it
// changed, count as work in frame to.
func MoveWork(s *project.Op, from, to string) error {
	requests, err := recordByFrame.Find(s.Tx, from)
	return errors.Join(
		err, note(s.Tx, recordByFrame, to, requests), recordByFrame.Delete(s.Tx, from), moveFiles(s.Tx, from, to), project.MoveWork(s, from, to),
	)
}

// DropFrame deletes a frame, and what flame keeps of it.
func DropFrame(tx project.Tx, id string) error {
	return errors.Join(tx.DeleteFrame(id), tx.DeleteRecord("frame", id), deleteFiles(tx, id))
}

// ClassTotals are those of the requests of one class that a gateway measured.
type ClassTotals struct {
	Host  string `json:"host,omitempty"` // only in lists of several hosts
	Class string `json:"class"`
	Totals
	FirstMean core.Millis `json:"firstMean"` // ms to the first token, on average
	Spared    int64       `json:"spared"`    // bytes that the gateway did not forward
}

// list returns tallies in the order of Classes.
func (t tallies) list(host string) (all []ClassTotals) {
	for class, tally := range t {
		all = append(all, ClassTotals{host, class, tally, tally.FirstMean(), tally.BytesSaved()})
	}
	slices.SortFunc(all, func(a, b ClassTotals) int {
		return cmp.Compare(slices.Index(classes, a.Class), slices.Index(classes, b.Class))
	})
	return all
}

// Sum returns the totals over several classes.
func Sum(all []ClassTotals) (sum Totals) {
	for _, m := range all {
		sum = sum.Add(m.Totals)
	}
	return sum
}

// ByClass returns the totals of a project's requests, by host and class; empty if no gateway
// has seen any. They include requests of forgotten sessions.
func ByClass(tx project.Tx) (all []ClassTotals, err error) {
	err = recordByHost.Each(tx, func(host string, t tallies) error {
		all = append(all, t.list(host)...)
		return nil
	})
	return all, err
}

// OfSession returns the totals of a session's requests, by class.
func OfSession(tx project.Tx, session string) ([]ClassTotals, error) {
	t, err := recordBySession.Find(tx, session)
	return t.list(""), err
}

// OfFrame returns the totals of the requests made while a session worked in a frame, by
// class.
func OfFrame(tx project.Tx, frame string) ([]ClassTotals, error) {
	t, err := recordByFrame.Find(tx, frame)
	return t.list(""), err
}
