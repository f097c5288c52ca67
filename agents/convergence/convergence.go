// Package convergence keeps what was made of several agents' results, with the events
// that tell of it, until a person has settled what the strategies of converge could not.
package convergence

import (
	"cmp"
	"errors"

	"github.com/samber/lo"

	"flame/agents/converge"
	"flame/agents/record"
	"flame/core"
	"flame/project"
)

// Records are convergences, by id.
const Records project.Kind[Convergence] = "convergence"

// Open has the convergences with conflicts that wait for a person, by id, so that these are
// found without reading all.
const Open project.Kind[Waiting] = "convergence_open"

// A Waiting is how much of a convergence waits for a person.
type Waiting struct {
	Person    string `json:"person"` // session at the root of all that spawned the one that asked for it
	Conflicts int    `json:"conflicts"`
}

// A Convergence is one making of a result from those of several agents, with all
// that it was made from: the same inputs give the same result again.
type Convergence struct {
	ID        string           `json:"id"`
	Session   string           `json:"session"` // that asked for it
	Inputs    []converge.Input `json:"inputs"`
	Options   converge.Options `json:"options"`
	Result    converge.Result  `json:"result"`
	Text      string           `json:"text"` // the output in its format
	CreatedAt core.Millis      `json:"createdAt"`
	UpdatedAt core.Millis      `json:"updatedAt"`
}

// tell appends an event of a convergence: it is of nobody's agent.
func (c Convergence) tell(tx project.Tx, kind string, data map[string]any) error {
	return record.Tell(tx, c.UpdatedAt, record.Run{ParentSession: c.Session}, kind, data)
}

// converge makes the result, whatever there was before.
func (c *Convergence) converge(now core.Millis) (err error) {
	if c.Result, err = converge.Converge(c.Inputs, c.Options); err != nil {
		return err
	}
	text, err := c.Result.Render("")
	c.Text, c.UpdatedAt = string(text), now
	return err
}

// keep writes a convergence with the events that tell what is new in it.
func (c Convergence) keep(tx project.Tx, before converge.Result) error {
	if err := Records.Save(tx, c.ID, c); err != nil {
		return err
	}
	waiting := c.Result.Waiting()
	for _, conflict := range c.Result.Conflicts {
		if err := c.tellConflict(tx, before, conflict); err != nil {
			return err
		}
	}
	if err := c.noteOpen(tx, len(waiting)); err != nil {
		return err
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

// noteOpen keeps how many conflicts wait.
func (c Convergence) noteOpen(tx project.Tx, conflicts int) error {
	if conflicts == 0 {
		return Open.Delete(tx, c.ID)
	}
	asked, err := record.AgentOf(tx, project.Caller{}, c.Session)
	if err != nil {
		return err
	}
	return Open.Save(tx, c.ID, Waiting{Person: cmp.Or(asked.Tree, c.Session), Conflicts: conflicts})
}

// tellConflict tells of a conflict when it is found, and of each way it is resolved.
func (c Convergence) tellConflict(tx project.Tx, before converge.Result, conflict converge.Conflict) error {
	was, known := lo.Find(before.Conflicts, func(was converge.Conflict) bool { return was.ID == conflict.ID })
	tell := func(kind string) error {
		return c.tell(tx, core.TranscriptEvent, map[string]any{"event_type": kind, "convergence": c.ID, "conflict": conflict})
	}
	var err error
	if !known {
		err = tell(core.EventConflictDetected)
	}
	if !known && conflict.Kind == converge.KindFile {
		err = errors.Join(err, c.tell(tx, core.FileConflictDetected, map[string]any{
			"convergence": c.ID, "path": conflict.Key, "subagent_ids": lo.Map(conflict.Sides, func(side converge.Side, _ int) string { return side.SubagentID }),
		}))
	}
	if conflict.Resolved() && conflict.Winner != was.Winner {
		err = errors.Join(err, tell(core.EventConflictResolved))
	}
	return err
}
