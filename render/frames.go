package render

import (
	"cmp"
	"fmt"
	"strings"

	"flame/agents"
	"flame/core"
	"flame/core/op"
	"flame/core/outline"
	"flame/project/stack"
	"flame/project/view"
)

// Frame returns a frame in one line: id, status, goal.
func Frame(f core.Frame) string {
	return fmt.Sprintf("%s (%s) %s", f.ID, f.Status, Quote(f.Goal)) + f.MachineSuffix()
}

// Parent returns the line about a frame's parent.
func Parent(parent *core.Frame) string {
	if parent == nil {
		return "Parent: none (a root)\n"
	}
	return "Parent: " + Frame(*parent) + "\n"
}

// Current returns the line about the caller's current frame.
func Current(id string) string {
	if id == "" {
		return fmt.Sprintf("Current frame: none; %s starts one", op.Push)
	}
	return "Current frame: " + id
}

// Frames returns frames one per line, under a heading; it is empty without any.
func Frames(heading string, frames []core.Frame) string {
	return Tally(heading, stack.FrameSample{First: frames[:min(len(frames), maxListed)], Count: len(frames)})
}

// Tally returns the frames that t names one per line, under a heading, and the
// number of the others; it is empty without any.
func Tally(heading string, t stack.FrameSample) string {
	if t.Count == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(heading + "\n")
	for _, f := range t.First {
		b.WriteString("- " + Frame(f) + "\n")
	}
	if more := t.Count - len(t.First); more > 0 {
		fmt.Fprintf(&b, "- and %d more\n", more)
	}
	return b.String()
}

// Counts returns the number of frames of each status.
func Counts(counts map[core.Status]int) string {
	total, each := outline.CountText(counts)
	if total == 0 {
		return "0 frames"
	}
	return Count(total, "frame") + ": " + each
}

// Off says that hooks and injection are off, if they are.
func Off(off bool) string {
	if !off {
		return ""
	}
	return "Flame is off in this project: hooks and contexts do nothing until the user runs `flame on`.\n"
}

const noFrames = "No frames yet. " + string(op.Push) + " starts one; " + string(op.PlanChildren) + " plans several."

// maxStatus bounds the text of a status, in bytes.
const maxStatus = 8 << 10

// Status describes the caller's current frame and the tree around it, in at most 8 KB.
func Status(tree view.Tree) string {
	if len(tree.Lines) == 0 {
		return Off(tree.Off) + noFrames
	}
	text := Off(tree.Off) + Counts(tree.Counts) + Around(tree, 0)
	if len(text) <= maxStatus {
		return text
	}
	cut := strings.LastIndexByte(text[:maxStatus-80], '\n')
	return text[:cut+1] + fmt.Sprintf("(cut; %s with rootID shows a part in full)\n", op.Tree)
}

// Around draws the tree around the caller's current frame. Goals take the whole width in columns; 0: unknown.
func Around(tree view.Tree, width int) string {
	if len(tree.Lines) == 0 {
		return ""
	}
	return "\n" + Current(tree.Current) + "\n" + usageLine("Used in it", tree.Usage) + outline.Legend() + "\n\n" +
		outline.Draw(tree.Lines, outline.DrawOptions{Current: tree.Current, MaxLine: cmp.Or(width, 120), Wide: width > 0})
}

