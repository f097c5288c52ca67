package core

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/samber/lo"
)

// A Sum is what the answers of one day, week, model, host or session used.
type Sum struct {
	Of      string `json:"of"`
	Asked   string `json:"asked,omitempty"` // of a session: the first words of the user, cut
	Answers int64  `json:"answers"`
	Usage
}

// SumParts returns what Of can be. Days are those of this machine, and weeks those of ISO 8601.
func SumParts() []string { return []string{"day", "week", "model", "host", "session"} }

func partOf(m Message, by string) string {
	year, week := m.Time.Time().Local().ISOWeek()
	return map[string]string{
		"day": m.Time.Time().Local().Format(time.DateOnly), "week": fmt.Sprintf("%d-W%02d", year, week),
		"model": m.Model, "host": m.Host, "session": m.Session,
	}[by]
}

// SumsOf adds up the answers in logs by one of SumParts: days and weeks in their order, others by their cost. An
// error of a log ends it; the sums have what came before.
func SumsOf(messages iter.Seq2[Message, error], by string) ([]Sum, error) {
	sums, asked, last, failed := map[string]Sum{}, map[string]string{}, "", error(nil)
	for m, err := range messages {
		if failed = err; err != nil {
			break
		}
		if by == "session" && m.Role == RoleUser && !m.Synthetic && asked[m.Session] == "" {
			words, _ := lo.Find(m.Parts, func(p Part) bool { return p.Type == PartText && strings.TrimSpace(p.Text) != "" })
			asked[m.Session] = OneLine(words.Text, 60)
		}
		if m.Role != RoleAssistant || m.Usage == (Usage{}) {
			continue
		}
		part := partOf(m, by)
		sum := sums[part]
		if answer := m.Host + m.Session + m.ID; m.ID == "" || answer != last { // an answer may have several lines
			sum.Answers, last = sum.Answers+1, answer
		}
		if m.Usage.CostUSD == 0 {
			m.Usage.Unpriced = m.Usage.Tokens()
		}
		sum.Of, sum.Asked, sum.Usage = part, asked[m.Session], sum.Usage.Add(m.Usage)
		sums[part] = sum
	}
	return slices.SortedFunc(maps.Values(sums), func(a, b Sum) int {
		if by == "day" || by == "week" {
			return cmp.Compare(a.Of, b.Of)
		}
		return cmp.Or(cmp.Compare(b.CostUSD, a.CostUSD), cmp.Compare(b.Tokens(), a.Tokens()), cmp.Compare(a.Of, b.Of))
	}), failed
}
