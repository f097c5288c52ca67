package tools

import (
	"context"
	"fmt"
	"strings"

	"flame/core"
	"flame/project"
)

func frameTools(p *project.Project) []Tool {
	d := frameDoor{p}
	return join(
		always(
			define("flame_push", "Start a frame for a piece of work below the current frame and work in it. Use it before each subtask that deserves its own summary.", writes, d.push),
			define("flame_pop", "End the current frame (or frameID) and return to its parent. Put into summary what those who go on must know: outcome, decisions, open ends.", writes, d.pop),
			define("flame_status", "Show where you are: the current frame and the tree around it. Use it when you have lost track.", reads, d.status),
		),
		[]Tool{define("flame_set_goal", "Change what the current frame (or frameID) is for.", sets, d.setGoal)},
		always(
			define("flame_add_artifact", "Record a file or other product of the current frame, once it exists.", sets, d.addArtifact),
			define("flame_add_decision", "Record a decision of the current frame with its reason, when you make it.", sets, d.addDecision),
			define("flame_frame_details", "Read all of a frame: full summary, results, artifacts, decisions. Use it when a context shows only a part.", reads, d.details),
			define("flame_search", "Find frames by words of their goals, summaries, results and decisions, newest first. Use it before you redo or decide anew what may be there.", reads, d.search),
		),
	)
}

type frameDoor struct{ p *project.Project }

type pushArgs struct {
	Goal     string `json:"goal" jsonschema:"what the work is to achieve"`
	Criteria string `json:"successCriteria,omitempty" jsonschema:"what done means"`
}

func (d frameDoor) push(ctx context.Context, by project.Caller, in pushArgs) (string, error) {
	frame, err := d.p.Push(ctx, by, in.Goal, in.Criteria)
	if err != nil {
		return "", err
	}
	parent := "It is a root."
	if frame.Parent != "" {
		parent = "Parent: " + frame.Parent + "."
	}
	return fmt.Sprintf("Started %s %s. %s\nIt is your current frame; end it with flame_pop.", frame.ID, quote(frame.Goal), parent), nil
}

type popArgs struct {
	Status          endStatus `json:"status"`
	Summary         string    `json:"summary,omitempty" jsonschema:"dense outcome for other frames' contexts"`
	GenerateSummary bool      `json:"generateSummary,omitempty" jsonschema:"wait for the summary of the next compaction"`
	FrameID         string    `json:"frameID,omitempty" jsonschema:"needed to end a root"`
	Results         string    `json:"results,omitempty" jsonschema:"full outcome, read on demand"`
	Confidence      *float64  `json:"confidence,omitempty" jsonschema:"0 to 1"`
	Force           bool      `json:"force,omitempty" jsonschema:"even with children in progress"`
}

