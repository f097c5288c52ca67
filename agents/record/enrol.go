package record

import (
	"errors"
	"slices"

	"flame/agents/supervise"
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
	err := errors.Join(
		Trees.Save(tx, run.Tree, t),
		Runs.Save(tx, run.ID, run),
		Living.Save(tx, run.ID, Live{Starter: supervise.Self(), Since: run.CreatedAt}),
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

// Leave takes an agent out of those that run.
func Leave(tx project.Tx, run Run) error {
	var t Tree
	if _, err := Trees.Load(tx, run.Tree, &t); err != nil {
		return err
	}
	t.Live = slices.DeleteFunc(t.Live, func(live string) bool { return live == run.ID })
	return Trees.Save(tx, run.Tree, t)
}

// Spend adds what an agent used since it was told last to what its tree used, and to its
// frames.
func Spend(s *project.Step, run Run, p supervise.Progress) error {
	var t Tree
	if _, err := Trees.Load(s.Tx, run.Tree, &t); err != nil {
		return err
	}
	t.Tokens += p.Tokens() - run.Progress.Tokens()
	t.CostUSD += p.Cost() - run.Progress.Cost()
	used := p.Used().Minus(run.Progress.Used())
	own, err := s.Tx.FindSessions(project.SessionQuery{Tracked: true, Parent: run.Session, Limit: 1})
	if len(own) > 0 && run.Session != "" { // its host's own subagents have frames that they are counted in
		used = p.Usage.Minus(run.Progress.Usage)
	}
	return errors.Join(err, Trees.Save(s.Tx, run.Tree, t), usage.AddSupervised(s, run.Session, run.Frame, used, p.Turns-run.Progress.Turns))
}
