package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/tests/economy/work"
	"flame/tests/model"
)

// compacted ends the name of a row in which the host compacts before the last prompt.
const compacted = " and a compaction"

// keepers are the rows of the table of facts.
var keepers = []variant{
	{host: claudeCode, name: withoutFlame, way: work.Plain},
	{host: claudeCode, name: withoutFlame + compacted, way: work.Plain, compacts: true},
	{host: claudeCode, name: withFlame, flame: true, way: work.Framed},
	{host: claudeCode, name: withFlame + compacted, flame: true, way: work.Framed, compacts: true},
	{host: claudeCode, name: behind, flame: true, way: work.Framed, gateway: true},
	{host: claudeCode, name: behind + compacted, flame: true, way: work.Framed, gateway: true, compacts: true},
	{host: openCode, name: withoutFlame, way: work.Plain},
	{host: openCode, name: withoutFlame + compacted, way: work.Plain, compacts: true},
	{host: openCode, name: withFlame, flame: true, way: work.Framed},
	{host: openCode, name: withFlame + compacted, flame: true, way: work.Framed, compacts: true},
	{host: codexCLI, name: withoutFlame, way: work.Plain},
	{host: codexCLI, name: behindCodex, flame: true, way: work.Framed, env: []string{"FLAME_GATEWAY_FOLD=on"}, gateway: true},
	{host: geminiCLI, name: withoutFlame, way: work.Plain},
	{host: geminiCLI, name: behindGemini, flame: true, way: work.Framed, env: []string{"FLAME_GATEWAY_FOLD=on"}, gateway: true},
}

// Where a fact is at the end.
const (
	verbatim = iota // in the last request
	byCall          // in the answer to one call of flame
	named           // not there, but the request or flame names the place to look
	gone
)

// A memory says where the facts of the work are at the end.
type memory struct {
	Host, Variant string
	Facts         [gone + 1]int
	Chars         int // of the last request
	Rejected      int
}

func (m memory) String() string {
	return fmt.Sprintf("%v of the facts are %v; %d characters, %d requests rejected", m.Facts, columns, m.Chars, m.Rejected)
}

// moreRejected returns an error if more requests were rejected with flame than in the measured row of the same host
// without it.
func moreRejected(rows []memory) (err error) {
	plain := map[string]int{}
	for _, r := range rows {
		if kind, is := strings.CutPrefix(r.Variant, withoutFlame); is {
			plain[r.Host+kind] = r.Rejected
		}
	}
	for _, r := range rows {
		kind := lo.Ternary(strings.HasSuffix(r.Variant, compacted), compacted, "")
		if most, known := plain[r.Host+kind]; known && r.Rejected > most {
			err = errors.Join(err, fmt.Errorf("%s, %s: %d requests were rejected, %d without flame", r.Host, r.Variant, r.Rejected, most))
		}
	}
	return err
}

// keep does the work with facts, has the host compact if the variant says so, and looks for the facts.
func (b bench) keep(ctx context.Context, v variant) (row memory) {
	h := hostOf(v.host)
	w, dialogs := work.Remembered(b.facts, h.bytes/2)
	p := b.prepare(ctx, v, w.Files)
	defer p.close()
	script := w.Script(v.way, speaker{h.tongue, p.Project})
	does := &script[len(script)-1]
	does.Match = nil // after a compaction the first words of the user are others
	if v.compacts && h.compact == "" {
		does.Turns[len(does.Turns)-2].Usage = model.Usage{Input: window, Output: 9}
	}
	p.server.Play(append(model.Script{{Name: "summary", Kind: model.Compaction, Turns: slices.Repeat([]model.Turn{{From: b.summary}}, 9)}}, script...))
	talk, session := h.talk, ""
	if talk == nil {
		talk = func(ctx context.Context, m *machine, session, prompt string, _ map[string]string) string {
			return m.ask(ctx, session, prompt)
		}
	}
	for i, prompt := range w.Prompts {
		if i == len(w.Prompts)-1 && v.compacts && h.compact != "" {
			talk(ctx, p.machine, session, h.compact, dialogs)
		}
		session = talk(ctx, p.machine, session, prompt.Text, dialogs)
	}
	requests := p.server.Requests()
	i := slices.IndexFunc(requests, func(r model.Request) bool {
		return r.Refused == nil && strings.Contains(r.LastUser(), fmt.Sprintf("part %d:", len(w.Prompts)))
	})
	lo.Must0(i >= 0, "no last request: %v", p.judge.Reasons())
	row = memory{Host: v.host, Variant: v.name, Rejected: p.judge.Stats().Rejected}
	for reason, times := range p.judge.Reasons() {
		fmt.Fprintf(b.log, "%s, %s: refused %d times: %s\n", v.host, v.name, times, reason)
	}
	text := said(requests[i])
	row.Chars = len(text)
	b.look(ctx, v, p.machine, text, &row)
	lo.Must0(p.faults.err())
	return row
}

