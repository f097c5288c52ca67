// Package conversation keeps by what the requests of a session to its model differ from
// the history that its host has: what was left out of them, and what was put in.
package conversation

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"flame/core"
	"flame/core/fold"
	"flame/project"
)

// A Conversation is what is kept of one session's. The zero value is that of a session
// whose requests were all sent as they are.
type Conversation struct {
	record
	answers answered
	changed bool
	told    bool        // an answer was noted, or a request counted
	begun   []fold.Fold // that were added
}

// A record is what changes when something new is left out or put in.
type record struct {
	Prompt  string `json:"prompt"`            // name of the last message of the user's that was decided on
	Summary string `json:"summary,omitempty"` // name of the compaction after which the context was last inserted
	Newest  int    `json:"edition,omitempty"` // highest edition that the ledger has had
	fold.Ledger
	Past map[string]fold.Spared `json:"past,omitempty"` // by frame, what folds spared that are not in the ledger any more
}

// An answered is what changes with each request.
type answered struct {
	fold.Answers
	fold.Meter
	Open  bool                   `json:"open,omitempty"`  // the newest request that was counted was not sent whole, and has no answer yet
	Times map[string]core.Millis `json:"times,omitempty"` // of messages, by name, where the host tells none
}

const (
	recordLedger  project.Kind[record]     = "inserted" // by session; called by all that it once held
	recordAnswers project.Kind[answered]   = "answered" // likewise; changes with each request
	recordPast    project.Kind[fold.Meter] = "requests" // by host, those of sessions that were forgotten
)

// Load returns the conversation of the step's session. One that was branched off another
// session's has what is kept of that, as far as its history goes.
func Load(s *project.Step, history []fold.Message) (Conversation, error) {
	c, known, err := load(s.Tx, s.Session.ID)
	if known || err != nil || !hasAnswers(history) {
		return c, err
	}
	origin, err := originOf(s, history)
	if origin == "" || err != nil {
		return c, err
	}
	branch, _, err := load(s.Tx, origin)
	branch.answers.Upto(branch.newestAnswer(history))
	branch.answers.Meter, branch.answers.Open, branch.Past = fold.Meter{}, false, nil
	branch.Reset()
	branch.changed, branch.told = true, true
	return branch, err
}

// hasAnswers reports whether a history has any.
func hasAnswers(history []fold.Message) bool {
	return slices.ContainsFunc(history, func(m fold.Message) bool { return m.Role == core.RoleAssistant })
}

// newestAnswer returns the time of the newest answer in a history, 0 if it has none.
func (c *Conversation) newestAnswer(history []fold.Message) (newest core.Millis) {
	for _, m := range history {
		if m.Role == core.RoleAssistant {
			newest = max(newest, cmp.Or(m.Time, c.answers.Times[m.Name]))
		}
	}
	return newest
}

// load returns what is kept of a session's conversation, and whether anything is.
func load(tx project.Tx, session string) (c Conversation, known bool, err error) {
	left, err := recordLedger.Load(tx, session, &c.record)
	if err != nil {
		return c, false, err
	}
	answered, err := recordAnswers.Load(tx, session, &c.answers)
	return c, left || answered, err
}

// originOf returns the session of whose ledger most stands in a history, which is that
// from which it was branched off; empty if nothing of any does.
func originOf(s *project.Step, history []fold.Message) (origin string, err error) {
	most := 0
	err = recordLedger.Each(s.Tx, func(session string, kept record) error {
		standing := kept.Standing(history)
		if n := len(standing.Folds) + len(standing.Inserts) + len(standing.Cuts); n > most {
			origin, most = session, n
		}
		return nil
	})
	return origin, err
}

// Changed reports whether there is anything to save.
func (c *Conversation) Changed() bool { return c.changed || c.told }

// Save writes what has changed.
func (c *Conversation) Save(tx project.Tx, session string) (err error) {
	if c.changed {
		err = recordLedger.Save(tx, session, c.record)
	}
	if c.told {
		err = errors.Join(err, recordAnswers.Save(tx, session, c.answers))
	}
	return err
}

