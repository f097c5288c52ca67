package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"flame/config/env"
	"flame/core"
	"flame/core/learn"
	"flame/project/autonomy"
)

// outcomes are the words for the outcomes of suggestions.
var outcomes = map[core.Outcome]string{
	core.Acted: "acted on", core.Done: "done by flame", core.Undone: "undone", core.Ignored: "ignored",
	core.Unseen: "expired unseen", core.Replaced: "replaced", core.Dropped: "dropped",
}

// became returns the outcome of a suggestion and its time.
func became(s core.Suggestion, now core.Millis) string {
	switch {
	case s.Outcome != "":
		return outcomes[s.Outcome] + " " + When(s.EndedAt)
	case s.ActedAt != 0: // recorded by a version that knew no outcomes
		return outcomes[core.Acted] + " " + When(s.ActedAt)
	case now > s.ExpiresAt:
		return "expired " + When(s.ExpiresAt)
	}
	return "pending"
}

// Suggested returns the goal of a push or the status of a pop.
func Suggested(s core.Suggestion) string {
	if s.Type == core.SuggestPop {
		return string(s.Status)
	}
	return s.Text
}

// maxSuggested is how much of a suggestion's goal a table shows, in characters.
const maxSuggested = 60

// History returns the last suggestions, at most so many, the newest first.
func History(history []core.Suggestion, most int, now core.Millis) string {
	if len(history) == 0 {
		return "No history.\n"
	}
	var b strings.Builder
	b.WriteString("| made | type | what | confidence | shown | outcome |\n|---|---|---|---|---|---|\n")
	for _, s := range slices.Backward(history[max(0, len(history)-most):]) {
		what := strings.ReplaceAll(core.OneLine(Suggested(s), maxSuggested), "|", "/")
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %s | %s |\n", When(s.CreatedAt), s.Type, what, s.Confidence,
			cmp.Or(When(s.ShownAt), "no"), became(s, now))
	}
	return b.String()
}

// modes are the meanings of the modes of learning.
var modes = map[learn.Mode]string{
	learn.Off:     "flame counts nothing and applies nothing",
	learn.Suggest: "flame proposes these changes and applies none",
	learn.On:      "these changes apply",
}

// Learned returns the lessons from a project, each with its evidence.
func Learned(l autonomy.Lessons) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s=%s: %s. Thresholds move by at most %s (%s).\n", env.Learn, l.Mode, modes[l.Mode], Count(l.Bounds, "point"), env.LearnBounds)
	if l.Damage != "" {
		fmt.Fprintf(&b, "flame does not use its counts: %s. It keeps them and counts nothing more until `flame learned --forget` starts over.\n", l.Damage)
	}
	state := "proposed"
	if l.Mode == learn.On {
		state = "in force"
	}
	for _, t := range l.Thresholds {
		b.WriteString(threshold(t, state))
	}
	for _, t := range l.Titles {
		b.WriteString(title(t, state))
	}
	return b.String()
}

func threshold(t learn.Threshold, state string) string {
	var b strings.Builder
	if t.To == t.From {
		fmt.Fprintf(&b, "\n%sThreshold stays %d: there is no clear evidence\n", t.Type, t.From)
	} else {
		fmt.Fprintf(&b, "\n%sThreshold %d -> %d, %s\n", t.Type, t.From, t.To, state)
	}
	fmt.Fprintf(&b, "  suggestions: %s\n", tally(t.All))
	for _, name := range t.Heuristics() {
		fmt.Fprintf(&b, "    %s: %s\n", cmp.Or(strings.ReplaceAll(name, "_", " "), "of no heuristic"), tally(t.By[name]))
	}
	fmt.Fprintf(&b, "  followed: %s\n", share(t.Share))
	b.WriteString(ruleOf(t.Rule))
	return b.String()
}

func tally(t learn.Tally) string {
	return fmt.Sprintf("acted on %d, done by flame %d, ignored %d, undone %d", t.Acted, t.Done, t.Ignored, t.Undone)
}

func share(s learn.Share) string {
	if s.Of == 0 {
		return "none yet"
	}
	return fmt.Sprintf("%d of %d, likely %.0f to %.0f %%", s.Part, s.Of, 100*s.Low, 100*s.High)
}

func title(t learn.Title, state string) string {
	name := "subagents without a type"
	if t.Type != "" {
		name = "subagents of type " + t.Type
	}
	follows := "nothing follows"
	switch t.Change {
	case learn.Add:
		follows = "a frame at once for titles that match " + t.Pattern + ", " + state
	case learn.Drop:
		follows = "no frame at once for titles that match " + t.Pattern + ", " + state
	}
	return fmt.Sprintf("\n%s: %s\n  frames: kept %d%s, empty %d%s, of these short %d; without a frame %d\n  share: %s\n%s",
		name, follows, t.Frames.Kept, each(t.Frames.KeptMs, t.Frames.Kept), t.Frames.Empty, each(t.Frames.EmptyMs, t.Frames.Empty),
		t.Frames.Short, t.Frames.Skipped, share(t.Share), ruleOf(t.Rule))
}

// each returns the average duration of things.
func each(ms int64, count int) string {
	if count == 0 {
		return ""
	}
	return " (" + Duration(ms/int64(count)) + " each)"
}

func ruleOf(rule string) string { return strings.TrimSuffix("  rule: "+rule+"\n", "  rule: \n") }
