package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/agents/converge"
	"flame/agents/record"
	"flame/agents/result"
	"flame/core"
	"flame/project"
)

// recordConvergence is by its id.
const recordConvergence project.Kind[Convergence] = "convergence"

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

// Converge makes one result of those of several agents. Agents that first_success
// leaves running are cancelled.
func (a *Agents) Converge(ctx context.Context, by project.Caller, ids []string, o converge.Options) (c Convergence, err error) {
	c = Convergence{ID: a.Project.NewID("converge"), Session: cmp.Or(by.Session, project.CommandLine), Options: o, CreatedAt: a.Project.Now()}
	err = a.Project.Store.Update(ctx, func(tx project.Tx) error {
		if c.Inputs, c.Options.Schema, err = a.inputs(tx, ids, o.Schema); err != nil {
			return err
		}
		if err := mayEnd(tx, by, c.Inputs); err != nil {
			return err
		}
		if err := a.converge(&c); err != nil {
			return err
		}
		return errors.Join(
			a.tell(tx, c.teller(), core.ConvergenceInitiated, map[string]any{"convergence": c.ID, "subagent_ids": c.Result.Inputs, "strategy": o.Strategy}),
			a.keep(tx, converge.Result{}, c))
	})
	if err != nil {
		return c, err
	}
	for _, ignored := range c.Result.Ignored {
		if ignored.Outcome.Ended() {
			continue
		}
		if _, err := a.Cancel(ctx, by, ignored.SubagentID); err != nil {
			return c, err
		}
	}
	return c, nil
}

// teller is what the events of a convergence say of who it is: nobody's agent.
func (c Convergence) teller() record.Run { return record.Run{ParentSession: c.Session} }

// converge makes the result, whatever there was before.
func (a *Agents) converge(c *Convergence) (err error) {
	if c.Result, err = converge.Converge(c.Inputs, c.Options); err != nil {
		return err
	}
	text, err := c.Result.Render("")
	c.Text, c.UpdatedAt = string(text), a.Project.Now()
	return err
}

// inputs returns what agents left, each once, and the schema of their answers where
// all have the same one and none is asked for.
func (a *Agents) inputs(tx project.Tx, ids []string, schema json.RawMessage) (inputs []converge.Input, _ json.RawMessage, err error) {
	var schemas []string
	for _, id := range ids {
		r, err := result.Of(tx, a.Data, id)
		if err != nil {
			return nil, nil, err
		}
		input, err := a.input(tx, r)
		if err != nil {
			return nil, nil, err
		}
		inputs = append(inputs, input)
		schemas = append(schemas, string(r.Schema))
	}
	if same := slices.Compact(schemas); len(schema) == 0 && len(same) == 1 && same[0] != "" {
		schema = json.RawMessage(same[0])
	}
	return inputs, schema, nil
}

// input is what one agent left.
func (a *Agents) input(tx project.Tx, r result.Result) (in converge.Input, err error) {
	in = converge.Input{
		SubagentID: r.ID, Outcome: r.State, Answer: result.WithoutConfidence(r.Text), Decisions: r.Decisions,
		Confidence: r.Confidence, CompletedAt: r.EndedAt, Base: r.Base,
	}
	for _, change := range r.Changes {
		file := converge.File{Path: change.Path, Hash: change.Hash, Excerpt: change.Excerpt}
		if change.Existed {
			file.Base = r.Base + ":" + change.Path // as git names what it held
		}
		in.Files = append(in.Files, file)
	}
	for _, artifact := range r.Artifacts {
		if !slices.Contains(r.Files, artifact) { // that is told by the file
			in.Artifacts = append(in.Artifacts, converge.Artifact{Key: artifact, Hash: r.Made[artifact]})
		}
	}
	if in.Tree, err = record.RootFrame(tx, r.Frame); errors.Is(err, core.ErrNotFound) {
		err = nil
	}
	if err == nil && r.Session != "" {
		in.Claimed, err = claimed(tx, r.Session)
	}
	return in, err
}

// claimed returns the planned frames that a session took over.
func claimed(tx project.Tx, session string) (frames []string, err error) {
	events, err := tx.FindEvents(project.EventQuery{Session: session, Kinds: []string{core.FrameActivated}})
	for _, e := range events {
		if strings.HasPrefix(e.Frame, "plan-") && !slices.Contains(frames, e.Frame) {
			frames = append(frames, e.Frame)
		}
	}
	return frames, err
}