// summary answers a prompt for a summary, which is the user's, beside a short one of the system's in OpenCode.
func (b bench) summary(r model.Request) model.Turn {
	prompt := r.LastUser()
	if len(r.System) < 10_000 {
		prompt += r.System
	}
	return model.Turn{Text: work.Summary(b.facts, prompt, said(r))}
}

// look counts where the facts are.
func (b bench) look(ctx context.Context, v variant, m *machine, text string, row *memory) {
	ids := b.frames(ctx, v, m)
	for _, f := range b.facts {
		if _, can := m.host.tongue[work.Ask]; !can && (f.What == work.Answer || f.What == work.Refusal) {
			continue
		}
		where := gone
		switch {
		case strings.Contains(unquoted(text), f.Words):
			where = verbatim
		case v.flame:
			where = b.called(ctx, m, f, ids)
		case log.MatchString(text):
			where = named
		}
		row.Facts[where]++
		if where != verbatim {
			fmt.Fprintf(b.log, "%s, %s: %s: %s, %q\n", v.host, v.name, columns[where], f.What, f.Words)
		}
	}
}

// log finds the place of a host's log in a request.
var log = regexp.MustCompile(`/\S+\.jsonl`)

// unquoted undoes the quotes of JSON, in which calls are, and flame's escapes.
func unquoted(text string) string {
	return strings.NewReplacer(`\"`, `"`, `\u0026`, "&", "&amp;", "&", "&quot;", `"`, "&apos;", "'", "&lt;", "<", "&gt;", ">").Replace(text)
}

// called looks for a fact with one call: a search, or a reading of the frame in which it came up.
func (b bench) called(ctx context.Context, m *machine, f work.Fact, ids map[string]string) (where int) {
	frame := ""
	for goal, id := range ids {
		if strings.HasPrefix(goal, fmt.Sprintf("Piece %02d", f.Frame)) {
			frame = id
		}
	}
	where = gone
	for _, call := range []struct {
		tool string
		args object
	}{
		{"flame_search", object{"query": f.Ask}},
		{"flame_recall", object{"frameID": frame, "words": f.Ask}},
	} {
		out, err := m.Run(ctx, b.flame, "call", call.tool, string(lo.Must(json.Marshal(call.args))))
		switch {
		case strings.Contains(unquoted(out), f.Words):
			return byCall
		case err == nil && strings.Contains(out, frame):
			where = named
		}
	}
	return where
}

var columns = [...]string{"verbatim", "by one call", "only named", "gone"}

// writeKept prints the table of facts. Rows that were not measured stay as they are in the table before.
func writeKept(w io.Writer, rows []memory, before string) {
	fmt.Fprintf(w, "| | %s | characters | requests rejected |\n|---|---|---|---|---|---|---|\n", strings.Join(columns[:], " | "))
	for _, v := range keepers {
		begins := "| " + hostOf(v.host).title + ", " + v.name + " |"
		i := slices.IndexFunc(rows, func(r memory) bool { return r.Host == v.host && r.Variant == v.name })
		if i >= 0 {
			r := rows[i]
			fmt.Fprintf(w, "%s %d | %d | %d | %d | %d | %d |\n", begins,
				r.Facts[verbatim], r.Facts[byCall], r.Facts[named], r.Facts[gone], r.Chars, r.Rejected)
			continue
		}
		for line := range strings.Lines(before) {
			if strings.HasPrefix(line, begins) {
				fmt.Fprint(w, line)
			}
		}
	}
}
