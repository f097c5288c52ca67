package converge

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/agents/record"
	"flame/core"
	"flame/hosts"
	"flame/project"
)

// RecordConvergences are convergences, by id.
const RecordConvergences project.RecordKind[Convergence] = "convergence"

// A Convergence is the combined result of several agents, with all inputs: equal inputs give
// an equal result.
type Convergence struct {
	ID         string        `json:"id"`
	Session    string        `json:"session"` // session that asked for it
	Inputs     []AgentResult `json:"inputs"`
	Options    Options       `json:"options"`
	Result     Result        `json:"result"`
	Text       string        `json:"text"`                 // the output in its format
	ReplacedBy string        `json:"replacedBy,omitempty"` // a later one of the same agents, whose conflicts wait instead
	Open       int           `json:"open,omitempty"`       // conflicts that wait for a person
	Person     string        `json:"person,omitempty"`     // session at the root of the tree of agents that asked for it, if there are such conflicts
	CreatedAt  core.Millis   `json:"createdAt"`
	UpdatedAt  core.Millis   `json:"updatedAt"`
}

// WithOpen returns the convergences with conflicts that wait for a person.
func WithOpen(tx project.Tx) ([]Convergence, error) {
	_, open, err := RecordConvergences.Where(tx, "open", 1, math.MaxInt64)
	return open, err
}

// Waiting returns the conflicts that wait for a person.
func (c Convergence) Waiting() []Conflict {
	if c.ReplacedBy != "" {
		return nil
	}
	return c.Result.Waiting()
}

// tell appends an event of a convergence; the event belongs to no agent.
func (c Convergence) tell(tx project.Tx, kind string, data map[string]any) error {
	return record.Emit(tx, c.UpdatedAt, record.Agent{ParentSession: c.Session}, kind, data)
}

// converge makes the result and replaces an earlier result.
func (c *Convergence) converge(now core.Millis) (err error) {
	if c.Result, err = Converge(c.Inputs, c.Options); err != nil {
		return err
	}
	text, err := c.Result.Render("")
	c.Text, c.UpdatedAt = string(text), now
	return err
}

// keep stores a convergence, with events for the changes since the previous result.
func (c Convergence) keep(tx project.Tx, before Result) error {
	waiting := c.Waiting()
	c.Open = len(waiting)
	asked, err := record.AgentOf(tx, project.Caller{}, c.Session)
	if err != nil {
		return err
	}
	c.Person = cmp.Or(asked.Tree, c.Session)
	if err := RecordConvergences.Save(tx, c.ID, c); err != nil {
		return err
	}
	for _, conflict := range c.Result.Conflicts {
		if err := c.tellConflict(tx, before, conflict); err != nil {
			return err
		}
	}
	if len(waiting) > 0 {
		return errors.Join(
			c.tell(tx, core.ManualReviewRequired, map[string]any{"convergence": c.ID, "conflicts": waiting}),
			c.tell(tx, core.ConflictReviewRequest, map[string]any{"convergence": c.ID}))
	}
	return c.tell(tx, core.ConvergenceComplete, map[string]any{
		"convergence": c.ID, "conflict_count": len(c.Result.Conflicts), "resolution_count": c.Result.Resolved, "output_size": len(c.Text),
	})
}

func (c Convergence) tellConflict(tx project.Tx, before Result, conflict Conflict) error {
	was, known := lo.Find(before.Conflicts, func(was Conflict) bool { return was.ID == conflict.ID })
	tell := func(kind string) error {
		return c.tell(tx, core.TranscriptEvent, map[string]any{"event_type": kind, "convergence": c.ID, "conflict": conflict})
	}
	var err error
	if !known {
		err = tell(core.EventConflictDetected)
	}
	if !known && conflict.Kind == KindFile {
		err = errors.Join(err, c.tell(tx, core.FileConflictDetected, map[string]any{
			"convergence": c.ID, "path": conflict.Key, "subagent_ids": lo.Map(conflict.Sides, func(side Side, _ int) string { return side.SubagentID }),
		}))
	}
	if conflict.Resolved() && conflict.Winner != was.Winner {
		err = errors.Join(err, tell(core.EventConflictResolved))
	}
	return err
}