// keep writes a convergence with the events that tell what is new in it.
func (a *Agents) keep(tx project.Tx, before converge.Result, c Convergence) error {
	if err := recordConvergence.Save(tx, c.ID, c); err != nil {
		return err
	}
	var waiting []converge.Conflict
	for _, conflict := range c.Result.Conflicts {
		if !conflict.Resolved() {
			waiting = append(waiting, conflict)
		}
		if err := a.tellConflict(tx, before, c, conflict); err != nil {
			return err
		}
	}
	if len(waiting) > 0 {
		return errors.Join(
			a.tell(tx, c.teller(), core.ManualReviewRequired, map[string]any{"convergence": c.ID, "conflicts": waiting}),
			a.tell(tx, c.teller(), core.ConflictReviewRequest, map[string]any{"convergence": c.ID}))
	}
	return a.tell(tx, c.teller(), core.ConvergenceComplete, map[string]any{
		"convergence": c.ID, "conflict_count": len(c.Result.Conflicts), "resolution_count": c.Result.Resolved, "output_size": len(c.Text),
	})
}

// tellConflict tells of a conflict when it is found, and of each way it is resolved.
func (a *Agents) tellConflict(tx project.Tx, before converge.Result, c Convergence, conflict converge.Conflict) error {
	was, known := lo.Find(before.Conflicts, func(was converge.Conflict) bool { return was.ID == conflict.ID })
	tell := func(kind string) error {
		return a.tell(tx, c.teller(), core.TranscriptEvent, map[string]any{"event_type": kind, "convergence": c.ID, "conflict": conflict})
	}
	var err error
	if !known {
		err = tell(core.EventConflictDetected)
	}
	if !known && conflict.Kind == converge.KindFile {
		err = errors.Join(err, a.tell(tx, c.teller(), core.FileConflictDetected, map[string]any{
			"convergence": c.ID, "path": conflict.Key, "subagent_ids": lo.Map(conflict.Sides, func(side converge.Side, _ int) string { return side.SubagentID }),
		}))
	}
	if conflict.Resolved() && conflict.Winner != was.Winner {
		err = errors.Join(err, tell(core.EventConflictResolved))
	}
	return err
}

// Review settles conflicts of a convergence as a person says: the id of the side
// that wins, by the conflict's id.
func (a *Agents) Review(ctx context.Context, id string, choices map[string]string) (c Convergence, err error) {
	err = a.Project.Store.Update(ctx, func(tx project.Tx) error {
		if c, err = convergence(tx, id); err != nil {
			return err
		}
		chosen := map[string]string{}
		for _, more := range []map[string]string{c.Options.Choices, choices} {
			for conflict, side := range more {
				chosen[conflict] = side
			}
		}
		before := c.Result
		c.Options.Choices = chosen
		if err := a.converge(&c); err != nil {
			return err
		}
		return a.keep(tx, before, c)
	})
	return c, err
}

// Convergence returns one by its id.
func (a *Agents) Convergence(ctx context.Context, id string) (c Convergence, err error) {
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		c, err = convergence(tx, id)
		return err
	})
	return c, err
}

func convergence(tx project.Tx, id string) (c Convergence, err error) {
	known, err := recordConvergence.Load(tx, strings.TrimSpace(id), &c)
	if err == nil && !known {
		err = core.NotFoundf("there is no convergence %q", id).WithHint("`flame agents review` lists those there are")
	}
	return c, err
}

// Convergences returns all there are, the newest first.
func (a *Agents) Convergences(ctx context.Context) (all []Convergence, err error) {
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		all, err = recordConvergence.All(tx)
		return err
	})
	slices.SortFunc(all, func(x, y Convergence) int {
		return cmp.Or(cmp.Compare(y.CreatedAt, x.CreatedAt), cmp.Compare(x.ID, y.ID))
	})
	return all, err
}

// mayEnd refuses a convergence that would stop agents which the caller may not.
func mayEnd(tx project.Tx, by project.Caller, inputs []converge.Input) error {
	for _, in := range inputs {
		run, err := record.Find(tx, in.SubagentID)
		if err == nil && !run.State.Ended() {
			err = record.MayDirect(tx, by, run)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
