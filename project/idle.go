package project

import "flame/core"

// RecordIdle, by session, are the stretches of more than ten minutes in which it did not
// work, oldest first: from the last that was heard of its turn, or of its end, until it
// was heard of again. The newest 500 are kept, older ones are dropped.
const RecordIdle Kind[[]core.Stretch] = "idle"

const (
	longIdle = core.Millis(10 * 60 * 1000)
	maxIdle  = 500
)

// noteIdle records how long a session was not at work, if it is heard of now and that was
// long.
func noteIdle(tx Tx, session core.Session, now core.Millis) error {
	from := session.LastActivityAt
	if session.State == core.SessionActive || from == 0 || now-from <= longIdle {
		return nil
	}
	var idle []core.Stretch
	if _, err := RecordIdle.Load(tx, session.ID, &idle); err != nil {
		return err
	}
	return RecordIdle.Save(tx, session.ID, addIdle(idle, core.Stretch{From: from, Until: now}))
}

// addIdle adds one to stretches in order. What touches the last one lengthens it: the end
// of a session is heard of after its last turn, or the clock was put back meanwhile.
func addIdle(idle []core.Stretch, one core.Stretch) []core.Stretch {
	if n := len(idle); n > 0 && one.From <= idle[n-1].Until {
		idle[n-1].Until = max(idle[n-1].Until, one.Until)
		return idle
	}
	if idle = append(idle, one); len(idle) > maxIdle {
		idle = idle[len(idle)-maxIdle:]
	}
	return idle
}