func (d frameDoor) pop(ctx context.Context, by project.Caller, in popArgs) (string, error) {
	popped, err := d.p.Pop(ctx, by, project.PopArgs{
		Frame: in.FrameID, Status: core.Status(in.Status), Summary: in.Summary, Results: in.Results,
		Confidence: in.Confidence, GenerateSummary: in.GenerateSummary, Force: in.Force,
	})
	if err != nil {
		return "", err
	}
	if popped.Pending != nil {
		return pendingText(popped), nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s is %s.\n", popped.Frame.ID, popped.Frame.Status)
	if popped.Frame.Summary == "" {
		b.WriteString("It has no summary, so other frames learn nothing of it: next time pass summary, or generateSummary.\n")
	}
	b.WriteString(parentLine(popped.Parent))
	b.WriteString(namedList("Still planned below it (activate or invalidate them):", popped.Planned))
	b.WriteString(namedList("Still in progress below it:", popped.Open))
	b.WriteString(currentLine(popped.Current))
	return b.String(), nil
}

func pendingText(popped project.Popped) string {
	pending := popped.Pending
	var b strings.Builder
	fmt.Fprintf(&b, "%s waits for a summary and will then be %s.\n", popped.Frame.ID, pending.Status)
	b.WriteString(parentLine(popped.Parent))
	b.WriteString(field("Your text, which will stand before the generated one", pending.Summary))
	fmt.Fprintf(&b, "It ends once the summary is there: pass it to flame_summarize, or let the host compact this conversation. "+
		"Without one within %s it ends with your text; flame_pop without generateSummary ends it now.",
		core.FormatDuration(int64(pending.Due-pending.RequestedAt)))
	return b.String()
}

// statusLimit is how many frames flame_status shows before it counts the rest:
// with goals of usual length 8 KB of text.
const statusLimit = 60

type noArgs struct{}

func (d frameDoor) status(ctx context.Context, by project.Caller, _ noArgs) (string, error) {
	tree, err := d.p.Tree(ctx, by, project.TreeArgs{Limit: statusLimit})
	if err != nil {
		return "", err
	}
	return StatusText(tree), nil
}

// maxStatus bounds the text of a status, in bytes (DESIGN §10).
const maxStatus = 8 << 10

// StatusText tells where the caller is and what lies around it, in at most 8 KB.
func StatusText(tree project.Tree) string {
	if len(tree.Lines) == 0 {
		return "No frames yet. flame_push starts one; flame_plan_children lays out several."
	}
	text := currentLine(tree.Current) + "\n" + usageLine(tree.Usage) + countLine(tree.Counts) + "\n" + core.TreeLegend() + "\n\n" +
		core.DrawTree(tree.Lines, core.DrawOptions{Current: tree.Current, MaxLine: 120})
	if len(text) <= maxStatus {
		return text
	}
	cut := strings.LastIndexByte(text[:maxStatus-80], '\n')
	return text[:cut+1] + "(cut; flame_tree with rootID shows a part in full)\n"
}

type goalArgs struct {
	Goal    string `json:"goal"`
	FrameID string `json:"frameID,omitempty"`
}

func (d frameDoor) setGoal(ctx context.Context, by project.Caller, in goalArgs) (string, error) {
	frame, err := d.p.SetGoal(ctx, by, in.FrameID, in.Goal)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s is now for %s.", frame.ID, quote(frame.Goal)), nil
}

type artifactArgs struct {
	Artifact string `json:"artifact" jsonschema:"path or name"`
	FrameID  string `json:"frameID,omitempty"`
}

func (d frameDoor) addArtifact(ctx context.Context, by project.Caller, in artifactArgs) (string, error) {
	frame, added, err := d.p.AddArtifact(ctx, by, in.FrameID, in.Artifact)
	if err != nil {
		return "", err
	}
	return recorded(frame, "artifact", in.Artifact, added, len(frame.Artifacts)), nil
}

type decisionArgs struct {
	Decision string `json:"decision" jsonschema:"what and why"`
	FrameID  string `json:"frameID,omitempty"`
}

func (d frameDoor) addDecision(ctx context.Context, by project.Caller, in decisionArgs) (string, error) {
	frame, added, err := d.p.AddDecision(ctx, by, in.FrameID, in.Decision)
	if err != nil {
		return "", err
	}
	return recorded(frame, "decision", in.Decision, added, len(frame.Decisions)), nil
}

func recorded(frame core.Frame, what, text string, added bool, n int) string {
	if !added {
		return fmt.Sprintf("%s has this %s already: %s", frame.ID, what, quote(text))
	}
	return fmt.Sprintf("%s: %s %d recorded: %s", frame.ID, what, n, quote(text))
}

type detailsArgs struct {
	FrameID string `json:"frameID"`
}

func (d frameDoor) details(ctx context.Context, by project.Caller, in detailsArgs) (string, error) {
	details, err := d.p.Details(ctx, by, in.FrameID)
	if err != nil {
		return "", err
	}
	return DetailsText(details), nil
}

// DetailsText tells all of a frame.
func DetailsText(d project.Details) string {
	f := d.Frame
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)", f.ID, f.Status)
	if d.Current {
		b.WriteString(", your current frame")
	}
	b.WriteString("\n" + field("Goal", f.Goal) + field("Success criteria", f.SuccessCriteria))
	if len(d.Ancestors) == 0 {
		b.WriteString("Parent: none (a root)\n")
	}
	for i, a := range d.Ancestors {
		if i == 0 {
			b.WriteString("Parent: " + named(a) + "\n")
		} else {
			b.WriteString("  above: " + named(a) + "\n")
		}
	}
	b.WriteString("Children: " + countLine(d.Children) + "\n")
	b.WriteString(field("Session", f.Session))
	b.WriteString(field("Created", when(f.CreatedAt)) + field("Started", when(f.StartedAt)) + field("Ended", when(f.EndedAt)) + field("Updated", when(f.UpdatedAt)))
	b.WriteString(field("Archived", when(f.ArchivedAt)))
	b.WriteString(field("Invalidated", strings.TrimSpace(when(f.InvalidatedAt)+" "+f.InvalidationReason)))
	if f.Confidence != nil {
		fmt.Fprintf(&b, "Confidence: %g\n", *f.Confidence)
	}
	b.WriteString(bullets("Planned children:", f.PlannedChildren) + bullets("Artifacts:", f.Artifacts) + bullets("Decisions:", f.Decisions))
	b.WriteString(field("Summary", f.Summary) + field("Results", f.Results) + field("Log", f.LogPath))
	b.WriteString(usageLine(f.Usage))
	return b.String()
}

// usageLine tells what the work in a frame consumed; nothing without any.
func usageLine(u core.Usage) string {
	if u == (core.Usage{}) {
		return ""
	}
	return "Usage: " + UsageText(u) + "\n"
}

// UsageText tells what work consumed.
func UsageText(u core.Usage) string {
	return fmt.Sprintf("%s in, %d out, %d cache read, %d cache written, %s, %s",
		Count(u.TokensIn, "token"), u.TokensOut, u.CacheRead, u.CacheWritten, Count(u.ToolCalls, "tool call"), Money(u.CostUSD))
}

type searchArgs struct {
	Query  string    `json:"query" jsonschema:"words, all of which must occur"`
	Status anyStatus `json:"status,omitempty"`
	Limit  int       `json:"limit,omitempty" jsonschema:"1 to 100, default 20"`
}

func (d frameDoor) search(ctx context.Context, by project.Caller, in searchArgs) (string, error) {
	found, err := d.p.Search(ctx, by, project.SearchArgs{Text: in.Query, Status: core.Status(in.Status), Limit: in.Limit})
	if err != nil {
		return "", err
	}
	return SearchText(in.Query, found), nil
}

// SearchText tells what a search found.
func SearchText(query string, found []core.Frame) string {
	if len(found) == 0 {
		return fmt.Sprintf("No frame has all the words of %s. Try fewer words, or flame_tree.", quote(query))
	}
	var b strings.Builder
	for _, f := range found {
		b.WriteString(named(f) + "\n")
		if f.Summary != "" {
			b.WriteString("  " + core.OneLine(f.Summary, maxGoal) + "\n")
		}
	}
	fmt.Fprintf(&b, "%d found, newest first; flame_frame_details shows one in full.", len(found))
	return b.String()
}
