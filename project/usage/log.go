package usage

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"flame/core"
	"flame/core/fold"
	"flame/project"
)

// late is how much later than the log a gateway may report an answer, in ms: requests can
// take long.
const late = 10 * 60 * 1000

// maxRead limits how much of a log flame reads at once, in bytes; the rest follows in the
// next sweep.
const maxRead = 8 << 20

// Limits of the changes of files in one transaction; the rest follows in the next sweep.
const (
	maxPatches = 512 << 10 // bytes
	maxCalls   = 1000
)

// CountLog counts the new entries in the log of session d.Subject, and charges requests that
// waited for that. It reads the log outside of any transaction; if another process counted
// meanwhile, CountLog drops its result.
func CountLog(ctx context.Context, p *project.Project, d project.Deadline) error {
	c, err := project.Read(ctx, p, func(tx project.Tx) (countState, error) { return countingOf(p.Step(tx, project.Caller{}), d.Subject) })
	if err != nil {
		return err
	}
	if c.home == "" || c.log.Path == "" && len(c.joined.Waiting) == 0 { // CountLater is called again once there is something
		return p.Store.Update(ctx, func(tx project.Tx) error { return tx.ClearDeadline(d.Kind, d.Subject) })
	}
	told := c.read(p)
	return p.Store.Update(ctx, func(tx project.Tx) error { return c.counted(p.Step(tx, project.Caller{}), d, told) })
}

// A countState is the state of a session whose log is to be counted.
type countState struct {
	session core.Session
	log     project.Transcript
	home    string      // frame that it counts for by default; empty if there is none
	begun   core.Millis // older messages belong to the session from which it was forked
	joined  answerJoin
}

func countingOf(s *project.Op, id string) (c countState, err error) {
	if c.session, err = s.Tx.Session(id); err != nil {
		return c, project.IgnoreMissing(err)
	}
	if c.log, err = project.RecordTranscript.Find(s.Tx, id); err != nil {
		return c, err
	}
	if c.joined, err = recordJoined.Find(s.Tx, id); err != nil {
		return c, err
	}
	if c.home, err = homeOf(s, c.session); err != nil || c.session.Parent != "" || c.home == "" {
		return c, err
	}
	// The log of a forked session begins with a copy of the other's.
	root, err := s.Tx.Frame(c.home)
	if c.begun = c.session.CreatedAt; err == nil {
		c.begun = min(root.CreatedAt, c.session.CreatedAt)
	}
	if c.log.Since == 0 {
		c.log.Since = c.begun
	}
	return c, project.IgnoreMissing(err)
}

// A logEntries has the entries read from a log.
type logEntries struct {
	spent    []usageAt
	messages int // the answers, and for a child the prompts
	next     project.Transcript
	more     bool     // there is more than maxRead
	old      []string // answers in the part that flame had to read again

	work    []fold.Message
	calls   []FileCall
	begun   core.Millis // from the counting
	patches int         // bytes of those in calls
}

// read returns the entries of the session's log that flame has not counted yet, at most
// maxRead bytes.
func (c *countState) read(p *project.Project) (told logEntries) {
	told.next, told.begun = c.log, c.begun
	if c.log.Path == "" {
		return told
	}
	if c.joined.unread() {
		told.old = c.joined.oldAnswers(p, c.session.Host, c.log.Path, c.begun)
	}
	from := c.log.At
	for entry, err := range p.Transcripts(c.session.Host, c.log.Path, from) {
		if err != nil {
			p.Log.Warn("flame cannot read a transcript", "session", c.session.ID, "path", c.log.Path, "error", err)
			break
		}
		if entry.Next.Offset < from.Offset { // the host wrote it anew
			p.Log.Warn("a transcript became shorter", "session", c.session.ID, "path", c.log.Path)
			told.next, from = c.log.Anew(c.log.Path), core.LogPosition{}
		}
		told.change(entry.Message)
		told.add(entry, c.session.Parent != "")
		told.next.At = entry.Next
		if told.more = entry.Next.Offset-from.Offset >= maxRead || told.patches >= maxPatches || len(told.calls) >= maxCalls; told.more {
			break
		}
	}
	return told
}

// change adds the changes of files, and other work, that one line of a log reports.
func (t *logEntries) change(m core.Message) {
	since := t.next.Since
	if since == t.next.From { // a supervisor counts earlier usage, but not earlier changes
		since = t.begun
	}
	if m.Time < since {
		return
	}
	if work, tells := fold.ReadEntry(m); tells {
		t.work = append(t.work, work)
	}
	for _, call := range FileCallsOf(m) {
		t.calls = append(t.calls, call)
		for _, f := range call.Files {
			t.patches += len(f.Patch)
		}
	}
}

