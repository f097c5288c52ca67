package tools

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/samber/lo"

	"flame/agents"
	"flame/config/env"
	"flame/core"
	"flame/core/op"
	"flame/project"
	"flame/project/briefing"
	"flame/render"
)

func contextTools(p *project.Project, a *agents.Agents) []Tool {
	d := contextDoor{&briefing.Contexts{Project: p}, a}
	return []Tool{
		define("flame_context_info", "Show how the current frame's context is built: budgets, what was chosen and left out, cache.", reads, d.info),
		define(op.Preview, "Show the context of the current frame (or frameID) as agents get it: goals above, summaries beside and below.", reads, d.preview),
		defineResult(op.Recall,
			"Read again what was left out: the output of a call that a line by flame names, or an entry of a frame's work, by number or words.",
			reads, d.recall),
		define("flame_cache_clear", "Drop cached contexts, of one frame or all. Contexts follow every change anyway.", sets, d.clear),
	}
}

type contextDoor struct {
	contexts *briefing.Contexts
	agents   *agents.Agents
}

// budgetVariables names the environment variables behind the budgets.
const budgetVariables = env.BudgetTotal + ", " + env.BudgetAncestors + ", " + env.BudgetSiblings + ", " + env.BudgetCurrent

func (d contextDoor) info(ctx context.Context, by project.Caller, in frameArgs) (string, error) {
	made, err := d.contexts.Context(ctx, by, in.FrameID, 0)
	if err != nil {
		return "", err
	}
	budget, meta, cache := d.contexts.Project.Budget, made.Meta, d.contexts.Info()
	var b strings.Builder
	fmt.Fprintf(&b, "Context of %s\n\n", render.Frame(made.Frame))
	fmt.Fprintf(&b, "Budgets in tokens: total %d, ancestors %d, siblings %d, current %d, overhead %d\n",
		budget.Total, budget.Ancestors, budget.Siblings, budget.Current, budget.Overhead)
	fmt.Fprintf(&b, "Used: total %d, ancestors %d, siblings %d, current %d\n",
		meta.TotalTokens, meta.AncestorTokens, meta.SiblingTokens, meta.CurrentTokens)
	for _, group := range []struct {
		name    string
		in, out int
	}{
		{"Ancestors", meta.AncestorCount, meta.AncestorsTruncated}, {"Children", meta.ChildCount, meta.ChildrenFiltered},
		{"Siblings", meta.SiblingCount, meta.SiblingsFiltered}, {"Uncles", meta.UncleCount, meta.UnclesFiltered},
	} {
		fmt.Fprintf(&b, "%s: %d included, %d left out\n", group.name, group.in, group.out)
	}
	fmt.Fprintf(&b, "Truncated: %s\n", yesNo(meta.WasTruncated))
	b.WriteString(render.Field("Shortened", strings.Join(meta.Cut, ", ")))
	fmt.Fprintf(&b, "Cache: hit %s, kept %s, %s\n", yesNo(made.CacheHit), core.Span(cache.TTL.Milliseconds()), render.Count(cache.Entries, "entry"))
	return b.String() + setBy(budgetVariables), nil
}

type recallArgs struct {
	Call    string `json:"call,omitempty" jsonschema:"id of the call"`
	FrameID string `json:"frameID,omitempty"`
	Entry   int    `json:"entry,omitempty" jsonschema:"as flame_search names it"`
	Words   string `json:"words,omitempty"`
	Offset  int    `json:"offset,omitempty" jsonschema:"characters to skip"`
}

// maxRecalled is how much of a log one answer has, in characters.
const maxRecalled = 30_000

func (d contextDoor) recall(ctx context.Context, by project.Caller, in recallArgs) (r Result, err error) {
	if in.Call == "" && (in.FrameID == "" || in.Entry == 0 && in.Words == "") {
		return r, core.Invalidf("nothing is named").WithHint("pass call, or frameID with entry or words")
	}
	if in.Offset < 0 || in.Entry < 0 {
		return r, core.Invalidf("entry and offset cannot be negative").WithHint("they count from the beginning")
	}
	all, err := agents.Recall(ctx, d.agents, by, agents.RecallArgs{Call: in.Call, Frame: in.FrameID, Entry: in.Entry, Words: in.Words})
	if err != nil {
		return r, err
	}
	if in.Offset == 0 {
		r.Pictures = all.Pictures
	}
	whole := []rune(all.Text)
	page := whole[min(in.Offset, len(whole)):]
	if r.Text = string(page); len(page) > maxRecalled {
		r.Text = fmt.Sprintf("%s\n[%d characters more: pass offset %d]", string(page[:maxRecalled]), len(page)-maxRecalled, in.Offset+maxRecalled)
	}
	r.Text = render.ToToolNames(r.Text)
	return r, nil
}

type previewArgs struct {
	MaxLength *int   `json:"maxLength,omitempty" jsonschema:"characters shown, default 2000"`
	FrameID   string `json:"frameID,omitempty"`
}

// previewLength is how much of a context a preview shows, in characters.
const previewLength = 2000

func (d contextDoor) preview(ctx context.Context, by project.Caller, in previewArgs) (string, error) {
	limit := cmp.Or(lo.FromPtr(in.MaxLength), previewLength)
	if limit < 0 {
		return "", core.Invalidf("maxLength %d is negative", limit).WithHint("give a number of characters, or leave it out for %d", previewLength)
	}
	made, err := d.contexts.Context(ctx, by, in.FrameID, 0)
	if err != nil {
		return "", err
	}
	if made.Text == "" {
		return made.Frame.ID + " has no context to show.", nil
	}
	shown, hidden := made.Text, 0
	if runes := []rune(shown); len(runes) > limit {
		shown, hidden = string(runes[:limit]), len(runes)-limit
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s\n", made.Frame.ID, render.Count(len(utf16.Encode([]rune(made.Text))), "character"), core.Tokens(made.Meta.TotalTokens))
	b.WriteString(render.Field("Shortened", strings.Join(made.Meta.Cut, ", ")))
	b.WriteString("```xml\n" + shown + "\n```\n")
	if hidden > 0 {
		fmt.Fprintf(&b, "(%s; pass maxLength to see them)\n", render.Count(hidden, "more character"))
	}
	return b.String(), nil
}

type clearArgs struct {
	SessionID string `json:"sessionID,omitempty" jsonschema:"frame, default all"`
}

func (d contextDoor) clear(ctx context.Context, by project.Caller, in clearArgs) (string, error) {
	frame, dropped, err := d.contexts.Clear(ctx, by, in.SessionID)
	text := render.Count(dropped, "cached context") + " dropped"
	if frame.ID != "" {
		text = frame.ID + ": " + text
	}
	return text, err
}