// Note fixes under which edition each new answer in a history was made. editions has
// those that the host knows, by the times of the answers.
func (c *Conversation) Note(history []fold.Message, editions map[core.Millis]int) {
	for _, m := range history {
		if m.Role != core.RoleAssistant || m.Time <= c.answers.Seen {
			continue
		}
		edition, known := editions[m.Time]
		if !known && c.Newest > 0 {
			edition = fold.Unknown
		}
		c.note(m.Time, edition)
	}
}

// note fixes under which edition an answer was made. If it is the answer to the newest
// request, that tells how this was sent.
func (c *Conversation) note(time core.Millis, edition int) {
	if time <= c.answers.Seen {
		return
	}
	if c.answers.Open && c.answers.TakeBack(&c.Ledger, edition) {
		c.changed = true
	}
	c.answers.Note(time, edition)
	c.answers.Open, c.told = false, true
}

// NoteAnswers fixes under which editions answers were made that no request has shown
// yet, by their times.
func NoteAnswers(tx project.Tx, session string, editions map[core.Millis]int) error {
	c, _, err := load(tx, session)
	if err != nil || c.Newest == 0 {
		return err
	}
	for _, time := range slices.Sorted(maps.Keys(editions)) {
		c.note(time, editions[time])
	}
	return c.Save(tx, session)
}

// Decide records that the newest prompt was decided on, after the compaction of this
// summary, if any. What stood before a compaction is forgotten.
func (c *Conversation) Decide(history []fold.Message, prompt, summary string) {
	if summary != c.Summary {
		c.retire(history)
	}
	c.Prompt, c.Summary, c.changed = prompt, summary, true
}

// Insert puts a text behind all that was sent so far.
func (c *Conversation) Insert(history []fold.Message, text string) {
	c.Inserts = append(c.Inserts, fold.Insert{Edition: c.next(), Message: history[len(history)-1].Name, Text: text})
}

// Catch puts texts that missed the request they were meant for behind all that was sent
// since: what went out without a thing goes on without it.
func (c *Conversation) Catch(history []fold.Message) {
	first := len(c.Inserts)
	for first > 0 && c.missed(history, c.Inserts[first-1]) {
		first--
	}
	late := slices.Clone(c.Inserts[first:])
	c.Inserts = c.Inserts[:first]
	for _, insert := range late {
		c.Insert(history, insert.Text)
	}
}

// missed reports whether a text was in none of the requests that were answered since it
// was to be.
func (c *Conversation) missed(history []fold.Message, insert fold.Insert) (missed bool) {
	place := slices.IndexFunc(history, func(m fold.Message) bool { return m.Name == insert.Message })
	for _, m := range history[place+1:] {
		if m.Role != core.RoleAssistant {
			continue
		}
		if edition := c.answers.At(m.Time); edition == fold.Unknown || edition >= insert.Edition {
			return false
		}
		missed = true
	}
	return missed && place >= 0
}

// Fold adds what is to be left out from now on.
func (c *Conversation) Fold(found []fold.Fold) {
	if len(found) == 0 {
		return
	}
	edition := c.next()
	for _, f := range found {
		f.Edition = edition
		c.Folds, c.begun = append(c.Folds, f), append(c.begun, f)
	}
}

// Cut adds what is to be cut from now on.
func (c *Conversation) Cut(found []fold.Cut) {
	if len(found) == 0 {
		return
	}
	edition := c.next()
	for _, cut := range found {
		cut.Edition = edition
		c.Cuts = append(c.Cuts, cut)
	}
}

// next begins an edition.
func (c *Conversation) next() int {
	c.Newest++
	c.changed = true
	return c.Newest
}

// Switch notes whether anything is left out from now on.
func (c *Conversation) Switch(folds bool) {
	if folds == c.Whole() && len(c.Folds)+len(c.Cuts) > 0 {
		c.Switches = append(c.Switches, fold.Switch{Edition: c.next(), Whole: !folds})
	}
}

// Amend returns what makes a request out of a history.
func (c *Conversation) Amend(history []fold.Message) fold.Amendment {
	return c.Ledger.Amend(history, func(m fold.Message) int { return c.answers.At(m.Time) })
}
