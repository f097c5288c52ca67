package fold

import "flame/core"

// Answers tells under which edition of the ledger each answer of a conversation was
// made, by the times of the answers. It is fixed when an answer is first seen.
type Answers struct {
	Runs []Run       `json:"runs,omitempty"` // oldest first
	Seen core.Millis `json:"seen,omitempty"` // time of the newest answer that was noted
}

// A Run is a row of answers that were made under one edition.
type Run struct {
	From    core.Millis `json:"from"` // time of the first
	Edition int         `json:"edition"`
}

// Unknown is the edition of an answer to a request of which nobody knows how it was
// sent.
const Unknown = -1

// At returns the edition of the answer of a time: 0 if it is older than all that were
// noted, Unknown if it is newer.
func (a Answers) At(time core.Millis) int {
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

// Note adds the answer of a time. One that is not newer than those known changes
// nothing.
func (a *Answers) Note(time core.Millis, edition int) {
	if time <= a.Seen {
		return
	}
	if len(a.Runs) == 0 || a.Runs[len(a.Runs)-1].Edition != edition {
		a.Runs = append(a.Runs, Run{time, edition})
	}
	a.Seen = time
}

// Upto forgets the answers that are newer than a time.
func (a *Answers) Upto(time core.Millis) {
	a.Seen = min(a.Seen, time)
	for len(a.Runs) > 0 && a.Runs[len(a.Runs)-1].From > time {
		a.Runs = a.Runs[:len(a.Runs)-1]
	}
}
