package fold

import (
	"math"
	"slices"

	"flame/core"
)

// A Ledger has all by which the requests of a conversation differ from its history.
// Entries are added under ever higher editions, and are not taken out while the history
// has what they are about: what was sent once is sent again.
type Ledger struct {
	Folds   []Fold   `json:"folds,omitempty"`
	Inserts []Insert `json:"inserts,omitempty"`
	Cuts    []Cut    `json:"cuts,omitempty"`
	// Switches are oldest first; folding is on before the first.
	Switches []Switch `json:"switches,omitempty"`
}

// An Insert is text by flame that stands right after a message.
type Insert struct {
	Edition int    `json:"edition,omitempty"`
	Message string `json:"message"` // name
	Text    string `json:"text"`
}

// A Cut puts one line in the place of a tool's output.
type Cut struct {
	Edition int    `json:"edition"`
	Message string `json:"message"` // name
	Call    string `json:"call"`    // id
	Text    string `json:"text"`    // the line
	Tokens  int    `json:"tokens"`  // cut, estimated
}

// A Switch is when folding and cutting were switched off, or on again.
type Switch struct {
	Edition int  `json:"edition"`
	Whole   bool `json:"whole"` // nothing is left out from then on
}

// Whole reports whether nothing is left out at present.
func (l Ledger) Whole() bool { return l.wholeAt(math.MaxInt) }

// wholeAt reports whether nothing was left out under an edition.
func (l Ledger) wholeAt(edition int) (whole bool) {
	for _, s := range l.Switches {
		if s.Edition <= edition {
			whole = s.Whole
		}
	}
	return whole
}

// Edition returns the highest edition of an entry, 0 of an empty ledger: that of a
// request which is sent as the ledger has it.
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

// Standing returns the ledger without what the history has nothing of any more.
func (l Ledger) Standing(history []Message) Ledger {
	at := places(history)
	return Ledger{
		Folds:   slices.DeleteFunc(slices.Clone(l.Folds), func(f Fold) bool { return !f.holds(at) }),
		Inserts: slices.DeleteFunc(slices.Clone(l.Inserts), func(i Insert) bool { _, stands := at[i.Message]; return !stands }),
		Cuts:    slices.DeleteFunc(slices.Clone(l.Cuts), func(c Cut) bool { _, stands := at[c.Message]; return !stands }),

		Switches: l.Switches, // all, as they say how older answers were asked for
	}
}

// An Amendment is what makes a request out of a history.
type Amendment struct {
	Edition int // of the ledger, by which the answer is to be known
	Drop    []string
	Before  []Note
	After   []Insert
	Cuts    []Cut
	Stale   []string // names of the assistant's messages that go without their thinking
}

// Amend returns what the ledger makes of a history. edition gives that of the request
// which a message of the assistant's answers.
func (l Ledger) Amend(history []Message, edition func(Message) int) Amendment {
	at := places(history)
	a := Amendment{Edition: l.Edition()}
	sent := l
	if l.Whole() {
		sent.Folds, sent.Cuts = nil, nil
	}
	by := sent.dropped(history, at)
	for i, m := range history {
		if by[i] != nil {
			a.Drop = append(a.Drop, m.Name)
		}
	}
	for i := range sent.Folds {
		if f := &sent.Folds[i]; f.holds(at) {
			a.Before = append(a.Before, f.notes(history, at, by)...)
		}
	}
	slices.SortStableFunc(a.Before, func(n, m Note) int { return at[n.Before] - at[m.Before] })
	for _, insert := range l.Inserts {
		if _, stands := at[insert.Message]; stands {
			a.After = append(a.After, insert)
		}
	}
	for _, cut := range sent.Cuts {
		if i, stands := at[cut.Message]; stands && by[i] == nil {
			a.Cuts = append(a.Cuts, cut)
		}
	}
	for _, i := range l.stale(history, at, edition) {
		if by[i] == nil {
			a.Stale = append(a.Stale, history[i].Name)
		}
	}
	return a
}

// dropped returns, for each message, the fold that leaves it out; nil if it stays.
func (l Ledger) dropped(history []Message, at map[string]int) []*Fold {
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

// alone leaves out what the host says in messages of role system that lost the answer
// behind it: that was left out with it, but a compaction cut off so much that the host's
// message has another name.
func alone(history []Message, by []*Fold) {
	next := -1 // the first behind that stays
	for i, m := range slices.Backward(history) {
		if by[i] == nil && m.Role == core.RoleOther && m.Said == "" && next > i+1 && history[next].Role == core.RoleUser {
			by[i] = by[i+1]
		}
		if by[i] == nil {
			next = i
		}
	}
}

// notes returns a fold's notes where they stand now: where a later fold has left out the
// message, before the next one that stays. Those about the frame go if that fold has all
// of this one within.
func (f *Fold) notes(history []Message, at map[string]int, by []*Fold) (notes []Note) {
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

// beforeSystem returns where a text of the user's may stand that is to stand before
// message i: not between one of role system and the answer behind that.
func beforeSystem(history []Message, by []*Fold, i int) int {
	for k := i - 1; k > 0 && (by[k] != nil || history[k].Role == core.RoleOther); k-- {
		if by[k] == nil {
			i = k
		}
	}
	return i
}

// holds reports whether a fold's end is in the history; else it was cut off.
func (f *Fold) holds(at map[string]int) bool {
	_, stands := at[f.Upto]
	return stands
}

// places returns where in a history each message stands, by name.
func places(history []Message) map[string]int {
	at := make(map[string]int, len(history))
	for i, m := range history {
		if _, twice := at[m.Name]; !twice {
			at[m.Name] = i
		}
	}
	return at
}
