package usage

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/fold"
	"flame/project"
)

// A RequestLog is the record of one session's requests. The zero value is the record of a
// session whose requests were all sent unchanged.
type RequestLog struct {
	record
	answers answerState
	changed bool
	told    bool        // flame recorded an answer, or counted a request
	begun   []fold.Fold // new folds
}

// A record is the part of a RequestLog that changes when flame leaves out or inserts
// something new.
type record struct {
	Prompt  string `json:"prompt"`            // name of the user's last message on which flame decided
	Summary string `json:"summary,omitempty"` // name of the compaction after which flame last inserted the context
	Newest  int    `json:"edition,omitempty"` // highest edition that the ledger has had
	fold.Ledger
	Past map[string]fold.Savings `json:"past,omitempty"` // by frame, what folds saved that are no longer in the ledger
}

// An answerState is the part of a RequestLog that changes with each request.
type answerState struct {
	fold.AnswerEditions
	fold.Meter
	Open  bool                   `json:"open,omitempty"`  // the newest counted request was not sent whole, and has no answer yet
	Times map[string]core.Millis `json:"times,omitempty"` // of messages, by name, if the host reports none

	Refused  int         `json:"refused,omitempty"`  // edited requests in a row that the API refused
	RefuseAt core.Millis `json:"refuseAt,omitempty"` // when the newest of them was asked
}

const (
	recordLedger  project.RecordKind[record]      = "ledger"           // by session
	recordAnswers project.RecordKind[answerState] = "answers.answered" // by session
	recordPast    project.RecordKind[fold.Meter]  = "host.past"        // by host: the requests of forgotten sessions
)

// RequestsFor returns the conversation of the step's session. A conversation that branched off that
// of another session has the record of that, as far as its history goes.
func RequestsFor(s *project.Op, history []fold.Message) (RequestLog, error) {
	c, known, err := load(s.Tx, s.Session.ID)
	if known || err != nil || lastAnswer(history) < 0 {
		return c, err
	}
	origin, err := originOf(s, history)
	if origin == "" || err != nil {
		return c, err
	}
	branch, _, err := load(s.Tx, origin)
	branch.answers.Upto(branch.newestAnswer(history))
	branch.answers.Meter, branch.answers.Open, branch.answers.Refused, branch.Past = fold.Meter{}, false, 0, nil
	branch.Reset()
	branch.changed, branch.told = true, true
	return branch, err
}

// newestAnswer returns the time of the newest answer in a history, 0 if it has none.
func (c *RequestLog) newestAnswer(history []fold.Message) (newest core.Millis) {
	for _, m := range history {
		if m.Role == core.RoleAssistant {
			newest = max(newest, cmp.Or(m.Time, c.answers.Times[m.Name]))
		}
	}
	return newest
}

// load returns a session's conversation, and reports whether there is a record of it.
func load(tx project.Tx, session string) (c RequestLog, known bool, err error) {
	var left, answered bool
	if c.record, left, err = recordLedger.Get(tx, session); err == nil {
		c.answers, answered, err = recordAnswers.Get(tx, session)
	}
	return c, left || answered, err
}

// originOf returns the session from which a history branched off: the one with the most
// entries of its ledger in the history; empty if no ledger has any there.
func originOf(s *project.Op, history []fold.Message) (origin string, err error) {
	most := 0
	err = recordLedger.Each(s.Tx, func(session string, kept record) error {
		standing := kept.Pruned(history)
		if n := len(standing.Folds) + len(standing.Inserts) + len(standing.Cuts); n > most {
			origin, most = session, n
		}
		return nil
	})
	return origin, err
}

// Changed reports whether there is anything to save.
func (c *RequestLog) Changed() bool { return c.changed || c.told }

// Save writes the changes.
func (c *RequestLog) Save(tx project.Tx, session string) (err error) {
	if c.changed {
		err = recordLedger.Save(tx, session, c.record)
	}
	if c.told {
		err = errors.Join(err, recordAnswers.Save(tx, session, c.answers))
	}
	return err
}

