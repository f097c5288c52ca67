package web

import (
	"cmp"
	"encoding/json"
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
	HTML       ReportFormat = "html"
	Markdown   ReportFormat = "md"
	Speedscope ReportFormat = "speedscope"
)

// Write writes the report as a self-contained file.
func (r Report) Write(w io.Writer, format ReportFormat) error {
	switch format {
	case Markdown:
		return r.markdown(w)
	case Speedscope:
		return json.NewEncoder(w).Encode(r.speedscope())
	}
	return r.html(w)
}

// markdown writes the report as nested lists.
func (r Report) markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n", escaped(core.OneLine(filepath.Base(r.Root), 0)), r.Board.Now.Time().Format("2006-01-02 15:04 MST"))
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
			if text = escaped(core.OneLine(text, 0)); text != "" {
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
		facts = append(facts, escaped(cmp.Or(row.Agent, row.Host)))
	}
	if row.Machine != "" {
		facts = append(facts, escaped("@"+core.OneLine(row.Machine, 0)))
	}
	if row.From != 0 {
		facts = append(facts, render.Duration(int64(cmp.Or(row.Until, r.Board.Now)-row.From)))
	}
	if row.Total.CostUSD > 0 {
		facts = append(facts, render.Money(row.Total.CostUSD))
	}
	if n := row.Total.Tokens(); n > 0 {
		facts = append(facts, render.Count(n, "token"))
	}
	facts = append(facts, "`"+strings.ReplaceAll(core.OneLine(row.ID, 0), "`", "")+"`")
	return fmt.Sprintf("- %s **%s** (%s)\n", outline.Icon(row.Status), escaped(cmp.Or(row.Goal, row.ID)), strings.Join(facts, ", "))
}

// escaped returns a text that Markdown shows unchanged.
func escaped(text string) string {
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune("\\`*_{}[]<>#+-!|~&", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// A scope is a file of speedscope (its file-format-schema.json).
type scope struct {
	Schema   string    `json:"$schema"`
	Exporter string    `json:"exporter"`
	Name     string    `json:"name"`
	Profiles []profile `json:"profiles"`
	Shared   struct {
		Frames []named `json:"frames"`
	} `json:"shared"`
}

type named struct {
	Name string `json:"name"`
}

// A profile is by clock, with events, or by amounts, with samples and their weights.
type profile struct {
	Type       string    `json:"type"`
	Name       string    `json:"name"`
	Unit       string    `json:"unit"`
	StartValue float64   `json:"startValue"`
	EndValue   float64   `json:"endValue"`
	Events     []moment  `json:"events,omitempty"`
	Samples    [][]int   `json:"samples,omitempty"`
	Weights    []float64 `json:"weights,omitempty"`
}

// A moment opens a frame or closes it.
type moment struct {
	Type  string  `json:"type"` // O or C
	Frame int     `json:"frame"`
	At    float64 `json:"at"` // ms
}

// speedscope returns the report for speedscope: a profile by clock for each session, whose frames
// do not overlap, and profiles by tokens and by cost.
func (r Report) speedscope() scope {
	s := scope{Schema: "https://www.speedscope.app/file-format-schema.json", Exporter: "flame", Name: filepath.Base(r.Root)}
	s.Shared.Frames = []named{}
	index := map[string]int{}
	for i, row := range r.Board.Frames {
		index[row.ID] = i
		s.Shared.Frames = append(s.Shared.Frames, named{cmp.Or(row.Goal, row.ID)})
	}
	tokens, cost := profile{Type: "sampled", Name: "tokens", Unit: "none"}, profile{Type: "sampled", Name: "cost (millionths of a dollar)", Unit: "none"}
	clocks := clocks{index: index, now: r.Board.Now, of: map[string]*profile{}}
	var walk func(at *board.Node, way []int)
	walk = func(at *board.Node, way []int) {
		if len(way) < deepestSample {
			way = append(way, index[at.ID])
		}
		tokens.sample(way, float64(at.Self.Tokens()))
		cost.sample(way, at.Self.CostUSD*1e6)
		for _, child := range at.Below {
			walk(child, way)
		}
	}
	for _, top := range board.Trees(r.Board.Frames) {
		walk(top, nil)
		clocks.begin(top)
	}
	for _, p := range append(clocks.all, &tokens, &cost) {
		if p.Type == "sampled" || len(p.Events) > 0 {
			s.Profiles = append(s.Profiles, *p)
		}
	}
	return s
}

// deepestSample is how many frames a sample names at most. Each sample names all frames above it,
// so the size of a chain would grow with the square of its length. The usage of deeper frames
// counts for the last frame named.
const deepestSample = 200

func (p *profile) sample(way []int, weight float64) {
	if weight > 0 {
		p.Samples, p.Weights = append(p.Samples, slices.Clone(way)), append(p.Weights, weight)
		p.EndValue += weight
	}
}

// clocks are the profiles by clock, one for each session.
type clocks struct {
	index map[string]int
	now   core.Millis
	of    map[string]*profile // by session
	all   []*profile
}

// begin adds a frame whose session has no frame above it.
func (c *clocks) begin(at *board.Node) {
	p := c.of[at.Session]
	if p == nil {
		p = &profile{Type: "evented", Name: strings.TrimSpace(cmp.Or(at.Agent, at.Host, at.Machine) + " " + at.Session), Unit: "milliseconds"}
		c.of[at.Session], c.all = p, append(c.all, p)
	}
	c.add(p, at, p.EndValue, float64(c.now))
}

// add adds a frame and those below it of the same session. All their times lie between from and
// until, and after the frames already in the profile: frames of a profile cannot overlap.
func (c *clocks) add(p *profile, at *board.Node, from, until float64) {
	begun := at.From != 0
	if begun {
		from = min(max(float64(at.From), from), until)
		until = max(from, min(float64(cmp.Or(at.Until, c.now)), until))
		if len(p.Events) == 0 {
			p.StartValue = from
		}
		p.Events = append(p.Events, moment{"O", c.index[at.ID], from})
		p.EndValue = from
	}
	for _, child := range at.Below {
		if child.Session == at.Session && begun {
			c.add(p, child, max(from, p.EndValue), until)
		} else {
			c.begin(child)
		}
	}
	if begun {
		until = max(until, p.EndValue)
		p.Events = append(p.Events, moment{"C", c.index[at.ID], until})
		p.EndValue = until
	}
}
