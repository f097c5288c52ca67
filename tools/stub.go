package tools

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/op"
	"flame/project/stack"
	"flame/render"
)

// stub returns the text that remains of an ended frame in the conversation, beside the call
// that ended it. It repeats nothing of that call, nor the goal if the pop before says
// it. Hosts parse it: the first id is the id of the frame. If the caller took up another frame, a
// line begins with "Started" (and is folded with it) or "Activated" and its id. Text of frames is
// quoted on one line, so that it cannot form such a line.
func stub(popped stack.PopResult) string {
	frame, before := popped.Frame, popped.EarlierTexts
	var b strings.Builder
	if fmt.Fprintf(&b, "%s is %s", frame.ID, frame.Status); popped.GoalShown {
		b.WriteString(".\n")
	} else {
		fmt.Fprintf(&b, ": \"%s\"\n", core.OneLine(frame.Goal, maxGoal))
	}
	switch {
	case popped.ComposedSummary != "":
		b.WriteString("It has no summary of its own; others see what was done below it: " + quoteWhole(popped.ComposedSummary) + "\n")
	case frame.Summary == "":
		b.WriteString("It has no summary, so other frames learn nothing from it.\n")
	}
	if before.Summary != "" {
		b.WriteString("Its summary: " + quoteWhole(before.Summary) + "\n")
	}
	b.WriteString(listed("Decided before", before.Decisions) + listed("Artifacts before", before.Artifacts) + inside(popped))
	b.WriteString(render.Frames("Still planned below it (activate or invalidate them):", popped.Planned))
	b.WriteString(render.Frames("Still in progress below it:", popped.Open))
	return b.String() + goesOn(popped)
}

// goesOn says in which frame the caller works after a pop.
func goesOn(popped stack.PopResult) string {
	if then := popped.NextActivated; then != nil && then.From == "" {
		return fmt.Sprintf("Started %s as your current frame.", then.Frame.ID)
	} else if then != nil {
		return fmt.Sprintf("Activated %s %s.", then.Frame.ID, render.Quote(then.Frame.Goal)) + takenUp(*then)
	}
	text := notNext(popped)
	if popped.Next != nil {
		text += fmt.Sprintf("Planned next: %s %s\n", popped.Next.ID, render.Quote(popped.Next.Goal))
	}
	if popped.Parent == nil || popped.Parent.ID != popped.Current {
		text = render.Parent(popped.Parent) + text
	}
	return text + render.Current(popped.Current)
}

// notNext says why a pop took up no next frame.
func notNext(popped stack.PopResult) string {
	why := popped.NotNext
	if why == nil {
		return ""
	}
	return fmt.Sprintf("%s was not taken up: %s (%s).\n", op.ArgNext, core.OneLine(why.Message, maxWhole), core.OneLine(why.Hint, maxWhole))
}

// takenUp returns what to know of an activated frame, in sentences behind another one.
func takenUp(a stack.ActivateResult) string {
	text := render.Field("Taken over from session", a.PrevSession) + render.TakenOver(a) +
		render.Field("Done means", core.OneLine(a.Frame.SuccessCriteria, maxWhole)) + render.Field("Summary so far", core.OneLine(a.Frame.Summary, maxWhole))
	if text == "" {
		return ""
	}
	return " " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", " ")
}

// The limits of a stub: the number of texts of a kind, and the length of each in characters.
// Models can read the rest with another call.
const (
	maxQuoted = 40
	maxWhole  = 2000
	maxGoal   = 150 // of the frame that ended: with a frame that begins the stub has 60 tokens at most
)

func quoteWhole(text string) string { return `"` + core.OneLine(text, maxWhole) + `"` }

// listed returns texts on one line after a heading; it is empty if there are no texts.
func listed(what string, texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	shown := lo.Map(texts[:min(len(texts), maxQuoted)], func(text string, _ int) string { return quoteWhole(text) })
	if more := len(texts) - len(shown); more > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", more))
	}
	return what + ": " + strings.Join(shown, "; ") + "\n"
}

// inside names the ended frames below the popped one.
func inside(popped stack.PopResult) string {
	if len(popped.EndedBelow) == 0 {
		return ""
	}
	more := ""
	ended := lo.Map(popped.EndedBelow, func(f core.Frame, _ int) string { return f.ID + " " + strconv.Quote(firstWords(f.Goal)) })
	if popped.More {
		more = fmt.Sprintf(" and more (%s, rootID %s)", op.Tree, popped.Frame.ID)
	}
	return "Ended inside: " + strings.Join(ended, ", ") + more + "\n"
}

// maxWords is how many words of the goals of frames inside a stub has.
const maxWords = 6

func firstWords(text string) string {
	words := strings.Fields(core.OneLine(text, 60))
	return strings.Join(words[:min(len(words), maxWords)], " ") + lo.Ternary(len(words) > maxWords, "…", "")
}

func pendingText(popped stack.PopResult) string {
	pending := popped.Pending
	var b strings.Builder
	fmt.Fprintf(&b, "%s waits for a summary and will then be %s.\n", popped.Frame.ID, pending.Status)
	b.WriteString(render.Parent(popped.Parent))
	b.WriteString(render.Field("Your text, which will precede the generated one", core.OneLine(pending.Summary, maxWhole)))
	fmt.Fprintf(&b, "It ends once the summary is there: pass it to %s, or let the host compact this conversation. "+
		"Without one within %s it ends with your text; %s without generateSummary ends it now.",
		op.Summarize, core.Span(pending.Due-pending.RequestedAt), op.Pop)
	return strings.TrimSuffix(b.String()+"\n"+notNext(popped), "\n")
}
