package project

import (
	"cmp"
	"math"
	"slices"

	"flame/core"
)

// RecordWorked, by session, is when it began to work in which frame.
const RecordWorked RecordKind[Timeline] = "session.worked"

// A Timeline lists the frames in which a session worked, and since when, oldest first.
type Timeline []workedIn

type workedIn struct {
	At    core.Millis `json:"at"`
	Frame string      `json:"frame"`
}

// At returns the frame in which the session worked at time t; home if it is not known.
func (l Timeline) At(t core.Millis, home string) string {
	if len(l) == 0 {
		return home
	}
	return l[l.index(t)].Frame
}

// index returns the index of the entry for time t: the last that is not later, else the
// first.
func (l Timeline) index(t core.Millis) int {
	later := slices.IndexFunc(l, func(w workedIn) bool { return w.At > t })
	if later < 0 {
		later = len(l)
	}
	return max(0, later-1)
}

// maxWorked limits a timeline that flame does not use for counting. Flame counts a session
// whose log is known at each change of its frame, which keeps its timeline short.
const maxWorked = 100

// noteMove extends the timeline of the caller's session if it works in another frame than
// before, and has flame count its usage until now soon.
func noteMove(s *Op, before core.Session) error {
	frame := s.Session.Current
	if frame == "" || frame == before.Current || s.Caller.Anonymous() {
		return nil
	}
	// The session did its earlier work in the frame that it leaves, or in the root.
	if err := worksIn(s, s.Session.ID, cmp.Or(before.Current, before.Root, s.Session.Root), frame); err != nil {
		return err
	}
	return s.CountLater("")
}

// worksIn extends the timeline of a session that works in frame from now on. first is the
// frame in which the session worked before it had a timeline.
func worksIn(s *Op, session, first, frame string) error {
	return RecordWorked.Change(s.Tx, session, func(l *Timeline) {
		if len(*l) == 0 {
			*l = Timeline{{Frame: first}}
		}
		if (*l)[len(*l)-1].Frame == frame {
			return
		}
		*l = append((*l)[max(0, len(*l)+1-maxWorked):], workedIn{s.Now, frame})
	})
}

// WorksSince records that the caller's session works in frame since an earlier time.
func WorksSince(s *Op, at core.Millis, frame string) error {
	now := s.Now
	s.Now = at
	defer func() { s.Now = now }()
	return worksIn(s, s.Session.ID, cmp.Or(s.Session.Current, s.Session.Root), frame)
}

// MoveWork moves the caller's work in frame from to frame to.
func MoveWork(s *Op, from, to string) error {
	return RecordWorked.Change(s.Tx, s.Session.ID, func(l *Timeline) {
		if len(*l) == 0 {
			*l = Timeline{{Frame: to}}
		}
		for i := range *l {
			if (*l)[i].Frame == from {
				(*l)[i].Frame = to
			}
		}
	})
}

// ForgetBefore drops the entries before the one for time t from the timeline l of a session.
func ForgetBefore(tx Tx, session string, l Timeline, t core.Millis) error {
	if len(l) == 0 || l.index(t) == 0 {
		return nil
	}
	return RecordWorked.Save(tx, session, l[l.index(t):])
}

// RecordTranscript, by session, is its host's log and how much of it flame has counted.
const RecordTranscript RecordKind[Transcript] = "session.transcript"

// UsageDeadline, by session, is the kind of deadline that counts its host's log.
const UsageDeadline = "usage"

// A Transcript is a session's log and how much of it flame has counted.
type Transcript struct {
	Path  string           `json:"path"`
	At    core.LogPosition `json:"at"`
	Since core.Millis      `json:"since,omitempty"` // a previous log, or a supervisor, has counted older messages
	Until core.Millis      `json:"until,omitempty"` // time of the newest counted message
	From  core.Millis      `json:"from,omitempty"`  // a supervisor has counted the usage before this time
}

// Anew returns the transcript of a session whose log was replaced by the one at path.
// Flame does not count its messages again.
func (t Transcript) Anew(path string) Transcript {
	since := t.Since
	if t.Until > 0 {
		since = max(since, t.Until+1)
	}
	return Transcript{Path: path, Since: since, Until: t.Until, From: t.From}
}

// CountLater has flame count the log of the caller's session at path soon. An empty path
// stands for the known one.
func (s *Op) CountLater(path string) error {
	t, known, err := RecordTranscript.Get(s.Tx, s.Session.ID)
	if err != nil || path == "" && !known {
		return err
	}
	if path != "" && path != t.Path {
		if err := RecordTranscript.Save(s.Tx, s.Session.ID, t.Anew(path)); err != nil {
			return err
		}
	}
	return s.Tx.SetDeadline(Deadline{Kind: UsageDeadline, Subject: s.Session.ID, Due: s.Now, Set: s.Now})
}

// CountNever is the time from which a host's log counts for the session of a running
// agent: never, because the agent's supervisor counts its usage.
const CountNever core.Millis = math.MaxInt64

// CountFrom has flame count the usage of a session from its host's log, or from a gateway,
// only from that time on.
func CountFrom(tx Tx, session string, since core.Millis) error {
	return RecordTranscript.Change(tx, session, func(t *Transcript) { t.Since, t.From = since, since })
}
