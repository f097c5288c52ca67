package agents

import (
	"cmp"
	"context"
	"errors"

	"flame/agents/definition"
	"flame/agents/supervise"
	"flame/core"
	"flame/project"
)

// admit makes the agent's frame and record in one transaction, where the tree's
// bounds let it in, and keeps with it what it is to be told.
func (a *Agents) admit(ctx context.Context, by project.Caller, def definition.Definition, r Request, run *Run) error {
	bare, most := contextOf(def, r)
	drafted := *run
	var made project.Delegated
	err := a.Project.Store.Update(ctx, func(tx project.Tx) (err error) {
		*run = drafted // f may run again
		made, err = a.Project.Delegate(tx, by, project.Delegation{
			Agent: run.ID, Under: r.Frame, Goal: run.Description, Session: run.Session, Host: run.Host,
			Title: core.SubagentTitle(run.Description, def.Name), Bare: bare, MaxChars: most,
		})
		if err != nil {
			return err
		}
		if known, err := keyed(tx, made.Caller.ID, r.Key); err != nil || known.ID != "" {
			*run = known
			return cmp.Or(err, errKnown)
		}
		run.Frame, run.ParentSession = made.Frame.ID, made.Caller.ID
		if err := a.place(tx, by, run, made.Caller); err != nil {
			return err
		}
		if err := a.grant(tx, by, def, r, made.Caller, run); err != nil {
			return err
		}
		return errors.Join(a.enrol(tx, *run), recordAssignment.Save(tx, run.ID, assignment{Task: r.Prompt, Context: made.Context, Inline: r.Inline}))
	})
	if err == nil {
		made.Log()
	}
	return err
}

// contextOf says how much of its frame's context an agent is given: whether none,
// and how many characters at most. Goals come first in a context that is cut.
func contextOf(def definition.Definition, r Request) (bare bool, most int) {
	switch def.Context {
	case "none":
		return true, 0
	case "goal":
		most = 1_500
	case "frame":
		most = 4_000
	}
	return r.Bare, most
}

// place says where in the tree of agents a new one stands, and refuses one that is
// beyond the tree's bounds.
func (a *Agents) place(tx project.Tx, by project.Caller, run *Run, caller core.Session) error {
	parent, err := agentOf(tx, by, caller.ID)
	if err != nil {
		return err
	}
	if parent.CancelledBy != "" && !parent.State.Ended() {
		return core.Invalidf("%s was told to stop, so it may start no others", parent.ID).WithHint("say what is done and end")
	}
	root, depth, err := above(tx, caller)
	if err != nil {
		return err
	}
	if by.Session == "" && by.Agent == "" { // a shell has no session of its own
		if root, err = top(tx, run.Frame); err != nil {
			return err
		}
	}
	run.Tree, run.ParentAgent = cmp.Or(parent.Tree, root), parent.ID
	run.Depth = max(depth, parent.Depth) + 1
	if err := a.bound(tx, run, parent); err != nil || parent.ID == "" {
		return err
	}
	run.Limits = within(run.Limits, parent)
	parent.Children++
	return recordRun.Save(tx, parent.ID, parent)
}

// top returns the root of a frame's tree.
func top(tx project.Tx, frame string) (string, error) {
	above, err := tx.Ancestors(frame, 0)
	if err != nil || len(above) == 0 {
		return frame, err
	}
	return above[len(above)-1].ID, nil
}

// above returns the session at the root of the caller's, and how many levels of
// agents, of hosts' own too, lie between.
func above(tx project.Tx, caller core.Session) (root string, depth int, err error) {
	root = caller.ID
	for parent := caller.Parent; parent != "" && depth < 100; depth++ {
		session, err := tx.Session(parent)
		if errors.Is(err, core.ErrNotFound) {
			return parent, depth + 1, nil
		}
		if err != nil {
			return root, depth, err
		}
		root, parent = session.ID, session.Parent
	}
	return root, depth, nil
}

// enrol writes a new agent's record, and the events that tell of it before
// anything runs.
func (a *Agents) enrol(tx project.Tx, run Run) error {
	var t tree
	if _, err := recordTree.Load(tx, run.Tree, &t); err != nil {
		return err
	}
	if run.Mode.Grant != "" {
		if err := spent(tx, run.Mode.Grant); err != nil {
			return err
		}
	}
	t.Total++
	t.Live = append(t.Live, run.ID)
	err := errors.Join(
		recordTree.Save(tx, run.Tree, t),
		recordRun.Save(tx, run.ID, run),
		recordLive.Save(tx, run.ID, live{Starter: supervise.Self(), Since: run.CreatedAt}),
	)
	if run.Session != "" {
		err = errors.Join(err, recordSession.Save(tx, run.Session, run.ID))
	}
	if run.Key != "" {
		err = errors.Join(err, recordKey.Save(tx, keyOf(run.ParentSession, run.Key), run.ID))
	}
	return errors.Join(err,
		a.tell(tx, run, core.PermissionDecision, map[string]any{"permission_mode": run.Mode, "tools": run.Tools, "agent_type": run.Type, "warnings": append([]string{}, run.Warnings...)}),
		a.tell(tx, run, core.SubagentSpawned, map[string]any{
			"agent_type": run.Type, "description": run.Description, "prompt": core.Cut(run.Prompt, maxExcerpt), "parent_agent": run.ParentAgent, "parent_session_id": run.ParentSession, "parent_tool_id": run.Call, "frame": run.Frame,
			"permission_mode": run.Mode.Effective, "model": run.Model, "limits": run.Limits, "machine": machine(),
		}),
		a.tell(tx, run, core.TranscriptEvent, map[string]any{"event_type": core.EventSubagentStart, "task_description": run.Description}))
}

func keyOf(session, key string) string { return session + "/" + key }

// errKnown ends a spawn whose idempotency key has its agent.
var errKnown = errors.New("the agent is there")

// byKey returns the agent that a session started under an idempotency key; zero
// without one. It spares a repeated call what a new agent must pass; what two calls
// at one time must not both pass is in admit.
func (a *Agents) byKey(ctx context.Context, session, key string) (run Run, err error) {
	if key == "" {
		return run, nil
	}
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		run, err = keyed(tx, cmp.Or(session, project.CommandLine), key)
		return err
	})
	return run, err
}

func keyed(tx project.Tx, session, key string) (run Run, err error) {
	if key == "" {
		return run, nil
	}
	var id string
	if known, err := recordKey.Load(tx, keyOf(session, key), &id); !known || err != nil {
		return run, err
	}
	_, err = recordRun.Load(tx, id, &run)
	return run, err
}
