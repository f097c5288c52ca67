package project

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"flame/core"
)

const (
	recordCounted Kind[string] = "counted" // by session: id of the last message whose usage the host told

)

// maxRead bounds in bytes what is read of a log at once; the rest follows in the
// next sweep.
const maxRead = 8 << 20

// CountLater sees to it that what the host's log at path tells of the caller's
// session is counted soon, by whichever process sweeps with a TranscriptReader.
// A session that flame never saw stays unknown.
func (p *Project) CountLater(ctx context.Context, by Caller, path string) error {
	return p.ifKnown(ctx, by, func(s *step) error { return s.countLater(path) })
}

// A MessageUsage is what one answer of a session's agent took.
type MessageUsage struct {
	MessageID string      // of the host; ids of later messages sort after those of earlier ones
	At        core.Millis // when
	Usage     core.Usage
	Context   int // tokens that were in the session's context then
}

// noteUsage counts what a host tells of the answers in the caller's session. Telling it
// again changes nothing. What is told before the session has a frame, or a parent with
// one, is left for the host to tell again.
func (s *step) noteUsage(usages []MessageUsage) error {
	home, err := s.home(s.session)
	if err != nil || home == "" {
		return err
	}
	var last string
	if _, err := recordCounted.Load(s, s.session.ID, &last); err != nil {
		return err
	}
	fresh := slices.DeleteFunc(slices.Clone(usages), func(u MessageUsage) bool { return u.MessageID <= last })
	slices.SortFunc(fresh, func(a, b MessageUsage) int { return cmp.Compare(a.MessageID, b.MessageID) })
	fresh = slices.CompactFunc(fresh, func(a, b MessageUsage) bool { return a.MessageID == b.MessageID })
	if len(fresh) == 0 {
		return nil
	}
	spent := make([]spending, len(fresh))
	for i, u := range fresh {
		spent[i] = spending{at: u.At, usage: u.Usage, context: u.Context, messages: 1}
	}
	if err := s.spend(s.session, home, spent); err != nil {
		return err
	}
	return recordCounted.Save(s, s.session.ID, fresh[len(fresh)-1].MessageID)
}

// A spending is what some messages of one time took.
type spending struct {
	at       core.Millis
	usage    core.Usage
	context  int // tokens in the session's context; 0: not told
	messages int
}

// home returns the id of the frame that work of session counts for where nothing
// tells of another: its root, or for a child without a frame of its own the one
// that its parent works in. It is empty where there is none.
func (s *step) home(session core.Session) (string, error) {
	if session.HasFrame() || session.Parent == "" {
		return session.Root, nil
	}
	parent, err := s.Session(session.Parent)
	if err != nil {
		return "", ignoreMissing(err)
	}
	open, err := s.nearestOpen(parent.Current)
	return cmp.Or(open, parent.Root), err
}

// spend adds what was spent to the frames that session worked in at the time.
// Their UpdatedAt stays, as nobody changed them.
func (s *step) spend(session core.Session, home string, spent []spending) error {
	if len(spent) == 0 {
		return nil
	}
	worked, err := s.worked(session.ID)
	if err != nil {
		return err
	}
	byFrame := map[string]spending{}
	newest := spent[0].at
	for _, one := range spent {
		id := worked.at(one.at, home)
		sum := byFrame[id]
		sum.usage, sum.messages = sum.usage.Add(one.usage), sum.messages+one.messages
		sum.context = cmp.Or(one.context, sum.context)
		byFrame[id], newest = sum, max(newest, one.at)
	}
	for id, sum := range byFrame {
		if err := s.charge(id, sum); err != nil {
			return err
		}
	}
	return s.forgetBefore(session.ID, worked, newest)
}

// charge adds what was spent to one frame. What was spent in a frame that is
// gone is gone with it.
func (s *step) charge(id string, sum spending) error {
	frame, err := s.Frame(id)
	if err != nil {
		return ignoreMissing(err)
	}
	if sum.usage != (core.Usage{}) {
		frame.Usage = frame.Usage.Add(sum.usage)
		if err := s.SaveFrame(frame); err != nil {
			return err
		}
	}
	return s.noteActivity(id, func(a *Activity) {
		a.Messages += sum.messages
		a.Tokens = cmp.Or(sum.context, a.Tokens)
	})
}

// count counts what session d.Subject's log tells beyond what was counted. The
// log is read outside any transaction; where another process counted meanwhile,
// what was read is dropped.
func (p *Project) count(ctx context.Context, d Deadline) error {
	var log transcript
	var session core.Session
	var home string
	err := p.Store.View(ctx, func(tx Tx) (err error) {
		s := p.step(tx, Caller{})
		log, session, home, err = s.uncounted(d.Subject)
		return err
	})
	if err != nil {
		return err
	}
	if home == "" || log.Path == "" { // once there is something, it is asked for again
		return p.Store.Update(ctx, func(tx Tx) error { return tx.ClearDeadline(d.Kind, d.Subject) })
	}
	told := p.read(session, log)
	return p.Store.Update(ctx, func(tx Tx) error {
		s := p.step(tx, Caller{})
		return s.counted(d, log, home, told)
	})
}

