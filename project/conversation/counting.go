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

// Count counts a request, and tells in events which frames it was the first to go
// without.
func (c *Conversation) Count(s *project.Step, history []fold.Message, a fold.Amendment) error {
	if c.answers.Track(&c.Ledger, history, !s.Project.Fold) {
		c.changed = true
	}
	c.answers.Count(history, a)
	c.answers.Open, c.told = s.Project.Fold, true
	for _, f := range c.begun {
		told := map[string]any{"messages": len(f.Drop), "tokens": f.Tokens, "request": c.answers.Requests}
		if err := s.Emit(core.FrameFolded, f.Frame, told); err != nil {
			return err
		}
	}
	return nil
}

// retire drops from the ledger what the history has nothing of any more, and keeps what
// that has spared.
func (c *Conversation) retire(history []fold.Message) {
	standing := c.Standing(history)
	for i := range c.Folds {
		f := &c.Folds[i]
		if slices.ContainsFunc(standing.Folds, func(s fold.Fold) bool { return s.Upto == f.Upto && s.Edition == f.Edition }) {
			continue
		}
		if c.Past == nil {
			c.Past = map[string]fold.Spared{}
		}
		c.Past[f.Frame] = c.Past[f.Frame].With(f.Spared(c.answers.Meter))
	}
	c.Ledger = standing
}

// Requests returns the requests of a session that were counted.
func Requests(tx project.Tx, session string) (fold.Meter, error) {
	var a answered
	_, err := recordAnswers.Load(tx, session, &a)
	return a.Meter, err
}

// Spared returns what the requests of a session went without because a frame was folded;
// the zero value if it was not.
func Spared(tx project.Tx, session, frame string) (fold.Spared, error) {
	all, err := SparedBy(tx, session)
	return all[frame], err
}

// SparedBy returns what the requests of a session went without, by the frames that were
// folded.
func SparedBy(tx project.Tx, session string) (map[string]fold.Spared, error) {
	c, known, err := load(tx, session)
	if !known || err != nil {
		return nil, err
	}
	all := map[string]fold.Spared{}
	maps.Copy(all, c.Past)
	for i := range c.Folds {
		f := &c.Folds[i]
		all[f.Frame] = all[f.Frame].With(f.Spared(c.answers.Meter))
	}
	return all, nil
}

// A HostMeter counts the requests of all sessions of a host.
type HostMeter struct {
	Host string `json:"host"`
	fold.Meter
	Less float64 `json:"timesLess,omitempty"` // was sent than without folding; absent if nothing was left out
}

// ByHost returns the requests of all sessions, also of those that were forgotten, in
// order of their hosts; sessions are all that there are. A host whose requests flame does
// not see is absent.
func ByHost(tx project.Tx, sessions []core.Session) (all []HostMeter, err error) {
	hosts := make(map[string]string, len(sessions))
	for _, s := range sessions {
		hosts[s.ID] = s.Host
	}
	all, sums := []HostMeter{}, map[string]fold.Meter{}
	count := func(host string, m fold.Meter) {
		if m.Requests > 0 {
			sums[host] = sums[host].Add(m)
		}
	}
	err = errors.Join(
		recordPast.Each(tx, func(host string, m fold.Meter) error { count(host, m); return nil }),
		recordAnswers.Each(tx, func(session string, a answered) error { count(hosts[session], a.Meter); return nil }),
	)
	for host, m := range sums {
		all = append(all, HostMeter{host, m, m.Less()})
	}
	slices.SortFunc(all, func(a, b HostMeter) int { return cmp.Compare(a.Host, b.Host) })
	return all, err
}

// Forget deletes what is kept of a session's conversation, but for the sum of its
// requests.
func Forget(tx project.Tx, session core.Session) error {
	m, err := Requests(tx, session.ID)
	if err == nil && m.Requests > 0 {
		var past fold.Meter
		if _, err = recordPast.Load(tx, session.Host, &past); err == nil {
			err = recordPast.Save(tx, session.Host, past.Add(m))
		}
	}
	return errors.Join(err, recordLedger.Delete(tx, session.ID), recordAnswers.Delete(tx, session.ID))
}
