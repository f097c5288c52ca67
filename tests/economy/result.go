package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/tests/clients"
	"flame/tests/economy/work"
	"flame/tests/model"
	"flame/tests/model/rules"
)

// A result is the outcome of one variant.
type result struct {
	Host, Variant string

	rules.Stats

	Cached   float64   // as the cache served it
	Uncached float64   // if there were no cache
	Kept     remainder // of the work in the last request
	Twice    int       // bytes that flame repeated

	Miscounted int // difference of flame's count from the model's, in tokens, behind a gateway
}

func (r result) String() string { return fmt.Sprintf("%s tokens, $%.2f", millions(r.Tokens), r.Cached) }

// results are those of one run of the benchmark, in the order of the variants.
type results []result

func (r results) find(host, variant string) (result, bool) {
	for _, one := range r {
		if one.Host == host && one.Variant == variant {
			return one, true
		}
	}
	return result{}, false
}

// base returns the result of the same work without flame.
func (r results) base(host, variant string) (result, bool) {
	for _, work := range []string{unasked, listed} {
		if strings.HasSuffix(variant, work) {
			return r.find(host, withoutFlame+work)
		}
	}
	return r.find(host, withoutFlame)
}

// Prices in USD for a million tokens.
const (
	priceIn      = 3.0
	priceWritten = 3.75
	priceRead    = 0.30
	priceOut     = 15.0
)

func figures(v variant, judge *rules.Judge) result {
	s := judge.Stats()
	dollars := func(tokens int, price float64) float64 { return float64(tokens) * price / 1e6 }
	out := dollars(s.Out, priceOut)
	return result{
		Host: v.host, Variant: v.name, Stats: s,
		Cached:   dollars(s.Uncached, priceIn) + dollars(s.Written, priceWritten) + dollars(s.Read, priceRead) + out,
		Uncached: dollars(s.Tokens, priceIn) + out,
	}
}

// A column of a table shows one figure of a result, beside that of its host without flame, if it
// is known.
type column struct {
	head string
	cell func(r result, base *result) string
}

// costs are the columns of the requests' cost, remains those of the remaining work.
var (
	costs = []column{
		{"requests", func(r result, _ *result) string { return fmt.Sprint(r.Requests) }},
		{"tokens", func(r result, _ *result) string { return millions(r.Tokens) }},
		{"less", compared(fewerTokens)},
		{"cached $", func(r result, _ *result) string { return fmt.Sprintf("%.2f", r.Cached) }},
		{"less", compared(fewerDollars)},
		{"uncached $", func(r result, _ *result) string { return fmt.Sprintf("%.2f", r.Uncached) }},
		{"largest request", func(r result, _ *result) string { return fmt.Sprintf("%.0f k", float64(r.Peak)/1e3) }},
		{"written to the cache", func(r result, _ *result) string { return millions(r.Written) }},
	}
	remains = []column{
		{"goals", func(r result, _ *result) string { return r.Kept.Goals.String() }},
		{"decisions", func(r result, _ *result) string { return r.Kept.Decisions.String() }},
		{"artifacts", func(r result, _ *result) string { return r.Kept.Artifacts.String() }},
		{"summaries", func(r result, _ *result) string { return r.Kept.Summaries.String() }},
		{"user's words", func(r result, _ *result) string { return r.Kept.Words.String() }},
		{"thinking dropped", func(r result, _ *result) string { return fmt.Sprintf("%d of %d", r.Dropped, r.Thinking) }},
		{"requests rejected", func(r result, _ *result) string { return fmt.Sprint(r.Rejected) }},
		{"bytes told again", func(r result, _ *result) string { return fmt.Sprint(r.Twice) }},
	}
)

func compared(figure func(with, without result) float64) func(result, *result) string {
	return func(r result, base *result) string {
		if base == nil {
			return "-"
		}
		return fmt.Sprintf("%.2fx", figure(r, *base))
	}
}

func millions(tokens int) string { return fmt.Sprintf("%.2f M", float64(tokens)/1e6) }