// Convergences are the convergences of a project.
type Convergences struct {
	Project *project.Project
	Data    string         // the project's data folder
	Hosts   hosts.Registry // read the logs of agents
}

// Make combines the results of several agents. The caller must be allowed to end the agents
// that are still running.
func (all Convergences) Make(ctx context.Context, by project.Caller, ids []string, o Options) (c Convergence, err error) {
	p := all.Project
	c = Convergence{ID: p.NewID("converge"), Session: cmp.Or(by.Session, project.CommandLine), Options: o, CreatedAt: p.Now()}
	err = p.Store.Update(ctx, func(tx project.Tx) error {
		if c.Inputs, c.Options.Schema, err = all.inputs(tx, ids, o.Schema); err != nil {
			return err
		}
		if err := mayEnd(tx, by, c.Inputs); err != nil {
			return err
		}
		if err := c.converge(p.Now()); err != nil {
			return err
		}
		return errors.Join(
			c.tell(tx, core.ConvergenceInitiated, map[string]any{"convergence": c.ID, "subagent_ids": c.Result.Inputs, "strategy": o.Strategy}),
			c.replace(tx), c.keep(tx, Result{}))
	})
	return c, err
}

// replace lets the conflicts of earlier convergences wait no longer if this one has all their agents: a
// person is asked once.
func (c Convergence) replace(tx project.Tx) error {
	open, err := WithOpen(tx)
	if err != nil {
		return err
	}
	for _, before := range open {
		if !lo.Every(c.Result.Inputs, before.Result.Inputs) {
			continue
		}
		before.ReplacedBy, before.Open = c.ID, 0
		if err := RecordConvergences.Save(tx, before.ID, before); err != nil {
			return err
		}
	}
	return nil
}

// Review settles conflicts of a convergence by a person's choices: the ids of the winning
// sides, by the ids of the conflicts.
func (all Convergences) Review(ctx context.Context, id string, choices map[string]string) (c Convergence, err error) {
	err = all.Project.Store.Update(ctx, func(tx project.Tx) error {
		if c, err = find(tx, id); err != nil {
			return err
		}
		before := c.Result
		c.Options.Choices = lo.Assign(c.Options.Choices, choices)
		if err := c.converge(all.Project.Now()); err != nil {
			return err
		}
		return c.keep(tx, before)
	})
	return c, err
}

// Find returns a convergence by its id.
func (all Convergences) Find(ctx context.Context, id string) (Convergence, error) {
	return project.Read(ctx, all.Project, func(tx project.Tx) (Convergence, error) { return find(tx, id) })
}

func find(tx project.Tx, id string) (c Convergence, err error) {
	c, known, err := RecordConvergences.Get(tx, strings.TrimSpace(id))
	if err == nil && !known {
		err = core.NotFoundf("there is no convergence %q", id).WithHint("`flame agents review` lists all convergences")
	}
	return c, err
}

// List returns all convergences, the newest first.
func (all Convergences) List(ctx context.Context) ([]Convergence, error) {
	list, err := project.Read(ctx, all.Project, func(tx project.Tx) ([]Convergence, error) { return RecordConvergences.All(tx) })
	slices.SortFunc(list, func(x, y Convergence) int {
		return cmp.Or(cmp.Compare(y.CreatedAt, x.CreatedAt), cmp.Compare(x.ID, y.ID))
	})
	return list, err
}

// mayEnd returns an error if a convergence would stop agents that the caller may not direct.
func mayEnd(tx project.Tx, by project.Caller, inputs []AgentResult) error {
	for _, in := range inputs {
		run, err := record.Find(tx, in.SubagentID)
		if err == nil && !run.State.Ended() {
			err = record.CheckControl(tx, by, run)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
