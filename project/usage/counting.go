package usage

import (
	"cmp"
	"errors"
	"slices"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/fold"
	"flame/project"
)

// Count counts a request, and writes events about the frames that it is the first to leave
// out.
func (c *RequestLog) Count(s *project.Op, history []fold.Message, a fold.Edits) error {
	if c.answers.Track(&c.Ledger, history, !s.Project.Fold) {
		c.changed = true
	}
	c.answers.Count(history, a)
	c.answers.Open, c.told = s.Project.Fold, true
	for _, f := range c.begun {
		told := map[string]any{"messages": len(f.Drop), "tokens": f.Tokens, "request": c.answers.Requests}
		tell := func(facts *string) { *facts = cmp.Or(f.Facts, *facts) }
		if err := errors.Join(s.Emit(core.FrameFolded, f.Frame, told), project.RecordFacts.Change(s.Tx, f.Frame, tell)); err != nil {
			return err
		}
	}
	return nil
}

// RequestsOf returns the counted requests of a session.
func RequestsOf(tx project.Tx, session string) (fold.Meter, error) {
	a, _, err := recordAnswers.Get(tx, session)
	return a.Meter, err
}

// SavingsByFrame returns what the requests of a session left out, by folded frame.
func SavingsByFrame(tx project.Tx, session string) (map[string]fold.Savings, error) {
	c, known, err := load(tx, session)
	if !known || err != nil {
		return nil, err
	}
	all := lo.Assign(c.Past)
	for i := range c.Folds {
		f := &c.Folds[i]
		all[f.Frame] = all[f.Frame].With(f.Savings(c.answers.Meter))
	}
	return all, nil
}

// A HostMeter counts the requests of all sessions of a host.
type HostMeter struct {
	Host string `json:"host"`
	fold.Meter
	Less float64 `json:"timesLess,omitempty"` // by how many times folding shortened their messages; absent if nothing was left out
}

// RequestsByHost returns the requests of all sessions, including forgotten ones, in order of their
// hosts; sessions has all existing sessions. The result leaves out hosts whose requests flame
// does not see.
func RequestsByHost(tx project.Tx, sessions []core.Session) (all []HostMeter, err error) {
	hosts := lo.SliceToMap(sessions, func(s core.Session) (id, host string) { return s.ID, s.Host })
	sums := map[string]fold.Meter{}
	count := func(host string, m fold.Meter) {
		if m.Requests > 0 {
			sums[host] = sums[host].Add(m)
		}
	}
	err = errors.Join(
		recordPast.Each(tx, func(host string, m fold.Meter) error { count(host, m); return nil }),
		recordAnswers.Each(tx, func(session string, a answerState) error { count(hosts[session], a.Meter); return nil }),
	)
	all = lo.MapToSlice(sums, func(host string, m fold.Meter) HostMeter { return HostMeter{host, m, m.ShrinkFactor()} })
	slices.SortFunc(all, func(a, b HostMeter) int { return cmp.Compare(a.Host, b.Host) })
	return all, err
}