// String returns the number by word, and the number by id.
func (s share) String() string {
	text := fmt.Sprintf("%d of %d", s.ByWord, s.Of)
	if s.ByID > 0 {
		text += fmt.Sprintf(", %d by id", s.ByID)
	}
	return text
}

// write prints the results as two tables of Markdown. Rows that were not measured stay as they are in
// the tables before.
func (r results) write(w io.Writer, before string) {
	tables := strings.Split(before, "\n\n")
	for i, columns := range [][]column{costs, remains} {
		heads, rule := "| |", "|---|"
		for _, c := range columns {
			heads, rule = heads+" "+c.head+" |", rule+"---|"
		}
		fmt.Fprintf(w, "%s\n%s\n", heads, rule)
		var known []string
		if i < len(tables) {
			known = strings.Split(tables[i], "\n")
		}
		for _, v := range variants {
			begins := "| " + hostOf(v.host).title + ", " + v.name + " |"
			if one, ok := r.find(v.host, v.name); ok {
				fmt.Fprintln(w, begins+r.cells(one, columns))
			} else if at := slices.IndexFunc(known, func(row string) bool { return strings.HasPrefix(row, begins) }); at >= 0 {
				fmt.Fprintln(w, known[at])
			}
		}
		fmt.Fprintln(w)
	}
}

// cells returns the figures of a row.
func (r results) cells(one result, columns []column) (row string) {
	var base *result
	if without, ok := r.base(one.Host, one.Variant); ok {
		base = &without
	}
	for _, c := range columns {
		row += " " + c.cell(one, base) + " |"
	}
	return row
}

// A share counts the things that a request contains by their words, and the others that it names
// by the id of their frame, with which an agent can read them.
type share struct {
	Of, ByWord, ByID int
}

// A remainder is the rest of the work in a request.
type remainder struct {
	Goals, Decisions, Artifacts, Summaries share
	Words                                  share // the user's
}

// remaining looks for all of the work in the text of a request. ids are the ids of flame's frames
// by their goals.
func remaining(w work.Work, text string, ids map[string]string) remainder {
	var r remainder
	look := func(in *share, goal string, things ...string) {
		id := ids[goal]
		for _, thing := range things {
			in.Of++
			switch {
			case strings.Contains(text, thing):
				in.ByWord++
			case id != "" && strings.Contains(text, id):
				in.ByID++
			}
		}
	}
	for _, prompt := range w.Prompts {
		look(&r.Words, "", strings.Split(prompt.Text, "\n")...)
		for _, p := range prompt.Pieces {
			look(&r.Goals, p.Goal, p.Goal)
			look(&r.Decisions, p.Goal, p.Decisions...)
			look(&r.Artifacts, p.Goal, p.Artifacts...)
			look(&r.Summaries, p.Goal, p.Summary)
		}
	}
	return r
}

// frames returns the ids of flame's frames by their goals.
func (b bench) frames(ctx context.Context, v variant, m *machine) map[string]string {
	ids := map[string]string{}
	if !v.flame {
		return ids
	}
	out := lo.Must(m.Run(ctx, b.flame, "call", "flame_get_state"))
	var state struct {
		Frames map[string]struct{ SessionID, Goal string }
	}
	lo.Must0(json.Unmarshal([]byte(out), &state))
	for _, f := range state.Frames {
		ids[f.Goal] = f.SessionID
	}
	return ids
}

// told matches flame's texts in a conversation.
var told = regexp.MustCompile(`(?s)<flame-(?:context|changes)\b.*?</flame-(?:context|changes)>`)

// twice returns the number of bytes that flame repeated in the same conversation, line by line.
func twice(r model.Request) (bytes int) {
	known := map[string]bool{}
	for _, text := range told.FindAllString(r.Everything(), -1) {
		lines := strings.Split(text, "\n")
		for _, line := range lines {
			if known[line] && strings.Contains(strings.TrimSpace(line), " ") { // no bare element
				bytes += len(line) + 1
			}
		}
		for _, line := range lines {
			known[line] = true
		}
	}
	return bytes
}

