package briefing

import "flame/project"

// recordNotice, by session, holds the notices that its agent has not seen.
const recordNotice project.Kind[[]string] = "notice"

// maxNotices limits the notices that wait for one session; the newest stay.
const maxNotices = 8

// Notify leaves a notice, a fact in one sentence, for a session, in the transaction that
// made it so. The session's next briefing includes it, and no later one does.
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

// ForgetNotices drops the notices of a session.
func ForgetNotices(tx project.Tx, session string) error { return recordNotice.Delete(tx, session) }
