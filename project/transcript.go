package project

import (
	"iter"
	"math"

	"flame/core"
)

// RecordTranscript, by session, is its host's log and how far it is counted.
const RecordTranscript Kind[Transcript] = "transcript"

// UsageDeadline, by session, is the kind of deadline that counts its host's log.
const UsageDeadline = "usage"

// A TranscriptReader returns what host has added to its log at path since position
// from. It reads a log that is now shorter from its beginning, and leaves out an
// incomplete last line.
type TranscriptReader func(host, path string, from core.LogPosition) iter.Seq2[core.LogEntry, error]

// A Transcript is a session's log and how much of it was counted.
type Transcript struct {
	Path  string           `json:"path"`
	At    core.LogPosition `json:"at"`
	Since core.Millis      `json:"since,omitempty"` // older messages were counted otherwise: from a previous log, or by a supervisor
	Until core.Millis      `json:"until,omitempty"` // time of the newest message that was counted
	From  core.Millis      `json:"from,omitempty"`  // what was used before this was counted by a supervisor
}

// Anew returns the transcript of a session whose log was replaced by the one at path.
// The messages counted so far are not counted again.
func (t Transcript) Anew(path string) Transcript {
	since := t.Since
	if t.Until > 0 {
		since = max(since, t.Until+1)
	}
	return Transcript{Path: path, Since: since, Until: t.Until, From: t.From}
}

// CountLater has the log of the caller's session at path counted soon. An empty path
// stands for the known one.
func (s *Step) CountLater(path string) error {
	var t Transcript
	known, err := RecordTranscript.Load(s.Tx, s.Session.ID, &t)
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

// Supervised is the time from which a host's log counts for the session of a running
// agent: never, because the agent's supervisor counts what it uses.
const Supervised core.Millis = math.MaxInt64

// CountFrom has what a session uses counted by its host's log, or by a gateway, only from
// that time on.
func CountFrom(tx Tx, session string, since core.Millis) error {
	var t Transcript
	if _, err := RecordTranscript.Load(tx, session, &t); err != nil {
		return err
	}
	t.Since, t.From = since, since
	return RecordTranscript.Save(tx, session, t)
}
