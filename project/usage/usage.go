// Package usage counts the tokens and USD that sessions used, by the frames that they
// worked in: from hosts' events, and from their logs, which are read later.
package usage

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"flame/core"
	"flame/project"
	"flame/project/autonomy"
)

const recordCounted project.Kind[string] = "counted" // by session: id of the last message whose usage the host told

// maxRead limits how much of a log is read at once, in bytes; the rest follows in the
// next sweep.
const maxRead = 8 << 20

// CountLater has the host's log of the caller's session at path counted soon, by any
// process that sweeps with a TranscriptReader. A session that flame never saw stays
// unknown.
func CountLater(ctx context.Context, p *project.Project, by project.Caller, path string) error {
	return p.IfKnown(ctx, by, func(s *project.Step) error { return s.CountLater(path) })
}

// A Message is the usage of one answer of a session's agent.
type Message struct {
	ID      string      // of the host; ids of later messages sort after those of earlier ones
	At      core.Millis // when
	Usage   core.Usage
	Context int // tokens that were in the session's context then
}

// Add counts answers that a host reports of the caller's session, each of them once.
// Before the session has a frame, or a parent with one, nothing is counted: the host has
// to report the answers again.
func Add(s *project.Step, usages []Message) error {
	home, err := homeOf(s, s.Session)
	if err != nil || home == "" {
		return err
	}
	var last string
	if _, err := recordCounted.Load(s.Tx, s.Session.ID, &last); err != nil {
		return err
	}
	fresh := slices.DeleteFunc(slices.Clone(usages), func(u Message) bool { return u.ID <= last })
	slices.SortFunc(fresh, func(a, b Message) int { return cmp.Compare(a.ID, b.ID) })
	fresh = slices.CompactFunc(fresh, func(a, b Message) bool { return a.ID == b.ID })
	if len(fresh) == 0 {
		return nil
	}
	var log project.Transcript
	if _, err := project.RecordTranscript.Load(s.Tx, s.Session.ID, &log); err != nil {
		return err
	}
	var spent []spending
	for _, u := range fresh {
		if u.At >= log.Since {
			spent = append(spent, spending{at: u.At, usage: u.Usage, context: u.Context, messages: 1})
		}
	}
	if err := spend(s, s.Session, home, spent); err != nil {
		return err
	}
	return recordCounted.Save(s.Tx, s.Session.ID, fresh[len(fresh)-1].ID)
}

// AddSupervised counts what the supervisor of an agent saw it use since the last call:
// tokens, USD, tool calls and answers. It is charged to the frame that the agent's
// session works in, or to the agent's own if the session is not known.
func AddSupervised(s *project.Step, session, own string, used core.Usage, answers int) error {
	worked, err := project.TimelineOf(s.Tx, session)
	if err != nil || used == (core.Usage{}) {
		return err
	}
	return charge(s, worked.At(s.Now, own), spending{usage: used, messages: answers})
}

// A spending is the usage of some messages at one time.
type spending struct {
	at       core.Millis
	usage    core.Usage
	context  int // tokens in the session's context; 0: not reported
	messages int
}

