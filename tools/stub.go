package tools

import (
	"fmt"
	"strings"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/op"
	"flame/project/stack"
	"flame/render"
)

// stub returns what remains in the conversation of a frame that has ended, beside the
// call that ended it (DESIGN §11). Hosts parse it: the first id is that of the frame; if
// another was taken up, a line begins with "Started" or "Activated" and its id. Text of
// frames stands within quotes on one line, so that it cannot make such a line.
func stub(popped stack.Popped) string {
	frame, before := popped.Frame, popped.Before
	var b strings.Builder
	fmt.Fprintf(&b, "%s is %s: %s\n", frame.ID, frame.Status, render.Quote(frame.Goal))
	switch {
	case popped.Below != "":
		b.WriteString("It has no summary of its own; others see what was done below it: " + quoteWhole(popped.Below) + "\n")
	case frame.Summary == "":
		b.WriteString("It has no summary, so other frames learn nothing from it: next time pass summary, or generateSummary.\n")
	}
	if before.Summary != "" {
		b.WriteString("Its summary: " + quoteWhole(before.Summary) + "\n")
	}
	b.WriteString(listed("Decided before", before.Decisions) + listed("Artifacts before", before.Artifacts) + inside(popped))
	fmt.Fprintf(&b, "More: %s %s\n", op.Details, frame.ID)
	b.WriteString(render.Frames("Still planned below it (activate or invalidate them):", popped.Planned))
	b.WriteString(render.Frames("Still in progress below it:", popped.Open))
	return b.String() + goesOn(popped)
}

// goesOn says where the caller works after a pop.
func goesOn(popped stack.Popped) string {
	if then := popped.Then; then != nil {
		verb, under := "Started", ""
		if then.From != "" {
			verb = "Activated"
		}
		if from := render.TakenFrom(*then); from != "" {
			under = "\n" + from
		}
		if then.Under != "" {
			under += "\n" + render.UnderEnded(*then)
		}
		return fmt.Sprintf("%s %s %s, your current frame.", verb, then.Frame.ID, render.Quote(then.Frame.Goal)) + under +
			strings.TrimSuffix("\n"+render.Field("Done means", core.OneLine(then.Frame.SuccessCriteria, 0)), "\n")
	}
	text := ""
	if popped.Next != nil {
		text = render.Frames(fmt.Sprintf("Planned next (%s; as next, %s takes it up itself):", op.Activate, op.Pop), []core.Frame{*popped.Next})
	}
	if popped.Parent == nil || popped.Parent.ID != popped.Current {
		return render.Parent(popped.Parent) + text + render.Current(popped.Current)
	}
	return text + render.Current(popped.Current) + " " + render.Quote(popped.Parent.Goal)
}

// A stub shows so many texts of a kind, and so much of each, in characters: what it leaves
// out has to be read again.
const (
	maxQuoted = 40
	maxWhole  = 2000
)

func quoteWhole(text string) string { return `"` + core.OneLine(text, maxWhole) + `"` }

// listed returns texts on one line, after what they are; it is empty without any.
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

// inside names the frames below the one that was popped that have ended.
func inside(popped stack.Popped) string {
	if len(popped.Inside) == 0 {
		return ""
	}
	more := ""
	if popped.More {
		more = fmt.Sprintf(" and more (%s, rootID %s)", op.Tree, popped.Frame.ID)
	}
	return "Ended inside: " + strings.Join(popped.Inside, ", ") + more + "\n"
}

func pendingText(popped stack.Popped) string {
	pending := popped.Pending
	var b strings.Builder
	fmt.Fprintf(&b, "%s waits for a summary and will then be %s.\n", popped.Frame.ID, pending.Status)
	b.WriteString(render.Parent(popped.Parent))
	b.WriteString(render.Field("Your text, which will precede the generated one", core.OneLine(pending.Summary, maxWhole)))
	fmt.Fprintf(&b, "It ends once the summary is there: pass it to %s, or let the host compact this conversation. "+
		"Without one within %s it ends with your text; %s without generateSummary ends it now.",
		op.Summarize, render.Duration(int64(pending.Due-pending.RequestedAt)), op.Pop)
	return b.String()
}
