package cli

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/samber/lo"

	"flame/cli/app"
	"flame/core"
	"flame/render"
	"flame/transcripts"
)

// A sum is what the answers of one day, week, model, host or session used.
type sum struct {
	Of      string `json:"of"`
	Asked   string `json:"asked,omitempty"` // of a session: the first words of the user, cut
	Answers int64  `json:"answers"`
	core.Usage
}

// sumParts returns what Of can be. Days are those of this machine, and weeks those of ISO 8601.
func sumParts() []string { return []string{"day", "week", "model", "host", "session"} }

func partOf(m core.Message, by string) string {
	year, week := m.Time.Time().Local().ISOWeek()
	return map[string]string{
		"day": m.Time.Time().Local().Format(time.DateOnly), "week": fmt.Sprintf("%d-W%02d", year, week),
		"model": m.Model, "host": m.Host, "session": m.Session,
	}[by]
}

// sumsOf adds up the answers in logs by one of sumParts: days and weeks in their order, others by their cost. An
// error of a log ends it; the sums have what came before.
func sumsOf(messages iter.Seq2[core.Message, error], by string) ([]sum, error) {
	sums, asked, last, failed := map[string]sum{}, map[string]string{}, "", error(nil)
	for m, err := range messages {
		if failed = err; err != nil {
			break
		}
		if by == "session" && m.Role == core.RoleUser && !m.Synthetic && asked[m.Session] == "" {
			words, _ := lo.Find(m.Parts, func(p core.Part) bool { return p.Type == core.PartText && strings.TrimSpace(p.Text) != "" })
			asked[m.Session] = core.OneLine(words.Text, 60)
		}
		if m.Role != core.RoleAssistant || m.Usage == (core.Usage{}) {
			continue
		}
		part := partOf(m, by)
		of := sums[part]
		if answer := m.Host + m.Session + m.ID; m.ID == "" || answer != last { // an answer may have several lines
			of.Answers, last = of.Answers+1, answer
		}
		if m.Usage.CostUSD == 0 {
			m.Usage.Unpriced = m.Usage.Tokens()
		}
		of.Of, of.Asked, of.Usage = part, asked[m.Session], of.Usage.Add(m.Usage)
		sums[part] = of
	}
	return slices.SortedFunc(maps.Values(sums), func(a, b sum) int {
		if by == "day" || by == "week" {
			return cmp.Compare(a.Of, b.Of)
		}
		return cmp.Or(cmp.Compare(b.CostUSD, a.CostUSD), cmp.Compare(b.Tokens(), a.Tokens()), cmp.Compare(a.Of, b.Of))
	}), failed
}

// printSums prints what the sessions of logs used, by one of sumParts.
func printSums(ctx context.Context, a *app.App, logs []transcripts.Log, by string) error {
	var unread []string
	sums, err := sumsOf(transcripts.Readable(ctx, &unread, logs...), by)
	noteUnread(a, unread)
	return a.Answer(sums, sumsText(sums, by, a), err)
}

// sumsText lists what answers used, and that in all.
func sumsText(sums []sum, by string, a *app.App) string {
	rows, all := []string{strings.ToUpper(by) + "\tANSWERS\tIN\tOUT\tCACHE READ\tWRITTEN\tCOST"}, sum{Of: "in all"}
	row := func(name string, s sum) {
		rows = append(rows, strings.TrimSuffix(strings.Join([]string{name, core.Amount(s.Answers), core.Amount(s.TokensIn), core.Amount(s.TokensOut),
			core.Amount(s.CacheRead), core.Amount(s.CacheWritten), core.Cost(s.Usage), core.OneLine(s.Asked, 60)}, "\t"), "\t"))
	}
	for _, s := range sums {
		name := cmp.Or(core.OneLine(s.Of, 60), "not known")
		if by == "host" {
			name = a.Hosts.Title(s.Of)
		}
		row(name, s)
		all.Answers, all.Usage = all.Answers+s.Answers, all.Usage.Add(s.Usage)
	}
	row(all.Of, all)
	return render.Table(a.Out.Width(), rows)
}
