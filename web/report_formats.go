package web

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/outline"
	"flame/render"
	"flame/render/board"
)

// A ReportFormat is a format in which a report is written.
type ReportFormat string

// The formats of reports.
const (
	HTML     ReportFormat = "html"
	Markdown ReportFormat = "md"
)

// Write writes the report as a self-contained file.
func (r Report) Write(w io.Writer, format ReportFormat) error {
	if format == Markdown {
		return r.markdown(w)
	}
	return r.html(w)
}

// markdown writes the report as nested lists.
func (r Report) markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n", escaped(filepath.Base(r.Root)), render.Time(r.Now, 0))
	counts := map[core.Status]int{}
	var used core.Usage
	for _, row := range r.Board.Frames {
		counts[row.Status]++
		used = used.Add(row.Self)
	}
	fmt.Fprintf(&b, "%s. %s\n\n", render.Counts(counts), render.Usage(used))
	blocked, failed := r.first(&b, "Blocked", core.Blocked), r.first(&b, "Failed", core.Failed)
	if blocked || failed {
		b.WriteString("All:\n\n")
	}
	for _, top := range board.Trees(r.Board.Frames) {
		r.list(&b, top, 0)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// maxFirst bounds the frames that the report names before the tree.
const maxFirst = 10

// first names the frames with a status that ended last, and reports whether there are any.
func (r Report) first(b *strings.Builder, title string, status core.Status) bool {
	rows := lo.Filter(r.Board.Frames, func(row board.Row, _ int) bool { return row.Status == status && !row.Archived })
	if len(rows) == 0 {
		return false
	}
	slices.SortStableFunc(rows, func(x, y board.Row) int { return cmp.Compare(y.Until, x.Until) })
	fmt.Fprintf(b, "%s:\n\n", title)
	for _, row := range rows[:min(len(rows), maxFirst)] {
		b.WriteString(r.entry(row))
	}
	if more := len(rows) - maxFirst; more > 0 {
		fmt.Fprintf(b, "- and %d more\n", more)
	}
	b.WriteString("\n")
	return true
}

// deepest bounds the nesting of lists: Markdown takes deeper ones for code.
const deepest = 20

// list writes a frame and those below it.
func (r Report) list(b *strings.Builder, at *board.Node, depth int) {
	indent := strings.Repeat("  ", min(depth, deepest))
	b.WriteString(indent + r.entry(at.Row))
	frame := r.Texts[at.ID]
	for _, part := range []struct {
		name  string
		texts []string
	}{
		{"", []string{frame.Summary}}, {"Decision: ", frame.Decisions}, {"Artifact: ", frame.Artifacts}, {"No longer valid: ", []string{frame.InvalidationReason}},
	} {
		for _, text := range part.texts {
			if text = escaped(text); text != "" {
				fmt.Fprintf(b, "%s  - %s%s\n", indent, part.name, text)
			}
		}
	}
	for _, child := range at.Below {
		r.list(b, child, depth+1)
	}
}

// entry returns the goal of a frame and the other facts about it as an entry of a list.
func (r Report) entry(row board.Row) string {
	facts := []string{string(row.Status)}
	if row.Agent != "" || row.Host != "" {
		facts = append(facts, escaped(cmp.Or(row.Agent, r.Hosts[row.Host], row.Host)))
	}
	if row.Machine != "" {
		facts = append(facts, escaped("@"+row.Machine))
	}
	if row.From != 0 {
		facts = append(facts, core.Span(row.Took(r.Now)))
	}
	if row.Total.CostUSD > 0 {
		facts = append(facts, core.Cost(row.Total))
	}
	if n := row.Total.Tokens(); n > 0 {
		facts = append(facts, core.Tokens(n))
	}
	facts = append(facts, "`"+strings.ReplaceAll(core.OneLine(row.ID, 0), "`", "")+"`")
	return fmt.Sprintf("- %s **%s** (%s)\n", outline.Icon(row.Status), escaped(cmp.Or(row.Goal, row.ID)), strings.Join(facts, ", "))
}

// escaped returns a text that Markdown shows unchanged, as one line.
func escaped(text string) string {
	var b strings.Builder
	for _, r := range core.OneLine(text, 0) {
		if strings.ContainsRune("\\`*_{}[]<>#+-!|~&", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