// Details returns everything about a frame, for a person who reads it at now; 0: for an agent.
func Details(d view.Details, now core.Millis) string {
	f := d.Frame
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)", f.ID, f.Status)
	if d.Current {
		b.WriteString(", your current frame")
	}
	b.WriteString("\n" + Field("Goal", f.Goal) + Field("Success criteria", f.SuccessCriteria))
	if len(d.Ancestors) == 0 {
		b.WriteString(Parent(nil))
	}
	for i, a := range d.Ancestors {
		b.WriteString([]string{"Parent: ", "  above: "}[min(i, 1)] + Frame(a) + "\n")
	}
	b.WriteString("Children: " + Counts(d.Children) + "\n")
	b.WriteString(Field("Made for the agent", strings.TrimSpace(d.Agent+" "+d.AgentID)))
	b.WriteString(Field("Machine", f.Machine))
	b.WriteString(Field("Session", f.Session))
	b.WriteString(Field("Created", Time(f.CreatedAt, now)) + Field("Started", Time(f.StartedAt, now)) +
		Field("Ended", Time(f.EndedAt, now)) + Field("Updated", Time(f.UpdatedAt, now)))
	b.WriteString(Field("Archived", Time(f.ArchivedAt, now)))
	b.WriteString(Field("Invalidated", strings.TrimSpace(Time(f.InvalidatedAt, now)+" "+f.InvalidationReason)))
	if f.Confidence != nil {
		fmt.Fprintf(&b, "Confidence: %g\n", *f.Confidence)
	}
	b.WriteString(Bullets("Planned children:", f.PlannedChildren) + Bullets("Artifacts:", f.Artifacts) + Bullets("Decisions:", f.Decisions) + Files(d.Files))
	composed, closing := "", ""
	switch {
	case d.Closing != "": // it repeats the composed summary
		closing = "\nTo continue from it:\n" + d.Closing + "\n"
	case d.Composed != "":
		composed = "Summary (composed of what was done below it):\n" + d.Composed + "\n"
	}
	b.WriteString(Field("Summary", f.Summary) + composed + Field("Results", f.Results) + Field("Log", f.LogPath))
	b.WriteString(usageLine("Used in it, without its children", f.Usage))
	if d.Folded != nil {
		fmt.Fprintf(&b, "Folded: %s, about %s, left out of %s\n", Count(d.Folded.Messages, "message"),
			core.Tokens(d.Folded.Tokens), Count(d.Folded.Requests, "request"))
	}
	plan := ""
	if d.Plan != "" {
		plan = "\nThe plan that the user approved:\n" + d.Plan + "\n"
	}
	return b.String() + MeteredLine(d.Metered) + closing + plan
}

// usageLine returns the usage of the work in a frame; empty if it is not known.
func usageLine(what string, u core.Usage) string {
	if u == (core.Usage{}) {
		return ""
	}
	return what + ": " + Usage(u) + "\n"
}

// Usage returns the usage of some work.
func Usage(u core.Usage) string {
	return tokensOf(u) + ", " + Count(u.ToolCalls, "tool call") + ", " + core.Cost(u)
}

// tokensOf returns the tokens of some work, by kind.
func tokensOf(u core.Usage) string {
	return fmt.Sprintf("%s in, %s out, %s cache read, %s cache written",
		core.Tokens(u.TokensIn), core.Amount(u.TokensOut), core.Amount(u.CacheRead), core.Amount(u.CacheWritten))
}

// SearchResults lists the results of a search.
func SearchResults(query string, found []view.SearchHit) string {
	if len(found) == 0 {
		return fmt.Sprintf("No frame contains all the words of %s. Try fewer words, or %s.", Quote(query), op.Tree)
	}
	var b strings.Builder
	for _, f := range found {
		b.WriteString(Frame(f.Frame) + "\n" + outcome(f, MaxGoal))
	}
	fmt.Fprintf(&b, "%d found, newest first; %s shows one in full.", len(found), op.Details)
	return b.String()
}

// WithPassages adds to the text about found frames what a search found in the work of frames, which takes
// its place if no frame was found.
func WithPassages(text string, found []view.SearchHit, r agents.Reach) string {
	var b strings.Builder
	if len(found) > 0 || len(r.Passages) == 0 {
		b.WriteString(text)
	}
	if len(r.Passages) > 0 {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "In the work of frames, newest first; %s with frameID and entry shows one whole:\n", op.Recall)
	}
	for _, p := range r.Passages {
		what := strings.TrimSpace(strings.Join([]string{p.Voice, core.OneLine(p.Tool, 40), core.OneLine(p.Call, 80)}, " "))
		fmt.Fprintf(&b, "- %s %s, entry %d (%s): %s\n", p.Frame, Quote(core.OneLine(p.Goal, 60)), p.Entry, what, p.Excerpt)
	}
	if len(r.Unread) > 0 {
		fmt.Fprintf(&b, "\nNot searched: %s\n", strings.Join(r.Unread[:min(len(r.Unread), 3)], "; "))
	}
	return b.String()
}

// maxMatched is how many decisions of a frame a search shows.
const maxMatched = 3

// outcome returns the summary of a found frame, and its decisions that match the search, each cut
// to max characters.
func outcome(f view.SearchHit, max int) (text string) {
	switch {
	case f.Summary != "":
		text = "  " + core.OneLine(f.Summary, max) + "\n"
	case f.Composed != "":
		text = "  below it: " + core.OneLine(f.Composed, max) + "\n"
	}
	for _, decision := range f.Matched[:min(len(f.Matched), maxMatched)] {
		text += "  decided: " + core.OneLine(decision, max) + "\n"
	}
	if more := len(f.Matched) - maxMatched; more > 0 {
		text += "  and " + Count(more, "other decision") + "\n"
	}
	return text
}

