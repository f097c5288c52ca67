package fold_test

import (
	"fmt"
	"testing"

	"flame/core"
	"flame/core/fold"
)

// longHistory is one of n messages in frames of ten rounds, each entered and left by calls.
func longHistory(n int) (history []fold.Message, frames []fold.Frame) {
	for i := range n {
		m := fold.Message{Name: fmt.Sprint("m", i), Role: core.RoleAssistant, Time: core.Millis(i + 1), Tokens: 900, Text: "So it goes on."}
		id := fmt.Sprint("frame-", i/10)
		switch i % 10 {
		case 0:
			m.Role = core.RoleUser
		case 1:
			m.Moves = []fold.Move{{Kind: fold.Enter, Frame: id, First: true}}
		case 9:
			m.Moves = []fold.Move{{Kind: fold.Leave, Frame: id}}
			frames = append(frames, fold.Frame{Frame: core.Frame{ID: id, Parent: "root", Status: core.Completed, EndedAt: m.Time}})
		default:
			m.Calls = []fold.Call{{ID: m.Name, Key: fmt.Sprint("read ", i%7), Tokens: 800}}
		}
		history = append(history, m)
	}
	return history, frames
}

// amended is a request of a history of n messages, all of which was folded before but for
// the last frame.
func amended(n int) func() {
	history, frames := longHistory(n)
	var ledger fold.Ledger
	for i, f := range fold.Find(history[:n-10], frames, ledger, fold.Terms{Cold: true}) {
		f.Edition = i + 1
		ledger.Folds = append(ledger.Folds, f)
	}
	return func() {
		fold.Find(history, frames, ledger, fold.Terms{})
		fold.Trim(history, ledger, fold.TrimOld, fold.Terms{})
		ledger.Amend(history, unnoted)
	}
}

func BenchmarkRequest(b *testing.B) {
	for _, messages := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(messages, " messages"), func(b *testing.B) {
			request := amended(messages)
			for b.Loop() {
				request()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(messages), "ns/message")
		})
	}
}
