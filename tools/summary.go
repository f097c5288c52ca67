package tools

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"flame/core"
	"flame/core/op"
	"flame/project"
	"flame/project/stack"
	"flame/project/view"
	"flame/render"
)

func summaryTools(p *project.Project) []Tool {
	d := summaryDoor{p}
	return []Tool{
		define(op.Summarize,
			"Make a summary of the current frame before its history is lost: call it, write what the reply asks for, pass that as summary.",
			writes, d.summarize),
		define("flame_compaction_info", "Show which frames wait for a compaction, and for what.", reads, d.info),
		define("flame_get_summary", "Read the summary of the current frame or of another one.", reads, d.get),
	}
}

type summaryDoor struct{ p *project.Project }

type summarizeArgs struct {
	Note    string `json:"note,omitempty"`
	Summary string `json:"summary,omitempty" jsonschema:"in a second call"`
	FrameID string `json:"frameID,omitempty"`
}

func (d summaryDoor) summarize(ctx context.Context, by project.Caller, in summarizeArgs) (string, error) {
	done, err := stack.Summarize(ctx, d.p, by, in.FrameID, in.Note, in.Summary)
	if err != nil {
		return "", err
	}
	f := done.Frame
	if done.Stored {
		return fmt.Sprintf("%s (%s) has its summary, %s.", f.ID, f.Status, core.Tokens(core.EstimateTokens(f.Summary))), nil
	}
	var b strings.Builder
	b.WriteString(render.Frame(f) + "\n" + render.Field("Note", in.Note))
	ancestors := "no parent"
	if done.Input.Parent != nil {
		ancestors = "parent " + done.Input.Parent.ID
	}
	fmt.Fprintf(&b, "%s, %s, %s\n", ancestors, render.Count(len(done.Input.Siblings), "finished sibling"), render.Count(len(f.Decisions), "decision"))
	b.WriteString(render.Bullets("Artifacts:", f.Artifacts))
	fmt.Fprintf(&b, "Write the summary requested below and call %s again with it as summary. "+
		"If the host compacts this conversation first, that compaction gets the same request and its summary is kept.\n\n%s", op.Summarize, done.Prompt)
	return b.String(), nil
}

func (d summaryDoor) info(ctx context.Context, by project.Caller, in frameArgs) (string, error) {
	info, err := stack.CompactionsOf(ctx, d.p, by, in.FrameID)
	var b strings.Builder
	if info.OK {
		fmt.Fprintf(&b, "%s\nCompaction requested for: %s\n", render.Frame(info.Frame), yesNo(info.Type != ""))
		b.WriteString(render.Field("Type", string(info.Type)) + render.Field("Note", info.Note))
	} else {
		b.WriteString("No current frame.\n")
	}
	if pending := info.Pending; pending != nil {
		fmt.Fprintf(&b, "Waits for a summary since %s, until %s, then %s; your text: %s\n",
			render.Time(pending.RequestedAt, 0), render.Time(pending.Due, 0), pending.Status, yesNo(pending.Summary != ""))
	}
	fmt.Fprintf(&b, "In the project: %d compactions requested, %d frames wait for a summary\n", len(info.Marks), info.Waiting)
	for _, id := range slices.Sorted(maps.Keys(info.Marks)) {
		fmt.Fprintf(&b, "- %s: %s\n", id, info.Marks[id])
	}
	return b.String(), err
}

type summaryArgs struct {
	SessionID string `json:"sessionID,omitempty" jsonschema:"frame, default the current one"`
	FrameID   string `json:"frameID,omitempty" jsonschema:"same as sessionID"`
}

func (d summaryDoor) get(ctx context.Context, by project.Caller, in summaryArgs) (string, error) {
	ref, err := oneRef(in.SessionID, in.FrameID)
	if err != nil {
		return "", err
	}
	details, err := view.DetailsOf(ctx, d.p, by, ref)
	if err != nil {
		return "", err
	}
	f := details.Frame
	summary := f.Summary
	switch {
	case details.Closing != "":
		summary = "all that is needed to go on:\n" + details.Closing
	case details.Composed != "":
		summary = "none of its own; composed of what was done below it:\n" + details.Composed
	case summary == "":
		summary = fmt.Sprintf("none yet; %s or %s give it one", op.Summarize, op.Pop)
	}
	return render.Frame(f) + "\n" + render.Field("Created", render.Time(f.CreatedAt, 0)) + render.Field("Updated", render.Time(f.UpdatedAt, 0)) +
		render.Bullets("Artifacts:", f.Artifacts) + render.Bullets("Decisions:", f.Decisions) + "Summary: " + summary, nil
}
