package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"flame/core"
	"flame/core/op"
	"flame/project"
	"flame/project/stack"
	"flame/project/view"
	"flame/render"
)

func planTools(p *project.Project) []Tool {
	d := planDoor{p}
	return slices.Concat(
		[]Tool{define(op.Plan,
			"Plan one piece of work for later, below the current frame or parentSessionID. A goal that is open there is not planned twice.",
			writes, d.plan)},
		always(
			define(op.PlanChildren,
				"Plan several pieces of work in order; a goal open there is not planned twice. Use it to break down a larger task, then "+
					string(op.Activate)+" the first.",
				writes, d.planChildren),
			define(op.Activate,
				"Start a planned frame, reopen one that has ended, or take over one that an ended session left in progress.",
				writes, d.activate),
			define(op.Invalidate,
				"Mark a frame, and all planned below it, as no longer valid. Use it when its goal or basis has changed.",
				discards, d.invalidate),
			define(op.Tree, "Draw the frame tree, or the part below rootID.", reads, d.tree),
		),
	)
}

type planDoor struct{ p *project.Project }

type planArgs struct {
	Goal            string `json:"goal"`
	Criteria        string `json:"successCriteria,omitempty" jsonschema:"what done means"`
	ParentSessionID string `json:"parentSessionID,omitempty" jsonschema:"frame to plan under"`
}

func (d planDoor) plan(ctx context.Context, by project.Caller, in planArgs) (string, error) {
	plan, err := stack.Plan(ctx, d.p, by, in.ParentSessionID, []stack.PlannedChild{{Goal: in.Goal, SuccessCriteria: in.Criteria}})
	if err != nil {
		return "", err
	}
	frame, parent := plan.Frames[0], render.Parent(plan.Parent)
	if len(plan.There) > 0 {
		return fmt.Sprintf("%s %s is there already (%s); nothing was planned.\n%s", frame.ID, render.Quote(frame.Goal), frame.Status, parent), nil
	}
	return fmt.Sprintf("Planned %s %s.\n%sStart it with %s, sessionID %s.", frame.ID, render.Quote(frame.Goal), parent, op.Activate, frame.ID), nil
}

// A childArg is a goal, or an object with goal and successCriteria.
type childArg childObject

type childObject struct {
	Goal            string `json:"goal"`
	SuccessCriteria string `json:"successCriteria,omitempty"`
}

func (childArg) schema() schema {
	return schema{AnyOf: []schema{{Type: "string"}, objectOf(argumentsOf(reflect.TypeFor[childObject]()))}}
}

// UnmarshalJSON reads either form.
func (c *childArg) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &c.Goal) == nil {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode((*childObject)(c)); err != nil {
		return core.Invalidf("a child is neither a goal nor {goal, successCriteria}: %s", core.OneLine(string(raw), 80)).
			WithHint(`give each child as text, or as an object such as {"goal": "…", "successCriteria": "…"}`)
	}
	return nil
}

type planChildrenArgs struct {
	Children        []childArg `json:"children" jsonschema:"goals in order"`
	ParentSessionID string     `json:"parentSessionID,omitempty" jsonschema:"frame to plan under"`
}

func (d planDoor) planChildren(ctx context.Context, by project.Caller, in planChildrenArgs) (string, error) {
	children := make([]stack.PlannedChild, len(in.Children))
	for i, child := range in.Children {
		children[i] = stack.PlannedChild{Goal: child.Goal, SuccessCriteria: child.SuccessCriteria}
	}
	plan, err := stack.Plan(ctx, d.p, by, in.ParentSessionID, children)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Planned %s:\n", render.Count(len(plan.Frames)-len(plan.There), "frame"))
	for i, f := range plan.Frames {
		there := ""
		if slices.Contains(plan.There, f.ID) {
			there = fmt.Sprintf(" (there already, %s)", f.Status)
		}
		fmt.Fprintf(&b, "%d. %s %s%s\n", i+1, f.ID, render.Quote(f.Goal), there)
	}
	b.WriteString(render.Parent(plan.Parent))
	fmt.Fprintf(&b, "Start the first with %s, sessionID %s.", op.Activate, plan.Frames[0].ID)
	return b.String(), nil
}

type activateArgs struct {
	SessionID string `json:"sessionID" jsonschema:"id of the frame"`
	Force     bool   `json:"force,omitempty" jsonschema:"from a session that is gone"`
}

func (d planDoor) activate(ctx context.Context, by project.Caller, in activateArgs) (string, error) {
	a, err := stack.Activate(ctx, d.p, by, in.SessionID, in.Force)
	if err != nil {
		return "", err
	}
	if a.Here {
		return fmt.Sprintf("%s %s is your current frame already; end it with %s.", a.Frame.ID, render.Quote(a.Frame.Goal), op.Pop), nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s -> %s.\n", a.Frame.ID, render.Quote(a.Frame.Goal), a.From, a.Frame.Status)
	b.WriteString(render.Field("Taken over from machine", a.Machine))
	b.WriteString(render.Field("Taken over from session", a.Taken))
	b.WriteString(render.Field("Parent", a.Frame.Parent))
	if a.Under != "" {
		b.WriteString(render.UnderEnded(a) + "\n")
	}
	b.WriteString(render.Field("Done means", a.Frame.SuccessCriteria))
	b.WriteString(render.Field("Summary so far", a.Frame.Summary))
	fmt.Fprintf(&b, "It is your current frame; end it with %s.", op.Pop)
	return b.String(), nil
}

type invalidateArgs struct {
	Reason    string `json:"reason"`
	SessionID string `json:"sessionID,omitempty" jsonschema:"frame, default the current one"`
}

func (d planDoor) invalidate(ctx context.Context, by project.Caller, in invalidateArgs) (string, error) {
	done, err := stack.Invalidate(ctx, d.p, by, in.SessionID, in.Reason)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s is invalidated: %s\n", done.Target.ID, render.Quote(done.Target.Goal), core.OneLine(in.Reason, render.MaxGoal))
	b.WriteString(render.Tally("Invalidated with it:", done.Planned))
	b.WriteString(render.Tally("Still in progress below it (pop or invalidate each):", done.InProgress))
	b.WriteString(render.Current(done.Current))
	return b.String(), nil
}

// treeLimit is how many frames flame_tree draws before it counts the rest;
// clients cut results beyond 25,000 tokens.
const treeLimit = 400

type treeArgs struct {
	RootID      string `json:"rootID,omitempty"`
	ShowFull    *bool  `json:"showFull,omitempty" jsonschema:"archived too, default true"`
	ShowDetails bool   `json:"showDetails,omitempty" jsonschema:"summaries, reasons, artifacts"`
}

func (d planDoor) tree(ctx context.Context, by project.Caller, in treeArgs) (string, error) {
	full := in.ShowFull == nil || *in.ShowFull
	tree, err := view.TreeOf(ctx, d.p, by, view.TreeArgs{Root: in.RootID, Archived: full, Limit: treeLimit})
	if err != nil {
		return "", err
	}
	return render.Tree(tree, in.ShowDetails), nil
}
