package tools

import (
	"context"
	"fmt"
	"slices"

	"flame/agents"
	"flame/core"
	"flame/core/op"
	"flame/project"
	"flame/project/stack"
	"flame/project/view"
	"flame/render"
)

func frameTools(p *project.Project, a *agents.Agents) []Tool {
	d := frameDoor{p, a}
	return slices.Concat(
		always(
			define(op.Push, "Start a frame for a subtask.", writes, d.push),
			define(op.Pop, "End the current frame.", writes, d.pop),
		),
		usual(define(op.Status, "Show where you are: the current frame and the tree around it.", reads, d.status)),
		[]Tool{define(op.SetGoal, "Change what the current frame (or frameID) is for.", sets, d.setGoal)},
		usual(
			define(op.AddArtifact, "Record a file or other product of the current frame.", sets, d.addArtifact),
			define(op.AddDecision, "Record a decision of the current frame with its reason.", sets, d.addDecision),
			define(op.Details, "Read a whole frame: summary, results, artifacts, decisions. Use it when a context shows only a part.", reads, d.details),
			define(op.Search,
				"Find frames by words in goals, summaries, results, decisions, and in all work done in them. Use it before you redo or decide anything again.",
				reads, d.search),
		),
	)
}

type frameDoor struct {
	p      *project.Project
	agents *agents.Agents
}

type pushArgs struct {
	Goal     string `json:"goal"`
	Criteria string `json:"successCriteria,omitempty" rare:"true" jsonschema:"what done means"`
}

func (d frameDoor) push(ctx context.Context, by project.Caller, in pushArgs) (string, error) {
	frame, err := stack.Push(ctx, d.p, by, in.Goal, in.Criteria)
	if frame.Parent == "" {
		return fmt.Sprintf("Started %s as a root.", frame.ID), err
	}
	return fmt.Sprintf("Started %s below %s.", frame.ID, frame.Parent), err
}

// An endStatus is a status that a frame can end with.
type endStatus string

// Values returns the statuses.
func (endStatus) Values() []string { return []string{"completed", "failed", "blocked"} }

type popArgs struct {
	Status          endStatus `json:"status"`
	Summary         string    `json:"summary,omitempty" jsonschema:"outcome; failures, why; exact names, lines, numbers, errors, commands; open ends, promises"`
	Decisions       []string  `json:"decisions,omitempty" jsonschema:"what and why"`
	Artifacts       []string  `json:"artifacts,omitempty" rare:"true" jsonschema:"paths or names"`
	Next            string    `json:"next,omitempty" jsonschema:"planned frame's id, or a goal"`
	GenerateSummary bool      `json:"generateSummary,omitempty" rare:"true" jsonschema:"by the next compaction"`
	FrameID         string    `json:"frameID,omitempty" rare:"true" jsonschema:"needed to end a root"`
	Results         string    `json:"results,omitempty" rare:"true" jsonschema:"full outcome"`
	Confidence      *float64  `json:"confidence,omitempty" rare:"true" jsonschema:"0 to 1"`
	Force           bool      `json:"force,omitempty" rare:"true" jsonschema:"over children in progress"`
}

func (d frameDoor) pop(ctx context.Context, by project.Caller, in popArgs) (string, error) {
	popped, err := stack.Pop(ctx, d.p, by, stack.PopArgs{
		Frame: in.FrameID, Status: core.Status(in.Status), Summary: in.Summary, Results: in.Results,
		Confidence: in.Confidence, GenerateSummary: in.GenerateSummary, Force: in.Force,
		Decisions: in.Decisions, Artifacts: in.Artifacts, Next: in.Next,
	})
	if err != nil {
		return "", err
	}
	if popped.Pending != nil {
		return pendingText(popped), nil
	}
	return stub(popped), nil
}

// statusLimit is how many frames flame_status shows before it counts the rest:
// with goals of usual length that is 8 KB of text.
const statusLimit = 60

func (d frameDoor) status(ctx context.Context, by project.Caller, _ noArgs) (string, error) {
	tree, err := view.TreeOf(ctx, d.p, by, view.TreeArgs{Limit: statusLimit})
	return render.Status(tree), err
}

type goalArgs struct {
	Goal     string `json:"goal"`
	Criteria string `json:"successCriteria,omitempty"`
	FrameID  string `json:"frameID,omitempty"`
}

func (d frameDoor) setGoal(ctx context.Context, by project.Caller, in goalArgs) (string, error) {
	frame, err := stack.SetGoal(ctx, d.p, by, in.FrameID, in.Goal, in.Criteria)
	text := fmt.Sprintf("%s is now for %s.", frame.ID, render.Quote(frame.Goal))
	if in.Criteria != "" {
		text += fmt.Sprintf(" Done means %s.", render.Quote(frame.SuccessCriteria))
	}
	return text, err
}

type artifactArgs struct {
	Artifact string `json:"artifact" jsonschema:"path or name"`
	FrameID  string `json:"frameID,omitempty"`
}

func (d frameDoor) addArtifact(ctx context.Context, by project.Caller, in artifactArgs) (string, error) {
	frame, added, err := stack.AddArtifact(ctx, d.p, by, in.FrameID, in.Artifact)
	return recorded(frame, "artifact", in.Artifact, added, len(frame.Artifacts)), err
}

type decisionArgs struct {
	Decision string `json:"decision" jsonschema:"what and why"`
	FrameID  string `json:"frameID,omitempty"`
}

func (d frameDoor) addDecision(ctx context.Context, by project.Caller, in decisionArgs) (string, error) {
	frame, added, err := stack.AddDecision(ctx, d.p, by, in.FrameID, in.Decision)
	return recorded(frame, "decision", in.Decision, added, len(frame.Decisions)), err
}

func recorded(frame core.Frame, what, text string, added bool, n int) string {
	if !added {
		return fmt.Sprintf("%s already has this %s: %s", frame.ID, what, render.Quote(text))
	}
	return fmt.Sprintf("%s: %s %d recorded: %s", frame.ID, what, n, render.Quote(text))
}

type detailsArgs struct {
	FrameID string `json:"frameID"`
}

func (d frameDoor) details(ctx context.Context, by project.Caller, in detailsArgs) (string, error) {
	details, err := view.DetailsOf(ctx, d.p, by, in.FrameID)
	return render.Details(details, 0), err
}

// An anyStatus is a status that a frame can have.
type anyStatus string

// Values returns the statuses.
func (anyStatus) Values() []string { return core.Words(core.Statuses...) }

type searchArgs struct {
	Query  string    `json:"query" jsonschema:"words, all must occur"`
	Status anyStatus `json:"status,omitempty"`
	Limit  int       `json:"limit,omitempty" jsonschema:"1 to 100, default 20"`
}

// maxPassages is how many places in the work of frames a search shows.
const maxPassages = 5

func (d frameDoor) search(ctx context.Context, by project.Caller, in searchArgs) (string, error) {
	found, err := view.Search(ctx, d.p, by, view.SearchArgs{Text: in.Query, Status: core.Status(in.Status), Limit: in.Limit})
	if err != nil || in.Status != "" {
		return render.SearchResults(in.Query, found), err
	}
	reach, err := agents.Passages(ctx, d.agents, by, in.Query, "", maxPassages)
	return render.WithPassages(render.SearchResults(in.Query, found), found, reach), err
}
