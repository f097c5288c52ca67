package record

import (
	"cmp"
	"errors"
	"slices"

	"flame/agents/supervise"
	"flame/core"
	"flame/project"
	"flame/project/usage"
)

// Enrol writes the records of a new agent, which counts in its tree from then on.
func Enrol(tx project.Tx, run Run) error {
	var t Tree
	if _, err := Trees.Load(tx, run.Tree, &t); err != nil {
		return err
	}
	t.Total++
	t.Live = append(t.Live, run.ID)
	live := Live{Starter: supervise.Self(), Since: run.CreatedAt}
	if run.For != "" {
		live.Worker = live.Starter
	}
	err := errors.Join(
		Trees.Save(tx, run.Tree, t),
		Runs.Save(tx, run.ID, run),
		Living.Save(tx, run.ID, live),
		Children.Save(tx, run.ID+"/", struct{}{}),
	)
	if run.Session != "" {
		err = errors.Join(err, Sessions.Save(tx, run.Session, run.ID))
	}
	if run.ParentAgent != "" {
		err = errors.Join(err, Children.Save(tx, run.ParentAgent+"/"+run.ID, struct{}{}))
	}
	if run.Key != "" {
		err = errors.Join(err, Keys.Save(tx, keyOf(run.ParentSession, run.Key), run.ID))
	}
	return err
}

// Leave takes an agent that has ended out of those that run.
func Leave(tx project.Tx, run Run) error {
	var t Tree
	if _, err := Trees.Load(tx, run.Tree, &t); err != nil {
		return err
	}
	t.Live = slices.DeleteFunc(t.Live, func(live string) bool { return live == run.ID })
	if err := Trees.Save(tx, run.Tree, t); err != nil {
		return err
	}
	ended, err := justEnded(tx, run.EndedAt, recentTime)
	if err != nil {
		return err
	}
	ids, err := recent.IDs(tx, "")
	for _, id := range ids {
		if !slices.Contains(ended, id) {
			err = errors.Join(err, recent.Delete(tx, id))
		}
	}
	return errors.Join(err, recent.Save(tx, run.ID, run.EndedAt))
}

// recentTime is for how long is known which agents have ended, in ms.
const recentTime = core.Millis(24 * 60 * 60_000)

// justEnded returns the ids of agents that ended at most so long before now.
func justEnded(tx project.Tx, now, within core.Millis) (ids []string, err error) {
	err = recent.Each(tx, func(id string, at core.Millis) error {
		if now-at < within && at-now < within { // a clock that jumped back makes nothing last
			ids = append(ids, id)
		}
		return nil
	})
	return ids, err
}

// Spend adds what an agent used since it was told last to what its tree used, and to its
// frames. What its host's own subagents used counts for its frame until flame knows of
// them: then they have frames of their own, and it is taken out of that one again.
func Spend(s *project.Step, run *Run, p supervise.Progress) error {
	var t Tree
	if _, err := Trees.Load(s.Tx, run.Tree, &t); err != nil {
		return err
	}
	t.Tokens += p.Tokens() - run.Progress.Tokens()
	t.CostUSD += p.Cost() - run.Progress.Cost()
	if run.Elsewhere() { // its worker's machine charges the frames
		return Trees.Save(s.Tx, run.Tree, t)
	}
	session := cmp.Or(run.Session, p.Session)
	if !run.Apart && session != "" {
		own, err := s.Tx.FindSessions(project.SessionQuery{Tracked: true, Parent: session, Limit: 1})
		if err != nil {
			return err
		}
		run.Apart = len(own) > 0
	}
	if run.Charged == (core.Usage{}) { // nothing was, or an older flame did not note it
		run.Charged = run.Progress.Used()
	}
	charged := p.Used()
	if run.Apart {
		charged = p.Usage
	}
	used := charged.Minus(run.Charged)
	run.Charged = charged
	return errors.Join(Trees.Save(s.Tx, run.Tree, t), usage.AddSupervised(s, session, run.Frame, used, p.Turns-run.Progress.Turns))
}
