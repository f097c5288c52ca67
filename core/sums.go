package core

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"
)

// A Sum is what the answers of one day, week, model, host or session used.
type Sum struct {
	Of      string `json:"of"`
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
	sums, last, failed := map[string]Sum{}, "", error(nil)
	for m, err := range messages {
		if failed = err; err != nil {
			break
		}
		if m.Role != RoleAssistant || m.Usage == (Usage{}) {
			continue
		}
		sum := sums[partOf(m, by)]
		if answer := m.Host + m.Session + m.ID; m.ID == "" || answer != last { // an answer may have several lines
			sum.Answers, last = sum.Answers+1, answer
		}
		if m.Usage.CostUSD == 0 {
			m.Usage.Unpriced = m.Usage.Tokens()
		}
		sum.Of, sum.Usage = partOf(m, by), sum.Usage.Add(m.Usage)
		sums[sum.Of] = sum
	}
	return slices.SortedFunc(maps.Values(sums), func(a, b Sum) int {
		if by == "day" || by == "week" {
			return cmp.Compare(a.Of, b.Of)
		}
		return cmp.Or(cmp.Compare(b.CostUSD, a.CostUSD), cmp.Compare(b.Tokens(), a.Tokens()), cmp.Compare(a.Of, b.Of))
	}), failed
}
