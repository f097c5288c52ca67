package fold

import "flame/core"

// AnswerEditions records, by the times of a conversation's answers, the edition of the ledger under
// which the model wrote each. The edition is fixed when flame first sees the answer.
type AnswerEditions struct {
	Runs []EditionRun `json:"runs,omitempty"` // oldest first
	Seen core.Millis  `json:"seen,omitempty"` // time of the newest recorded answer
}

// An EditionRun is a sequence of answers written under one edition.
type EditionRun struct {
	From    core.Millis `json:"from"` // time of the first answer
	Edition int         `json:"edition"`
}

// Unknown is the edition of an answer if flame does not know how its request was sent.
const Unknown = -1

// At returns the edition of the answer with this time: 0 if it is older than all recorded
// answers, Unknown if it is newer.
func (a AnswerEditions) At(time core.Millis) int {
	if time > a.Seen {
		return Unknown
	}
	for i := len(a.Runs) - 1; i >= 0; i-- {
		if a.Runs[i].From <= time {
			return a.Runs[i].Edition
		}
	}
	return 0
}

// Note records the answer with this time. It ignores answers that are not newer than all
// recorded ones.
func (a *AnswerEditions) Note(time core.Millis, edition int) {
	if time <= a.Seen {
		return
	}
	if len(a.Runs) == 0 || a.Runs[len(a.Runs)-1].Edition != edition {
		a.Runs = append(a.Runs, EditionRun{time, edition})
	}
	a.Seen = time
}

// Upto forgets the answers after a time.
func (a *AnswerEditions) Upto(time core.Millis) {
	a.Seen = min(a.Seen, time)
	for len(a.Runs) > 0 && a.Runs[len(a.Runs)-1].From > time {
		a.Runs = a.Runs[:len(a.Runs)-1]
	}
}