// A variant is one way of doing the work, a row of the table.
type variant struct {
	host, name string
	flame      bool // it is set up
	way        work.Way
	env        []string
	gateway    bool // flame starts the host, behind a gateway
	compacts   bool // the host, before the last prompt
}

// Names of hosts and variants with goals, or for comparisons.
const (
	openCode     = clients.OpenCode
	claudeCode   = clients.ClaudeCode
	codexCLI     = clients.Codex
	geminiCLI    = clients.Gemini
	withoutFlame = "no flame"
	unasked      = " and a prompt a piece"   // ends the name of a row whose agent never calls flame
	listed       = " and a list of 20 items" // the same, under one prompt
	withFlame    = "flame"
	natively     = "each piece a native subagent"
	behind       = "flame claude"
	behindTrim   = "FLAME_TRIM=old flame claude"
	behindCodex  = "FLAME_GATEWAY_FOLD=on flame codex"
	behindGemini = "FLAME_GATEWAY_FOLD=on flame gemini"
)

// todoTools has Claude Code offer its list tool, loaded at once.
var todoTools = []string{"ENABLE_TOOL_SEARCH=false", "CLAUDE_CODE_ENABLE_TODO_TOOLS=1", "CLAUDE_CODE_ENABLE_TASKS=0"}

// variants are all measured variants.
var variants = []variant{
	{host: openCode, name: withoutFlame, way: work.Plain},
	{host: openCode, name: withFlame, flame: true, way: work.Framed},
	{host: openCode, name: "FLAME_FOLD=off", flame: true, way: work.Framed, env: []string{"FLAME_FOLD=off"}},
	{host: openCode, name: "FLAME_TOOLS=all", flame: true, way: work.Framed, env: []string{"FLAME_TOOLS=all"}},
	{host: openCode, name: "FLAME_TRIM=superseded", flame: true, way: work.Framed, env: []string{"FLAME_TRIM=superseded"}},
	{host: openCode, name: "FLAME_TRIM=old", flame: true, way: work.Framed, env: []string{"FLAME_TRIM=old"}},
	{host: openCode, name: natively, flame: true, way: work.Natively},
	{host: openCode, name: withoutFlame + unasked, way: work.Asked},
	{host: openCode, name: withFlame + unasked, flame: true, way: work.Asked},
	{host: openCode, name: withoutFlame + listed, way: work.Listed},
	{host: openCode, name: withFlame + listed, flame: true, way: work.Listed},
	{host: claudeCode, name: withoutFlame, way: work.Plain},
	{host: claudeCode, name: withFlame, flame: true, way: work.Framed},
	{host: claudeCode, name: behind, flame: true, way: work.Framed, gateway: true},
	{host: claudeCode, name: behindTrim, flame: true, way: work.Framed, env: []string{"FLAME_TRIM=old"}, gateway: true},
	{host: claudeCode, name: natively, flame: true, way: work.Natively},
	{host: claudeCode, name: withoutFlame + unasked, way: work.Asked},
	{host: claudeCode, name: behind + unasked, flame: true, way: work.Asked, gateway: true},
	{host: claudeCode, name: withoutFlame + listed, way: work.Listed, env: todoTools},
	{host: claudeCode, name: behind + listed, flame: true, way: work.Listed, env: todoTools, gateway: true},
	{host: codexCLI, name: withoutFlame, way: work.Plain},
	{host: codexCLI, name: withFlame, flame: true, way: work.Framed},
	{host: codexCLI, name: behindCodex, flame: true, way: work.Framed, env: []string{"FLAME_GATEWAY_FOLD=on"}, gateway: true},
	{host: geminiCLI, name: withoutFlame, way: work.Plain},
	{host: geminiCLI, name: withFlame, flame: true, way: work.Framed},
	{host: geminiCLI, name: behindGemini, flame: true, way: work.Framed, env: []string{"FLAME_GATEWAY_FOLD=on"}, gateway: true},
}
