package project

import (
	"iter"

	"flame/core"
)

const RecordTranscript Kind[Transcript] = "transcript" // by session: its host's log, and how far it is counted

const UsageDeadline = "usage" // by session: count its host's log

// A TranscriptReader gives what host has added to its log at path since position
// from. A log that is shorter than that is given from its beginning, a last line
// that is not complete not at all.
type TranscriptReader func(host, path string, from core.LogPosition) iter.Seq2[core.LogEntry, error]

// A Transcript says which log tells of a session, and what of it was counted.
type Transcript struct {
	Path  string           `json:"path"`
	At    core.LogPosition `json:"at"`
	Since core.Millis      `json:"since,omitempty"` // what is older was counted when the log was another
	Until core.Millis      `json:"until,omitempty"` // time of the newest message that was counted
}

// Anew is the transcript of a session whose log is at path now and begins with
// what was counted already, if it has that at all.
func (t Transcript) Anew(path string) Transcript {
	since := t.Since
	if t.Until > 0 {
		since = t.Until + 1
	}
	return Transcript{Path: path, Since: since, Until: t.Until}
}

// CountLater is CountLater inside a step. An empty path stands for the one that
// is known.
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