// NoteEditions records the edition of the request for each new answer in a history. editions has the
// editions that the host knows, by the times of the answers.
func (c *RequestLog) NoteEditions(history []fold.Message, editions map[core.Millis]int) {
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

// note records the edition of the request for an answer. The answer to the newest request
// shows how that request was sent.
func (c *RequestLog) note(time core.Millis, edition int) {
	if time <= c.answers.Seen {
		return
	}
	if c.answers.Open && c.answers.Uncount(&c.Ledger, edition) {
		c.changed = true
	}
	c.answers.Note(time, edition)
	c.answers.Open, c.told = false, true
}

// NoteAnswers records the editions of answers that no request has shown yet, by their times.
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

// NotePromptDecided records that flame decided on the newest prompt, after the compaction with this
// summary, if any. It drops entries from before a new compaction.
func (c *RequestLog) NotePromptDecided(history []fold.Message, prompt, summary string) {
	if summary != c.Summary {
		c.retire(history)
	}
	c.Prompt, c.Summary, c.changed = prompt, summary, true
}

// retire drops the entries of the ledger that the history no longer contains, and keeps what
// they saved.
func (c *RequestLog) retire(history []fold.Message) {
	standing := c.Pruned(history)
	for i := range c.Folds {
		f := &c.Folds[i]
		if slices.ContainsFunc(standing.Folds, func(s fold.Fold) bool { return s.EndMessage == f.EndMessage && s.Edition == f.Edition }) {
			continue
		}
		if c.Past == nil {
			c.Past = map[string]fold.Savings{}
		}
		c.Past[f.Frame] = c.Past[f.Frame].With(f.Savings(c.answers.Meter))
	}
	c.Ledger = standing
}

// Insert puts a text behind everything that was sent so far.
func (c *RequestLog) Insert(history []fold.Message, text string) {
	c.Inserts = append(c.Inserts, fold.Insert{Edition: c.next(), Message: history[len(history)-1].Name, Text: text})
}

// MoveMissedInserts moves texts that missed their request behind everything that was sent since: a
// message that went out without such a text stays without it.
func (c *RequestLog) MoveMissedInserts(history []fold.Message) {
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

// missed reports whether a text was in none of the answered requests since flame inserted it.
func (c *RequestLog) missed(history []fold.Message, insert fold.Insert) (missed bool) {
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

// Fold adds folds that take effect from now on.
func (c *RequestLog) Fold(found []fold.Fold) {
	if len(found) == 0 {
		return
	}
	edition := c.next()
	for _, f := range found {
		f.Edition = edition
		c.Folds, c.begun = append(c.Folds, f), append(c.begun, f)
	}
}

// Cut adds cuts that take effect from now on.
func (c *RequestLog) Cut(found []fold.Cut) {
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
func (c *RequestLog) next() int {
	c.Newest++
	c.changed = true
	return c.Newest
}

// SetFolding records whether flame leaves anything out from now on.
func (c *RequestLog) SetFolding(folds bool) {
	if folds == c.Disabled() && len(c.Folds)+len(c.Cuts) > 0 {
		c.Switches = append(c.Switches, fold.Toggle{Edition: c.next(), Whole: !folds})
	}
}

// Refused returns how many edited requests in a row the API has refused. It forgets them once the
// history, after a compaction, has nothing that they left out.
func (c *RequestLog) Refused(history []fold.Message) int {
	if kept := c.Pruned(history); c.answers.Refused > 0 && len(kept.Folds)+len(kept.Cuts) == 0 {
		c.answers.Refused, c.told = 0, true
	}
	return c.answers.Refused
}

// Edits returns the changes that make a request out of a history.
func (c *RequestLog) Edits(history []fold.Message) fold.Edits {
	return c.Ledger.Edits(history, func(m fold.Message) int { return c.answers.At(m.Time) })
}

// A SeenAnswer is an answer of the model that a gateway saw, together with its request.
type SeenAnswer struct {
	Name    string      // of its message, in the histories to come
	Time    core.Millis // when it was asked for
	Edition int         // of the request
	Refused bool        // the API refused the request, which flame had edited, so it has no name
}

// NoteGatewayAnswers records the times and editions of answers of a session whose host reports no
// times, and counts requests that were not counted when they were sent.
func NoteGatewayAnswers(tx project.Tx, session string, answers []SeenAnswer, sent fold.Meter) error {
	c, _, err := load(tx, session)
	if err != nil {
		return err
	}
	if sent.Requests > 0 {
		c.answers.Meter, c.told = c.answers.Add(sent), true
	}
	c.NoteUndatedAnswers(answers)
	return c.Save(tx, session)
}

// NoteUndatedAnswers records answers, oldest first, of a host that reports no times.
func (c *RequestLog) NoteUndatedAnswers(answers []SeenAnswer) {
	for _, a := range answers {
		if a.Refused {
			c.refuse(a.Time)
			continue
		}
		if _, known := c.answers.Times[a.Name]; known {
			continue
		}
		if c.answers.Refused > 0 && !c.Disabled() && a.Edition > 0 && a.Time > c.answers.RefuseAt {
			c.answers.Refused = 0
		}
		time := max(a.Time, c.answers.Seen+1) // all times differ
		c.keepTime(a.Name, time)
		c.note(time, a.Edition)
	}
}

// refuse counts a refusal, once.
func (c *RequestLog) refuse(asked core.Millis) {
	if asked > c.answers.RefuseAt {
		c.answers.Refused, c.answers.RefuseAt, c.told = c.answers.Refused+1, asked, true
	}
}

func (c *RequestLog) keepTime(name string, time core.Millis) {
	if c.answers.Times == nil {
		c.answers.Times = map[string]core.Millis{}
	}
	c.answers.Times[name], c.told = time, true
}

// SetTimes sets the times of the messages of a history whose host reports none: the time of the
// request that first showed them; now is the time of this request. Results of tools and
// messages of the host get the time of the message before. An answer that flame did not see
// gets no time: its request had the whole past. If it stands behind a new summary, it counts
// as kept beside the summary.
func (c *RequestLog) SetTimes(history []fold.Message, now core.Millis) {
	c.forgetTimes(history)
	last, compacted := lastAnswer(history), false // compacted: by a new summary
	var before core.Millis
	for i := range history {
		m := &history[i]
		time, known := c.answers.Times[m.Name]
		switch {
		case known:
		case m.Role == core.RoleUser && m.IsToolResult || m.Role == core.RoleOther:
			time = before
		case m.Role == core.RoleUser && (i > last || m.Summary && !compacted):
			compacted = compacted || m.Summary
			time = now
			c.keepTime(m.Name, now)
		default:
			c.keepTime(m.Name, 0) // the request showed it without a time; a later report does not change that
		}
		m.Time, before = time, time
		if m.Summary {
			before = time - 1 // messages kept beside it are older
		}
	}
}

// Clone returns an independent copy.
func (c RequestLog) Clone() RequestLog {
	c.answers.Times, c.answers.Runs = maps.Clone(c.answers.Times), slices.Clone(c.answers.Runs)
	c.record.Past, c.Folds = maps.Clone(c.record.Past), slices.Clone(c.Folds)
	return c
}

// lastAnswer returns the index of the newest answer in a history, -1 if it has none.
func lastAnswer(history []fold.Message) int {
	_, i, _ := lo.FindLastIndexOf(history, func(m fold.Message) bool { return m.Role == core.RoleAssistant })
	return i
}

// forgetTimes drops the times of messages that the history lacks, once these are the
// majority: a compaction removed them.
func (c *RequestLog) forgetTimes(history []fold.Message) {
	const spare = 500 // a shortened or branched conversation may return to them
	if len(c.answers.Times) < 2*len(history)+spare {
		return
	}
	kept := make(map[string]core.Millis, len(history))
	for _, m := range history {
		if time, known := c.answers.Times[m.Name]; known {
			kept[m.Name] = time
		}
	}
	c.answers.Times, c.told = kept, true
}