// homeOf returns the id of the frame that a session's work counts for by default: its
// root, or for a child without a frame the one that its parent works in; empty without
// one.
func homeOf(s *project.Step, session core.Session) (string, error) {
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

// spend adds spent to the frames that session worked in at the time. Their UpdatedAt
// stays, because nobody changed them.
func spend(s *project.Step, session core.Session, home string, spent []spending) error {
	if len(spent) == 0 {
		return nil
	}
	worked, err := project.TimelineOf(s.Tx, session.ID)
	if err != nil {
		return err
	}
	byFrame := map[string]spending{}
	newest := spent[0].at
	for _, one := range spent {
		id := worked.At(one.at, home)
		sum := byFrame[id]
		sum.usage, sum.messages = sum.usage.Add(one.usage), sum.messages+one.messages
		sum.context = cmp.Or(one.context, sum.context)
		byFrame[id], newest = sum, max(newest, one.at)
	}
	for id, sum := range byFrame {
		if err := charge(s, id, sum); err != nil {
			return err
		}
	}
	return project.ForgetBefore(s.Tx, session.ID, worked, newest)
}

// charge adds sum to one frame. If the frame was deleted, its usage is lost with it.
func charge(s *project.Step, id string, sum spending) error {
	frame, err := s.Tx.Frame(id)
	if err != nil {
		return project.IgnoreMissing(err)
	}
	if sum.usage != (core.Usage{}) {
		frame.Usage = frame.Usage.Add(sum.usage)
		if err := s.Tx.SaveFrame(frame); err != nil {
			return err
		}
	}
	return autonomy.UpdateActivity(s, id, func(a *autonomy.Activity) {
		a.Messages += sum.messages
		a.Tokens = cmp.Or(sum.context, a.Tokens)
	})
}

// CountLog counts the new entries in the log of session d.Subject. The log is read
// outside any transaction; if another process counted meanwhile, the result is dropped.
func CountLog(ctx context.Context, p *project.Project, d project.Deadline) error {
	var log project.Transcript
	var session core.Session
	var home string
	err := p.Store.View(ctx, func(tx project.Tx) (err error) {
		s := p.Step(tx, project.Caller{})
		log, session, home, err = uncounted(s, d.Subject)
		return err
	})
	if err != nil {
		return err
	}
	if home == "" || log.Path == "" { // CountLater is called again once there is something
		return p.Store.Update(ctx, func(tx project.Tx) error { return tx.ClearDeadline(d.Kind, d.Subject) })
	}
	told := read(p, session, log)
	return p.Store.Update(ctx, func(tx project.Tx) error {
		s := p.Step(tx, project.Caller{})
		return counted(s, d, log, home, told)
	})
}

// uncounted returns the log of a session that is to be counted, and the session's home:
// empty if there is no frame that it could count for.
func uncounted(s *project.Step, id string) (log project.Transcript, session core.Session, home string, err error) {
	if session, err = s.Tx.Session(id); err != nil {
		return log, session, "", project.IgnoreMissing(err)
	}
	if _, err = project.RecordTranscript.Load(s.Tx, id, &log); err != nil {
		return log, session, "", err
	}
	home, err = homeOf(s, session)
	if err != nil || log.Since > 0 || session.Parent != "" || home == "" {
		return log, session, home, err
	}
	// The log of a forked session begins with a copy of the other's.
	root, err := s.Tx.Frame(home)
	if log.Since = session.CreatedAt; err == nil {
		log.Since = min(root.CreatedAt, session.CreatedAt)
	}
	return log, session, home, project.IgnoreMissing(err)
}

// A telling is what was read from a log.
type telling struct {
	spent    []spending
	messages int // the answers, and for a child the prompts
	next     project.Transcript
	more     bool // there is more than maxRead
}

// read returns the entries of the session's log that were not counted yet, at most
// maxRead bytes of it.
func read(p *project.Project, session core.Session, log project.Transcript) (told telling) {
	told.next = log
	from := log.At
	for entry, err := range p.Transcripts(session.Host, log.Path, log.At) {
		if err != nil {
			p.Log.Warn("a transcript cannot be read", "session", session.ID, "path", log.Path, "error", err)
			break
		}
		if entry.Next.Offset < from.Offset { // it was written anew
			p.Log.Warn("a transcript became shorter", "session", session.ID, "path", log.Path)
			told.next, from = log.Anew(log.Path), core.LogPosition{}
		}
		told.add(entry, session.Parent != "")
		told.next.At = entry.Next
		if told.more = entry.Next.Offset-from.Offset >= maxRead; told.more {
			break
		}
	}
	return told
}

// add adds one line of a log. Prompts to a child count as messages; those to a person's
// own session are counted when they are made.
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

// isPrompt reports whether a user's message has text of its own, rather than the results
// of tools or of a compaction.
func isPrompt(m core.Message) bool {
	return !m.Summary && slices.ContainsFunc(m.Parts, func(p core.Part) bool { return p.Type == core.PartText })
}

// counted saves what was read from a session's log, unless another process has counted
// it since. The deadline stays if there is more to read or it was set again.
func counted(s *project.Step, d project.Deadline, log project.Transcript, home string, told telling) error {
	var now project.Transcript
	if _, err := project.RecordTranscript.Load(s.Tx, d.Subject, &now); err != nil {
		return err
	}
	if now.Path != log.Path || now.At != log.At || now.Since > 0 && now.Since != log.Since {
		return nil
	}
	if told.next != log {
		if err := keep(s, d.Subject, home, told); err != nil {
			return err
		}
	}
	due, is, err := s.Due(d.Kind, d.Subject)
	switch {
	case err != nil || !is || due.Set != d.Set:
		return err
	case told.more:
		return s.Tx.SetDeadline(project.Deadline{Kind: d.Kind, Subject: d.Subject, Due: s.Now, Set: s.Now})
	}
	return s.Tx.ClearDeadline(d.Kind, d.Subject)
}

// keep adds what was read from a session's log to its frames.
func keep(s *project.Step, id, home string, told telling) error {
	session, err := s.Tx.Session(id)
	if err != nil {
		return project.IgnoreMissing(err)
	}
	if err := spend(s, session, home, told.spent); err != nil {
		return err
	}
	if session.Tracked && told.messages > 0 {
		session.MessageCount += told.messages
		if err := s.Tx.SaveSession(session); err != nil {
			return err
		}
	}
	return project.RecordTranscript.Save(s.Tx, id, told.next)
}

// Forget drops the records of how far a session's usage was counted.
func Forget(tx project.Tx, session string) error {
	return errors.Join(
		project.RecordTranscript.Delete(tx, session), recordCounted.Delete(tx, session), tx.ClearDeadline(project.UsageDeadline, session),
	)
}