// add adds one line of a log. Prompts to a child count as messages; flame counts prompts in a
// person's own session when the person makes them.
func (t *logEntries) add(entry core.LogEntry, child bool) {
	m := entry.Message
	if m.Role == core.RoleOther || m.Time < t.next.Since {
		return
	}
	one := usageAt{at: m.Time, usage: m.Usage}
	if m.Role == core.RoleAssistant {
		one.answer = m.ID
		whole := cmp.Or(m.Whole, m.Usage)
		one.context = int(whole.TokensIn + whole.CacheRead + whole.CacheWritten)
		one.grows = m.ID != "" && m.ID == t.next.At.Last
	}
	t.next.Until = max(t.next.Until, m.Time)
	switch {
	case m.Role == core.RoleAssistant && m.ID != t.next.At.Last && !m.Synthetic:
		one.messages = 1
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

// counted saves the entries read from a session's log, unless another process has counted
// them since. The deadline stays if there is more to read or it was set again.
func (c *countState) counted(s *project.Op, d project.Deadline, told logEntries) error {
	now, err := project.RecordTranscript.Find(s.Tx, d.Subject)
	if err != nil {
		return err
	}
	if now.Path != c.log.Path || now.At != c.log.At || now.Since > 0 && now.Since != c.log.Since {
		return nil
	}
	more, err := c.keep(s, told)
	if err != nil {
		return err
	}
	due, is, err := s.Due(d.Kind, d.Subject)
	switch {
	case err != nil || !is || due.Set != d.Set:
		return err
	case more:
		return s.Tx.SetDeadline(project.Deadline{Kind: d.Kind, Subject: d.Subject, Due: s.Now, Set: s.Now})
	}
	return s.Tx.ClearDeadline(d.Kind, d.Subject)
}

// keep adds the entries read from a session's log to its frames, and then the requests that
// waited for that. It reports whether there is more to read.
func (c *countState) keep(s *project.Op, told logEntries) (more bool, err error) {
	session, err := s.Tx.Session(c.session.ID)
	if err != nil {
		return told.more, project.IgnoreMissing(err)
	}
	j, metered, err := recordJoined.Get(s.Tx, session.ID)
	if err != nil {
		return told.more, err
	}
	upto := s.Now
	if metered {
		if upto -= late; j.unread() && j.Unread == c.joined.Unread {
			j.reread(told.old)
		}
		told.spent = j.show(told.spent)
	}
	if told.next != c.log {
		if err := c.save(s, session, told, upto); err != nil {
			return told.more, err
		}
	}
	if !metered {
		return told.more, nil
	}
	return told.more || j.unread(), errors.Join(j.charge(s, session.ID, c.home), j.save(s.Tx, session.ID))
}

// save adds the entries of the log to the session and its frames. It keeps the session's
// timeline from upto on.
func (c *countState) save(s *project.Op, session core.Session, told logEntries, upto core.Millis) error {
	err := errors.Join(
		spend(s, session.ID, c.home, told.spent), AddFiles(s, session.ID, c.home, told.calls), c.noteWork(s, told.work),
		forgetWorked(s, session.ID, told.spent, upto),
	)
	if err != nil {
		return err
	}
	if session.Tracked && told.messages > 0 {
		session.MessageCount += told.messages
		if err := s.Tx.SaveSession(session); err != nil {
			return err
		}
	}
	return project.RecordTranscript.Save(s.Tx, session.ID, told.next)
}

// recordWork, by session, is its work in the frames in which it worked last.
const recordWork project.RecordKind[fold.SessionWork] = "calls.work"

// noteWork notes what a session did in which frame, and the facts of the frames that have ended.
func (c *countState) noteWork(s *project.Op, entries []fold.Message) error {
	worked, err := project.RecordWorked.Find(s.Tx, c.session.ID)
	if err != nil {
		return err
	}
	return errors.Join(recordWork.Change(s.Tx, c.session.ID, func(work *fold.SessionWork) {
		for _, entry := range entries {
			work.Add(worked.At(entry.Time, c.home), entry)
		}
		for i := range work.Frames {
			err = errors.Join(err, noteFacts(s, &work.Frames[i]))
		}
	}), err)
}

func noteFacts(s *project.Op, work *fold.FrameWork) error {
	frame, err := s.Tx.Frame(work.Frame)
	if err != nil || !frame.Status.Ended() {
		return project.IgnoreMissing(err)
	}
	_, turn, err := project.RecordTurn.Get(s.Tx, frame.ID)
	if facts := work.Facts(frame, turn); err == nil && facts != work.Told { // else a fold may have told more
		work.Told, err = facts, project.RecordFacts.Save(s.Tx, frame.ID, facts)
	}
	return err
}
