package converge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
)

// A Delta is one change that an output requests.
type Delta struct {
	Op     string          `json:"op"`     // add, replace or remove
	Target string          `json:"target"` // "file:src/a.go", "decision:database", "answer" …
	Value  json.RawMessage `json:"value"`  // as in Item
	Source string          `json:"source_subagent_id"`
}

// Render writes r in a format, or in the requested one if format is empty:
// canonical JSON of all of r, Markdown for people, or the deltas as a JSON
// list, which is empty while conflicts wait. Equal results give equal bytes.
func (r Result) Render(format Format) ([]byte, error) {
	if format == "" {
		format = r.Format
	}
	switch format {
	case JSON:
		return canonical(r), nil
	case DeltaBatch:
		return canonical(r.Deltas()), nil
	case Markdown:
		return []byte(r.markdown()), nil
	}
	return nil, core.CheckEnum("output_format", format)
}

// Deltas returns the output as a list of changes, part by part, or none while
// conflicts wait.
func (r Result) Deltas() []Delta {
	deltas := []Delta{}
	for _, part := range parts {
		for _, item := range r.Output[part.target] {
			place := part.target
			if item.Name != "" {
				place += ":" + item.Name
			}
			deltas = append(deltas, Delta{item.Op, place, item.Value, item.Source})
		}
	}
	return deltas
}

// A page is a Result in Markdown under construction. What agents wrote is only
// in code spans and fences, so that it cannot pose as the page's own words.
type page struct{ strings.Builder }

func (r Result) markdown() string {
	var p page
	fmt.Fprintf(&p, "# Converged by %s: %s\n\n%s.\n", r.Strategy, spans(r.Inputs), r.Rationale)
	for at, part := range parts {
		if at > int(basePart) || disputed(r.Conflicts, part.kind) { // what all began from, and that they ended, says nothing
			p.items(part.title, r.Output[part.target], part.kind)
		}
	}
	for _, c := range r.Conflicts {
		p.conflict(c)
	}
	for _, d := range r.Differences {
		fmt.Fprintf(&p, "\n## Not compared: %s\n\n", span(d.About))
		for _, side := range d.Sides {
			fmt.Fprintf(&p, "- %s", spans(side.SubagentIDs))
			p.value(side.Says)
		}
	}
	if len(r.Ignored) > 0 {
		p.WriteString("\n## Not used\n\n")
	}
	for _, i := range r.Ignored {
		fmt.Fprintf(&p, "- %s (%s): %s", span(i.SubagentID), span(string(i.Outcome)), i.Reason)
		p.value(i.Excerpt)
	}
	return p.String()
}

func disputed(conflicts []Conflict, kind Kind) bool {
	return slices.ContainsFunc(conflicts, func(c Conflict) bool { return c.Kind == kind })
}

func (p *page) items(title string, items []Item, kind Kind) {
	if len(items) > 0 {
		fmt.Fprintf(p, "\n## %s\n\n", title)
	}
	for _, item := range items {
		head := lo.Compact([]string{lo.Ternary(item.Op == opAdd || item.Name == "", "", item.Op), span(item.Name)})
		source := "by " + span(item.Source)
		if len(item.AgreedBy) > 0 {
			source += ", as " + spans(item.AgreedBy)
		}
		fmt.Fprintf(p, "- %s", strings.Join(append(head, source), " "))
		p.value(shown(item.Value, kind))
	}
}

func (p *page) conflict(c Conflict) {
	fmt.Fprintf(p, "\n## Conflict %s\n\n", span(c.ID))
	if c.Resolved() {
		fmt.Fprintf(p, "Resolved by %s: %s holds. ", c.Resolution, span(c.Winner))
	} else {
		p.WriteString("Waits for review. ")
	}
	fmt.Fprintf(p, "%s.\n\n", c.Rationale)
	for _, s := range c.Sides {
		fmt.Fprintf(p, "- %s, %s", strings.TrimSpace(span(s.SubagentID)+" "+span(s.Task)), s.CompletedAt.Time().Format("2006-01-02 15:04:05.000 UTC"))
		if s.Confidence != nil {
			fmt.Fprintf(p, ", confidence %v", *s.Confidence)
		}
		fmt.Fprintf(p, ", hash %s", lo.CoalesceOrEmpty(span(lo.Substring(s.ValueHash, 0, hashShown)), "none"))
		p.value(s.Excerpt)
	}
}

// hashShown is how many characters of a hash suffice to tell it from others.
const hashShown = 12

// longSpan is the length in bytes from which text gets its own lines.
const longSpan = 100

// value ends the line of a list item with text, or with a fenced block below it
// if text is long or has several lines.
func (p *page) value(text string) {
	text = strings.TrimSpace(core.Printable(text))
	switch {
	case text == "":
		p.WriteString("\n")
	case len(text) < longSpan && !strings.Contains(text, "\n"):
		fmt.Fprintf(p, ": %s\n", span(text))
	default:
		p.block(text)
	}
}

func (p *page) block(text string) {
	fence := core.CodeFence(text, 3)
	fmt.Fprintf(p, ":\n\n  %s\n", fence)
	for line := range strings.SplitSeq(text, "\n") {
		p.WriteString(strings.TrimRight("  "+line, " ") + "\n")
	}
	fmt.Fprintf(p, "  %s\n", fence)
}

// shown returns a value for people: text as is, for a file what distinguishes
// its content, anything else as JSON.
func shown(value json.RawMessage, kind Kind) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	var change Change
	if kind == KindFile && json.Unmarshal(value, &change) == nil {
		return lo.CoalesceOrEmpty(change.Text, lo.Substring(change.Hash, 0, hashShown), "deleted")
	}
	return string(value)
}

// span returns text as a code span on one line, or "" for none.
func span(text string) string {
	if text = core.OneLine(text, 0); text == "" {
		return ""
	}
	ticks := core.CodeFence(text, 1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return ticks + text + ticks
}

func spans(texts []string) string {
	return strings.Join(lo.Map(texts, func(text string, _ int) string { return span(text) }), ", ")
}
