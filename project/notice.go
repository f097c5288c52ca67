package project

import (
	"strings"

	"flame/core"
)

// recordNotice, by session, is what its agent is still to be told.
const recordNotice Kind[[]string] = "notice"

// maxNotices bounds what waits for one session; the newest stay.
const maxNotices = 8

// Notify leaves a notice for a session, in the transaction of what it tells of: a fact
// in a sentence. It stands in that session's next briefing, whatever else there is to
// tell, and in none after it.
func Notify(tx Tx, session, text string) error {
	var waiting []string
	if _, err := recordNotice.Load(tx, session, &waiting); err != nil {
		return err
	}
	waiting = append(waiting, text)
	return recordNotice.Save(tx, session, waiting[max(0, len(waiting)-maxNotices):])
}

// isNotified reports whether a notice waits for the session.
func (s *step) isNotified() (bool, error) {
	var waiting []string
	return recordNotice.Load(s, s.session.ID, &waiting)
}

// withNotices returns a briefing with the notices that wait for the session, which are
// told by it. brief makes the rest within the characters that they leave; 0 is no
// limit.
func (s *step) withNotices(maxChars int, brief func(maxChars int) (Briefing, error)) (b Briefing, err error) {
	var waiting []string
	known, err := recordNotice.Load(s, s.session.ID, &waiting)
	if err != nil {
		return b, err
	}
	if !known {
		return brief(maxChars)
	}
	if err := recordNotice.Delete(s, s.session.ID); err != nil {
		return b, err
	}
	notices := core.BuildNotices(waiting, maxChars)
	if maxChars > 0 {
		maxChars = max(1, maxChars-len(notices)-len("\n\n"))
	}
	b, err = brief(maxChars)
	b.Text = strings.Trim(notices+"\n\n"+b.Text, "\n")
	return b, err
}
