package fold

import (
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
	return newest
}

// LeftOutSince returns the lowest edition that leaves anything out; 0 if none does.
func (l Ledger) LeftOutSince() (first int) {
	if len(l.Folds) > 0 {
		first = l.Folds[0].Edition
	}
	if len(l.Cuts) > 0 && (first == 0 || l.Cuts[0].Edition < first) {
		first = l.Cuts[0].Edition
	}
	return first
}

// Standing returns the ledger without what the history has nothing of any more.
func (l Ledger) Standing(history []Message) Ledger {
	at := places(history)
	return Ledger{
		Folds:   slices.DeleteFunc(slices.Clone(l.Folds), func(f Fold) bool { return !f.holds(at) }),
		Inserts: slices.DeleteFunc(slices.Clone(l.Inserts), func(i Insert) bool { _, stands := at[i.Message]; return !stands }),
		Cuts:    slices.DeleteFunc(slices.Clone(l.Cuts), func(c Cut) bool { _, stands := at[c.Message]; return !stands }),
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
	by := l.dropped(history, at)
	for i, m := range history {
		if by[i] != nil {
			a.Drop = append(a.Drop, m.Name)
		}
	}
	for i := range l.Folds {
		if l.Folds[i].holds(at) {
			a.Before = append(a.Before, l.Folds[i].notes(history, at, by)...)
		}
	}
	slices.SortStableFunc(a.Before, func(n, m Note) int { return at[n.Before] - at[m.Before] })
	for _, insert := range l.Inserts {
		if _, stands := at[insert.Message]; stands {
			a.After = append(a.After, insert)
		}
	}
	for _, cut := range l.Cuts {
		if i, stands := at[cut.Message]; stands && by[i] == nil {
			a.Cuts = append(a.Cuts, cut)
		}
	}
	for _, i := range Stale(history, l.changes(at), edition) {
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
	return by
}

// notes returns a fold's notes where they stand now: where a later fold has left out the
// message, before the next one that stays, unless that fold has all of this one within.
func (f *Fold) notes(history []Message, at map[string]int, by []*Fold) (notes []Note) {
	for _, note := range f.Notes {
		i, stands := at[note.Before]
		if !stands || by[i] != nil && at[by[i].Drop[0]] < at[f.Drop[0]] {
			continue
		}
		for i < len(by) && by[i] != nil {
			i++
		}
		if i < len(by) {
			notes = append(notes, Note{history[beforeSystem(history, by, i)].Name, note.Text})
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

// Unknown is the edition of an answer to a request of which nobody knows how it was
// sent.
const Unknown = -1

// A Change is an edit of a conversation's past.
type Change struct {
	Edition int // the first that has it
	From    int // the first message that has another past for it
}

// changes returns what the entries that hold change.
func (l Ledger) changes(at map[string]int) (all []Change) {
	for _, fold := range l.Folds {
		if !fold.holds(at) {
			continue
		}
		from := at[fold.Upto]
		for _, name := range fold.Drop {
			if i, stands := at[name]; stands {
				from = min(from, i+1)
			}
		}
		for _, note := range fold.Notes {
			if i, stands := at[note.Before]; stands {
				from = min(from, i)
			}
		}
		all = append(all, Change{fold.Edition, from})
	}
	for _, insert := range l.Inserts {
		if i, stands := at[insert.Message]; stands {
			all = append(all, Change{insert.Edition, i + 1})
		}
	}
	for _, cut := range l.Cuts {
		if i, stands := at[cut.Message]; stands {
			all = append(all, Change{cut.Edition, i + 1})
		}
	}
	return all
}

// Stale returns the assistant's messages whose past is not what it was when the model
// wrote them. Newer models bind their thinking to all that stood before it; what is no
// longer so bound must not be sent, or all that comes later is lost as well. A message
// keeps its thinking only if its edition is known, and no change of a later one lies
// before it.
func Stale(history []Message, changes []Change, edition func(Message) int) (stale []int) {
	changes = slices.Clone(changes)
	slices.SortFunc(changes, func(a, b Change) int { return a.From - b.From })
	newest := 0 // edition of all changes before message i
	for i, m := range history {
		for ; len(changes) > 0 && changes[0].From <= i; changes = changes[1:] {
			newest = max(newest, changes[0].Edition)
		}
		if m.Role != core.RoleAssistant {
			continue
		}
		if own := edition(m); own == Unknown || own < newest {
			stale = append(stale, i)
		}
	}
	return stale
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
