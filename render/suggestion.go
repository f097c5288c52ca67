package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/op"
)

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
func History(history []core.Suggestion, most int) string {
	if len(history) == 0 {
		return "No history.\n"
	}
	var b strings.Builder
	b.WriteString("| made | type | what | confidence | acted on |\n|---|---|---|---|---|\n")
	for _, s := range slices.Backward(history[max(0, len(history)-most):]) {
		what := strings.ReplaceAll(core.OneLine(Suggested(s), maxSuggested), "|", "/")
		acted := "no"
		if s.ActedAt != 0 {
			acted = Time(s.ActedAt, 0) + lo.Ternary(s.Done, ", by flame", "")
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %s |\n", Time(s.CreatedAt, 0), s.Type, what, s.Confidence, acted)
	}
	return b.String()
}

// TitlePattern proposes a pattern for the titles of subagents.
func TitlePattern(p core.TitlePattern) string {
	return fmt.Sprintf("Proposed: %s with addPattern %s gives subagents of type %s their frames at once; %d of %d were worth one.",
		op.SubagentConfig, Quote(p.Pattern), p.Type, p.Framed, p.Seen)
}