// uncounted returns what is to be counted of a session, and its home: empty where
// there is nothing that it could count for.
func (s *step) uncounted(id string) (log transcript, session core.Session, home string, err error) {
	if session, err = s.Session(id); err != nil {
		return log, session, "", ignoreMissing(err)
	}
	if _, err = recordTranscript.Load(s, id, &log); err != nil {
		return log, session, "", err
	}
	home, err = s.home(session)
	if err != nil || log.Since > 0 || session.Parent != "" || home == "" {
		return log, session, home, err
	}
	// The log of a forked session begins with a copy of the other's.
	root, err := s.Frame(home)
	if log.Since = session.CreatedAt; err == nil {
		log.Since = min(root.CreatedAt, session.CreatedAt)
	}
	return log, session, home, ignoreMissing(err)
}

// A telling is what was read of a log.
type telling struct {
	spent    []spending
	messages int // the answers among them, and what was said to them
	next     transcript
	more     bool // there is more than maxRead
}

// read returns what the session's log tells beyond what was counted, at most
// maxRead of it.
func (p *Project) read(session core.Session, log transcript) (told telling) {
	told.next = log
	from := log.At
	for entry, err := range p.Transcripts(session.Host, log.Path, log.At) {
		if err != nil {
			p.Log.Warn("a transcript cannot be read", "session", session.ID, "path", log.Path, "error", err)
			break
		}
		if entry.Next.Offset < from.Offset { // it was written anew
			p.Log.Warn("a transcript became shorter", "session", session.ID, "path", log.Path)
			told.next, from = log.anew(log.Path), core.LogPosition{}
		}
		told.add(entry, session.Parent != "")
		told.next.At = entry.Next
		if told.more = entry.Next.Offset-from.Offset >= maxRead; told.more {
			break
		}
	}
	return told
}

// add takes in one line of a log. Prompts to a child count as messages; those to
// a person's own session are counted when they are made.
func (t *telling) add(entry core.LogEntry, child bool) {
	m := entry.Message
	if m.Role == core.RoleOther || m.Time < t.next.Since {
		return
	}
	one := spending{at: m.Time, usage: m.Usage}
	t.next.Until = max(t.next.Until, m.Time)
	switch {
	case m.Role == core.RoleAssistant && m.ID != t.next.At.Last:
		one.messages = 1
		one.context = int(m.Usage.TokensIn + m.Usage.CacheRead + m.Usage.CacheWritten)
	case m.Role == core.RoleUser && child && isPrompt(m):
		one.messages = 1
	case one.usage == core.Usage{}:
		return
	}
	t.messages += one.messages
	t.spent = append(t.spent, one)
}

// isPrompt reports whether a user's message says something, rather than bring
// what tools answered or what a compaction came to.
func isPrompt(m core.Message) bool {
	return !m.Summary && slices.ContainsFunc(m.Parts, func(p core.Part) bool { return p.Type == core.PartText })
}

// counted keeps what was read of a session's log, unless another process has
// counted it since, and comes back where there is more or was asked again.
func (s *step) counted(d Deadline, log transcript, home string, told telling) error {
	var now transcript
	if _, err := recordTranscript.Load(s, d.Subject, &now); err != nil {
		return err
	}
	if now.Path != log.Path || now.At != log.At {
		return nil
	}
	if told.next != log {
		if err := s.keep(d.Subject, home, told); err != nil {
			return err
		}
	}
	due, is, err := s.due(d.Kind, d.Subject)
	switch {
	case err != nil || !is || due.Set != d.Set:
		return err
	case told.more:
		return s.SetDeadline(Deadline{Kind: d.Kind, Subject: d.Subject, Due: s.now, Set: s.now})
	}
	return s.ClearDeadline(d.Kind, d.Subject)
}

// keep adds what was read of a session's log to its frames.
func (s *step) keep(id, home string, told telling) error {
	session, err := s.Session(id)
	if err != nil {
		return ignoreMissing(err)
	}
	if err := s.spend(session, home, told.spent); err != nil {
		return err
	}
	if session.Tracked && told.messages > 0 {
		session.MessageCount += told.messages
		if err := s.SaveSession(session); err != nil {
			return err
		}
	}
	return recordTranscript.Save(s, id, told.next)
}

// forgetUsage drops how far a session's usage was counted.
func forgetUsage(tx Tx, session string) error {
	return errors.Join(
		recordTranscript.Delete(tx, session), recordCounted.Delete(tx, session), tx.ClearDeadline(deadlineUsage, session),
	)
}
