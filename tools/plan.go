package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/op"
	"flame/project"
	"flame/project/stack"
	"flame/project/transfer"
	"flame/project/view"
	"flame/render"
)

func planTools(p *project.Project) []Tool {
	d := planDoor{p}
	return slices.Concat(
		[]Tool{define(op.Plan,
			"Plan one piece of work for later, below the current frame or parentSessionID. A goal that is open there is not planned twice.",
			writes, d.plan)},
		usual(
			define(op.PlanChildren, "Plan the parts of a larger task as frames, in order.", writes, d.planChildren),
			define(op.Activate, "Take up a planned, ended or left frame.", writes, d.activate),
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
	return d.planned(ctx, by, in.ParentSessionID, []stack.PlannedChild{{Goal: in.Goal, SuccessCriteria: in.Criteria}})
}

// A childArg is a goal, or an object with goal and successCriteria.
type childArg childObject

type childObject struct {
	Goal            string `json:"goal"`
	SuccessCriteria string `json:"successCriteria,omitempty"`
}

func (childArg) schema() string { return `"anyOf":[{"type":"string"},{"type":"object"}]` }

// UnmarshalJSON reads either form.
func (c *childArg) UnmarshalJSON(raw []byte) error {
	raw = meant(raw, reflect.TypeFor[childObject]())
	aList := func() bool { return strings.HasPrefix(c.Goal, "[") && json.Valid([]byte(c.Goal)) }
	if json.Unmarshal(raw, &c.Goal) == nil && !aList() {
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
	Children        []childArg `json:"children" jsonschema:"goals in order, or {goal, successCriteria}"`
	ParentSessionID string     `json:"parentSessionID,omitempty" rare:"true" jsonschema:"frame to plan under"`
}

func (d planDoor) planChildren(ctx context.Context, by project.Caller, in planChildrenArgs) (string, error) {
	children := make([]stack.PlannedChild, len(in.Children))
	for i, child := range in.Children {
		children[i] = stack.PlannedChild{Goal: child.Goal, SuccessCriteria: child.SuccessCriteria}
	}
	return d.planned(ctx, by, in.ParentSessionID, children)
}

// planned plans frames below a parent and lists their ids.
func (d planDoor) planned(ctx context.Context, by project.Caller, parent string, children []stack.PlannedChild) (string, error) {
	plan, err := stack.Plan(ctx, d.p, by, parent, children)
	if err != nil {
		return "", err
	}
	ids := lo.Map(plan.Frames, func(f core.Frame, _ int) string {
		if slices.Contains(plan.Existing, f.ID) {
			return fmt.Sprintf("%s (there already, %s)", f.ID, f.Status)
		}
		return f.ID
	})
	where := "as roots"
	if plan.Parent != nil {
		where = "below " + plan.Parent.ID
	}
	return fmt.Sprintf("Planned %s: %s", where, strings.Join(ids, ", ")), nil
}

type activateArgs struct {
	SessionID string `json:"sessionID" jsonschema:"its id"`
	Force     bool   `json:"force,omitempty" rare:"true" jsonschema:"from a session that is gone"`
}

func (d planDoor) activate(ctx context.Context, by project.Caller, in activateArgs) (string, error) {
	a, err := stack.Activate(ctx, d.p, by, in.SessionID, in.Force)
	if err != nil {
		return "", err
	}
	if a.AlreadyCurrent {
		return fmt.Sprintf("%s %s is your current frame already.", a.Frame.ID, render.Quote(a.Frame.Goal)), nil
	}
	return fmt.Sprintf("%s %s: %s -> %s.", a.Frame.ID, render.Quote(a.Frame.Goal), a.From, a.Frame.Status) + takenUp(a), nil
}

type invalidateArgs struct {
	Reason    string `json:"reason"`
	SessionID string `json:"sessionID,omitempty" jsonschema:"frame, default the current one"`
}

func (d planDoor) invalidate(ctx context.Context, by project.Caller, in invalidateArgs) (string, error) {
	done, err := stack.Invalidate(ctx, d.p, by, in.SessionID, in.Reason)
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s is invalidated: %s\n", done.Target.ID, render.Quote(done.Target.Goal), core.OneLine(in.Reason, render.MaxGoal))
	b.WriteString(render.Tally("Invalidated with it:", done.Planned))
	b.WriteString(render.Tally("Still in progress below it (pop or invalidate each):", done.InProgress))
	b.WriteString(render.Current(done.Current))
	return b.String(), err
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
	return render.Tree(tree, in.ShowDetails), err
}

func stateTools(p *project.Project) []Tool {
	return []Tool{
		defineResult("flame_get_state", "Get the whole state as JSON, for programs. To read it yourself use "+string(op.Tree)+".", reads,
			func(ctx context.Context, by project.Caller, _ noArgs) (Result, error) {
				state, err := transfer.Snapshot(ctx, p, by)
				if err != nil {
					return Result{}, err
				}
				raw, err := json.Marshal(state)
				return Result{Text: string(raw), Structured: state}, err
			}),
	}
}
