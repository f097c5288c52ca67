package fold_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/core"
	"flame/core/fold"
	"flame/tests/cases"
)

// A sending is one request of a conversation whose frame A has ended; each message has
// one token.
type sending struct {
	History string
	Whole   bool // folding is off
	Late    *int // edition under which the request before was sent, where that was not the newest
}

func TestMeter(t *testing.T) {
	t.Parallel()
	tests := cases.Read[struct {
		Sent    []sending
		Meter   fold.Meter
		Spared  fold.Savings
		Changes bool // the last one changes what is tracked
	}](t, "testdata/meter.yaml")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var meter fold.Meter
			var ledger fold.Ledger
			changes := false
			for i, s := range tt.Sent {
				if s.Late != nil {
					assert.True(t, meter.Uncount(&ledger, *s.Late))
				}
				history, sent := talk(s.History), fold.Ledger{}
				if !s.Whole {
					for _, found := range fold.FindFolds(history, tree("A"), ledger, fold.Conditions{Cold: true}) {
						found.Edition = i + 1
						ledger.Folds = append(ledger.Folds, found)
					}
					sent = ledger
				}
				changes = meter.Track(&ledger, history, s.Whole)
				meter.Count(history, sent.Edits(history, unnoted))
			}
			assert.Equal(t, tt.Meter, meter)
			var spared fold.Savings
			for i := range ledger.Folds {
				spared = spared.With(ledger.Folds[i].Savings(meter))
			}
			assert.Equal(t, tt.Spared, spared)
			assert.Equal(t, tt.Changes, changes)
		})
	}
}

func TestMeterOfCuts(t *testing.T) {
	t.Parallel()
	history := []fold.Message{{Name: "u", Role: core.RoleUser, Tokens: 10}, {Name: "a", Role: core.RoleAssistant, Tokens: 500}}
	ledger := fold.Ledger{Cuts: []fold.Cut{{Edition: 1, Message: "a", Call: "c", Text: "gone", Tokens: 400}}}
	var m fold.Meter
	m.Count(history, ledger.Edits(history, unnoted))
	assert.Equal(t, fold.Meter{Requests: 1, Sent: 111, LeftOut: 399}, m)
	late := m
	assert.False(t, late.Uncount(&ledger, 0))
	assert.Equal(t, fold.Meter{Requests: 1, Sent: 510}, late, "it was sent before the cut")
	m.Uncount(&ledger, 1)
	assert.Equal(t, int64(399), m.LeftOut, "it was sent with it")
}

func TestMeterOfTextsAndSums(t *testing.T) {
	t.Parallel()
	var m fold.Meter
	m.Count(talk("u a"), fold.Edits{Before: []fold.Note{{Text: "123456789"}}, After: []fold.Insert{{Text: "ä"}}})
	assert.Equal(t, fold.Meter{Requests: 1, Sent: 2 + 3 + 1}, m, "a token for each four characters begun")
	assert.Zero(t, m.ShrinkFactor(), "nothing was left out")
	both := m.Add(fold.Meter{Requests: 2, Sent: 4, LeftOut: 30})
	assert.Equal(t, fold.Meter{Requests: 3, Sent: 10, LeftOut: 30}, both)
	assert.InDelta(t, 4, both.ShrinkFactor(), 1e-9)
	assert.InDelta(t, 5, fold.Meter{LeftOut: 5}.ShrinkFactor(), 1e-9, "not by nothing")

	ledger := fold.Ledger{Folds: []fold.Fold{{EndMessage: "3", Drop: []string{"1"}, Tokens: 7, FirstRequest: 2, Requests: 4}, {EndMessage: "3"}}}
	assert.Equal(t, fold.Savings{Messages: 1, Tokens: 7, Requests: 6, LeftOut: 42}, ledger.Folds[0].Savings(fold.Meter{Requests: 3}))
	ledger.Reset()
	assert.Zero(t, ledger.Folds[0].Savings(fold.Meter{Requests: 3}).Requests, "a branch begins anew")
	assert.True(t, m.Track(&ledger, talk("u a a a"), false))
	assert.Zero(t, ledger.Folds[1].FirstRequest, "one that leaves nothing out never holds")
}