// TakenOver returns a line with the machine from which an activated frame was taken over, and a
// line if its parent has ended; else empty.
func TakenOver(a stack.ActivateResult) (text string) {
	if a.Machine != "" {
		text = "Taken over from machine " + core.OneLine(a.Machine, 0) + ".\n"
	}
	if a.EndedParent != "" {
		text += fmt.Sprintf("Its parent %s is %s and stays so.\n", a.Frame.Parent, a.EndedParent)
	}
	return text
}

// ActivatedShort returns the outcome of an activation.
func ActivatedShort(a stack.ActivateResult) string {
	if a.AlreadyCurrent {
		return a.Frame.ID + " is the current frame already"
	}
	return strings.TrimSuffix(fmt.Sprintf("%s: %s -> %s\n", a.Frame.ID, a.From, a.Frame.Status)+TakenOver(a), "\n")
}

// Tree draws a tree for a model: legend, current frame, the tree, counts.
func Tree(tree view.Tree, details bool) string {
	if len(tree.Lines) == 0 {
		return Off(tree.Off) + noFrames
	}
	drawn := outline.Draw(tree.Lines, outline.DrawOptions{Current: tree.Current, Details: details})
	return Off(tree.Off) + outline.Legend() + "\n" + Current(tree.Current) + "\n```\n" + drawn + "```\n" + Counts(tree.Counts)
}

// ShortUsage returns the usage of the work in a frame in a few words; it is empty if that is
// not known.
func ShortUsage(u core.Usage) string {
	tokens := u.Tokens()
	if tokens == 0 {
		return ""
	}
	used := core.Tokens(tokens)
	if u.CostUSD == 0 { // the model's price is not known
		return fmt.Sprintf(" (%s)", used)
	}
	return fmt.Sprintf(" (%s, %s)", used, core.Cost(u))
}

// ShortSearchResults lists the results of a search, each frame with its summary.
func ShortSearchResults(text string, found []view.SearchHit) string {
	if len(found) == 0 {
		return fmt.Sprintf("No frame contains all the words of %q.", Short(text))
	}
	var b strings.Builder
	for _, f := range found {
		b.WriteString(ShortFrame(f.Frame) + "\n" + outcome(f, maxShort))
	}
	return b.String()
}

// ShortPop returns the status of a popped frame, the frames left below it, and the next
// frame.
func ShortPop(popped stack.PopResult) string {
	text := fmt.Sprintf("%s is %s", popped.Frame.ID, popped.Frame.Status)
	if popped.Pending != nil {
		text = popped.Frame.ID + " waits for a summary"
	}
	if popped.ComposedSummary != "" {
		text += "\nno summary of its own; others see what was done below it:\n" + popped.ComposedSummary
	}
	for _, f := range popped.Planned {
		text += "\nstill planned: " + ShortFrame(f)
	}
	for _, f := range popped.Open {
		text += "\nstill in progress: " + ShortFrame(f)
	}
	switch {
	case popped.NextActivated != nil && popped.NextActivated.From == "":
		text += fmt.Sprintf("\n%s started: %s", popped.NextActivated.Frame.ID, Short(popped.NextActivated.Frame.Goal))
	case popped.NextActivated != nil:
		text += "\n" + ActivatedShort(*popped.NextActivated)
	case popped.NotNext != nil:
		text += "\nnext was not taken up: " + core.OneLine(popped.NotNext.Message, 0)
	case popped.Next != nil:
		text += "\nplanned next: " + ShortFrame(*popped.Next)
	}
	return text
}

// TallyShort returns the frames of a tally one per line, and the number of the
// others.
func TallyShort(what string, t stack.FrameSample) (text string) {
	for _, f := range t.First {
		text += "\n" + what + ": " + ShortFrame(f)
	}
	if more := t.Count - len(t.First); more > 0 {
		text += fmt.Sprintf("\n%s: and %d more", what, more)
	}
	return text
}

// RecordedShort says whether something was recorded in a frame or was there
// already.
func RecordedShort(frame core.Frame, what string, added bool) string {
	if !added {
		return fmt.Sprintf("%s already has this %s", frame.ID, what)
	}
	return fmt.Sprintf("%s: %s recorded", frame.ID, what)
}

// InvalidatedShort returns the outcome of an invalidation for a person.
func InvalidatedShort(done stack.InvalidateResult) string {
	return done.Target.ID + " is invalidated" + TallyShort("invalidated with it", done.Planned) + TallyShort("still in progress", done.InProgress)
}
