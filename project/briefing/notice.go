package briefing

import "flame/project"

// recordNotice, by session, is what its agent is still to be told.
const recordNotice project.Kind[[]string] = "notice"

// maxNotices bounds what waits for one session; the newest stay.
const maxNotices = 8

// Notify leaves a notice for a session, in the transaction of what it tells of: a fact
// in a sentence. It stands in that session's next briefing, whatever else there is to
// tell, and in none after it.
func Notify(tx project.Tx, session, text string) error {
	var waiting []string
	if _, err := recordNotice.Load(tx, session, &waiting); err != nil {
		return err
	}
	waiting = append(waiting, text)
	return recordNotice.Save(tx, session, waiting[max(0, len(waiting)-maxNotices):])
}

// isNotified reports whether a notice waits for the session.
func isNotified(s *project.Step) (bool, error) {
	var waiting []string
	return recordNotice.Load(s.Tx, s.Session.ID, &waiting)
}
