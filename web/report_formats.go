package web

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"flame/board"
	"flame/core"
	"flame/core/outline"
	"flame/render"
)

// A branch is a row with those below it.
type branch struct {
	board.Row
	below []*branch
}

// branches returns the rows as trees. What has no parent in the report is at the top.
func (r Report) branches() (tops []*branch) {
	all := map[string]*branch{}
	for _, row := range r.Board.Frames {
		all[row.ID] = &branch{Row: row}
	}
	rooted := map[string]bool{}
	for _, row := range r.Board.Frames {
		if up := all[row.Parent]; up != nil && isRooted(row.ID, all, rooted) {
			up.below = append(up.below, all[row.ID])
		} else {
			tops = append(tops, all[row.ID])
		}
	}
	return tops
}

// isRooted reports whether what is above a frame ends, unlike a cycle. It notes that of
// each frame on the way, so that none is asked for twice.
func isRooted(id string, all map[string]*branch, noted map[string]bool) bool {
	var way []string
	ends := true
	for at := all[id]; at != nil; at = all[at.Parent] {
		known, isNoted := noted[at.ID]
		if isNoted {
			ends = known
			break
		}
		noted[at.ID] = false // which stays if this leads here again
		way = append(way, at.ID)
	}
	for _, id := range way {
		noted[id] = ends
	}
	return ends
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
	for _, top := range r.branches() {
		r.list(&b, top, 0)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// deepest is how far lists are nested: Markdown takes more for code.
const deepest = 20

// list writes a frame and those below it.
func (r Report) list(b *strings.Builder, at *branch, depth int) {
	indent := strings.Repeat("  ", min(depth, deepest))
	fmt.Fprintf(b, "%s- %s **%s** (%s)\n", indent, outline.Icon(at.Status), escaped(cmp.Or(at.Goal, at.ID)), strings.Join(r.facts(at.Row), ", "))
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
	for _, child := range at.below {
		r.list(b, child, depth+1)
	}
}

// facts are what is told of a frame beside its goal.
func (r Report) facts(row board.Row) []string {
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
	return append(facts, "`"+strings.ReplaceAll(core.OneLine(row.ID, 0), "`", "")+"`")
}

// escaped returns a text that Markdown shows as it is.
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
	Shared   shared    `json:"shared"`
	Profiles []profile `json:"profiles"`
}

type shared struct {
	Frames []named `json:"frames"`
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

// speedscope returns the report for that program: by clock, a profile for each session,
// in which one thing is done after the other, and by tokens and cost.
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
	var walk func(at *branch, way []int)
	walk = func(at *branch, way []int) {
		if len(way) < deepestSample {
			way = append(way, index[at.ID])
		}
		tokens.sample(way, float64(at.Self.Tokens()))
		cost.sample(way, at.Self.CostUSD*1e6)
		for _, child := range at.below {
			walk(child, way)
		}
	}
	for _, top := range r.branches() {
		walk(top, nil)
		clocks.begin(top)
	}
	s.Profiles = append(clocks.profiles(), tokens, cost)
	return s
}

// deepestSample is how many frames a sample names at most: each names all above it, so that
// a chain would take the square of its length. What is used further down counts for the
// last one.
const deepestSample = 200

func (p *profile) sample(way []int, weight float64) {
	if weight > 0 {
		p.Samples, p.Weights = append(p.Samples, slices.Clone(way)), append(p.Weights, weight)
		p.EndValue += weight
	}
}

// clocks are the profiles by clock, by session.
type clocks struct {
	index map[string]int
	now   core.Millis
	of    map[string]*profile
	order []string
}

// begin adds a frame that nothing of its own session is above.
func (c *clocks) begin(at *branch) {
	p := c.of[at.Session]
	if p == nil {
		p = &profile{Type: "evented", Name: strings.TrimSpace(cmp.Or(at.Agent, at.Host, at.Machine) + " " + at.Session), Unit: "milliseconds"}
		c.of[at.Session] = p
		c.order = append(c.order, at.Session)
	}
	c.add(p, at, p.EndValue, float64(c.now))
}

// add adds a frame and those below it of the same session, none before from or after
// until, nor before what is in the profile: it knows no two things at one time.
func (c *clocks) add(p *profile, at *branch, from, until float64) {
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
	for _, child := range at.below {
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

func (c *clocks) profiles() []profile {
	all := []profile{}
	for _, session := range c.order {
		if p := c.of[session]; len(p.Events) > 0 {
			all = append(all, *p)
		}
	}
	return all
}
