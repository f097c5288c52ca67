package fold

import (
	"math"
	"slices"

	"flame/core"
)

// A Ledger holds every difference between a conversation's requests and its history. New entries
// get higher editions. An entry stays while the history has the messages it is about: each
// request repeats the edits of the request before.
type Ledger struct {
	Folds   []Fold   `json:"folds,omitempty"`
	Inserts []Insert `json:"inserts,omitempty"`
	Cuts    []Cut    `json:"cuts,omitempty"`
	// Switches are oldest first; folding is on before the first.
	Switches []Toggle `json:"switches,omitempty"`
}

// An Insert is text by flame that stands right after a message.
type Insert struct {
	Edition int    `json:"edition,omitempty"`
	Message string `json:"message"` // name
	Text    string `json:"text"`
}

// A Cut puts a text in the place of a tool's output. Without a text the call goes as well, and
// without a call the assistant's words in the message.
type Cut struct {
	Edition int    `json:"edition"`
	Message string `json:"message"` // name
	Call    string `json:"call"`    // id
	Text    string `json:"text"`    // instead of the output
	Tokens  int    `json:"tokens"`  // estimated, that are cut
}

// A Toggle records the edition at which folding and cutting were switched off, or on again.
type Toggle struct {
	Edition int  `json:"edition"`
	Whole   bool `json:"whole"` // requests are sent whole from then on
}

// Disabled reports whether requests are currently sent whole.
func (l Ledger) Disabled() bool { return l.wholeAt(math.MaxInt) }

// wholeAt reports whether requests of an edition were sent whole.
func (l Ledger) wholeAt(edition int) (whole bool) {
	for _, s := range l.Switches {
		if s.Edition <= edition {
			whole = s.Whole
		}
	}
	return whole
}

// Edition returns the highest edition of all entries, 0 for an empty ledger. A request sent with
// this ledger has that edition.
func (l Ledger) Edition() (newest int) {
	for _, f := range l.Folds {
		newest = max(newest, f.Edition)
	}
	for _, i := range l.Inserts {
		newest = max(newest, i.Edition)
	}
	for _, c := range l.Cuts {
		newest = max(newest, c.Edition)
	}
	for _, s := range l.Switches {
		newest = max(newest, s.Edition)
	}
	return newest
}

// Pruned returns the ledger without entries whose messages the history no longer has.
func (l Ledger) Pruned(history []Message) Ledger { return l.standing(placesOf(history)) }

func (l Ledger) standing(at places) Ledger {
	return Ledger{
		Folds:   slices.DeleteFunc(slices.Clone(l.Folds), func(f Fold) bool { return !f.holds(at) }),
		Inserts: slices.DeleteFunc(slices.Clone(l.Inserts), func(i Insert) bool { return !at.has(i.Message) }),
		Cuts:    slices.DeleteFunc(slices.Clone(l.Cuts), func(c Cut) bool { return !at.has(c.Message) }),

		Switches: l.Switches, // all: they show how older answers were asked for
	}
}

// Edits are what makes a request out of a history.
type Edits struct {
	Edition      int // of the ledger; the answer is recorded under it
	Drop         []string
	Before       []Note
	After        []Insert
	Cuts         []Cut
	DropThinking []string // names of the assistant's messages that are sent without their thinking
}

// Edits returns the edits that the ledger makes to a history. edition returns the edition of the
// request that a message of the assistant answers.
func (l Ledger) Edits(history []Message, edition func(Message) int) Edits {
	at := placesOf(history)
	a := Edits{Edition: l.Edition()}
	l = l.standing(at)
	sent := l
	if l.Disabled() {
		sent.Folds, sent.Cuts = nil, nil
	}
	by := sent.dropped(history, at)
	for i, m := range history {
		if by[i] != nil {
			a.Drop = append(a.Drop, m.Name)
		}
	}
	for i := range sent.Folds {
		a.Before = append(a.Before, sent.Folds[i].notes(history, at, by)...)
		sent.Cuts = slices.Concat(sent.Cuts, sent.Folds[i].Cuts) // of two cuts of a call the last one holds
	}
	slices.SortStableFunc(a.Before, func(n, m Note) int { return at[n.Before] - at[m.Before] })
	a.After = l.Inserts
	a.Cuts = slices.DeleteFunc(slices.Clone(sent.Cuts), func(cut Cut) bool { i, stands := at[cut.Message]; return !stands || by[i] != nil })
	for _, i := range l.stale(history, at, edition) {
		if by[i] == nil {
			a.DropThinking = append(a.DropThinking, history[i].Name)
		}
	}
	return a
}

// dropped returns, for each message, the fold that leaves it out; nil if it stays.
func (l Ledger) dropped(history []Message, at places) []*Fold {
	by := make([]*Fold, len(history))
	for i := range l.Folds {
		if !l.Folds[i].holds(at) {
			continue
		}
		for _, name := range l.Folds[i].Drop {
			if k, stands := at[name]; stands {
				by[k] = &l.Folds[i]
			}
		}
	}
	alone(history, by)
	return by
}

// alone leaves out a host's message of role system without an answer behind it. The fold left
// out both, but the host's message had another name or place: a compaction cut off so much, or
// another model was asked, for which the host says the same in the user's name.
func alone(history []Message, by []*Fold) {
	next := -1 // the first behind that stays
	for i, m := range slices.Backward(history) {
		if by[i] == nil && m.Role == core.RoleOther && next > i+1 && history[next].Role != core.RoleAssistant {
			switch {
			case m.UserWords == "":
				by[i] = by[i+1]
			case history[next].Role == core.RoleOther && history[next].UserWords == "":
				by[next] = by[i+1] // of two in a row the one with the user's words stays
			}
		}
		if by[i] == nil {
			next = i
		}
	}
}

// notes returns a fold's notes with their present places. If a later fold left out the message of
// a note, the note moves to the next message that stays. Notes about the frame go if the later
// fold contains all of this fold.
func (f *Fold) notes(history []Message, at places, by []*Fold) (notes []Note) {
	for _, note := range f.Notes {
		i, stands := at[note.Before]
		if enclosed := stands && by[i] != nil && at[by[i].Drop[0]] < at[f.Drop[0]]; !stands || enclosed && !note.Words {
			continue
		}
		for i < len(by) && by[i] != nil {
			i++
		}
		if i < len(by) {
			note.Before = history[beforeSystem(history, by, i)].Name
			notes = append(notes, note)
		}
	}
	return notes
}

// beforeSystem returns the place for a text of the user that belongs before message i: it must
// not stand between a message of role system and the answer behind that.
func beforeSystem(history []Message, by []*Fold, i int) int {
	for k := i - 1; k > 0 && (by[k] != nil || history[k].Role == core.RoleOther); k-- {
		if by[k] == nil {
			i = k
		}
	}
	return i
}

// holds reports whether the history still has a fold's end. A conversation that was cut short has
// not.
func (f *Fold) holds(at places) bool { return at.has(f.EndMessage) }

// places are the indexes of the messages of a history, by name.
type places map[string]int

func placesOf(history []Message) places {
	at := make(places, len(history))
	for i, m := range slices.Backward(history) {
		at[m.Name] = i // of the first message with this name
	}
	return at
}

func (at places) has(name string) bool {
	_, has := at[name]
	return has
}

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
