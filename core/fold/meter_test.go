package fold_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/core"
	"flame/core/fold"
)

// A sending is one request of a conversation whose frame A has ended; each message has
// one token.
type sending struct {
	history string
	whole   bool // folding is off
	late    *int // edition under which the request before was sent, where that was not the newest
}

func TestMeter(t *testing.T) {
	t.Parallel()
	unknown := fold.Unknown
	tests := map[string]struct {
		sent    []sending
		meter   fold.Meter
		spared  fold.Spared
		changes bool // the last one changes what is tracked
	}{
		"nothing is left out before the frame ends": {
			[]sending{{history: "u"}, {history: "u a"}}, fold.Meter{Requests: 2, Sent: 3}, fold.Spared{}, false,
		},
		"from the first request on that goes without": {
			[]sending{{history: "u"}, {history: "u +A a -A"}, {history: "u +A a -A a"}},
			fold.Meter{Requests: 3, Sent: 6, LeftOut: 4}, fold.Spared{Messages: 2, Tokens: 2, Requests: 2, LeftOut: 4}, false,
		},
		"not by one that was sent as before": {
			[]sending{{history: "u +A a -A"}, {history: "u +A a -A a", late: new(0)}},
			fold.Meter{Requests: 2, Sent: 7, LeftOut: 2}, fold.Spared{Messages: 2, Tokens: 2, Requests: 1, LeftOut: 2}, false,
		},
		"nor by one of which nobody knows how it was sent": {
			[]sending{{history: "u +A a -A"}, {history: "u +A a -A a"}, {history: "u +A a -A a a", late: &unknown}},
			fold.Meter{Requests: 3, Sent: 11, LeftOut: 4}, fold.Spared{Messages: 2, Tokens: 2, Requests: 2, LeftOut: 4}, false,
		},
		"nor once the end was taken back": {
			[]sending{{history: "u +A a -A"}, {history: "u +A a"}, {history: "u +A a"}},
			fold.Meter{Requests: 3, Sent: 8, LeftOut: 2}, fold.Spared{Messages: 2, Tokens: 2, Requests: 1, LeftOut: 2}, false,
		},
		"again when it stands again": {
			[]sending{{history: "u +A a -A"}, {history: "u +A a"}, {history: "u +A a -A"}, {history: "u +A a -A"}},
			fold.Meter{Requests: 4, Sent: 9, LeftOut: 6}, fold.Spared{Messages: 2, Tokens: 2, Requests: 3, LeftOut: 6}, false,
		},
		"nor while folding is off": {
			[]sending{{history: "u +A a -A"}, {history: "u +A a -A a", whole: true}, {history: "u +A a -A a a"}},
			fold.Meter{Requests: 3, Sent: 11, LeftOut: 4}, fold.Spared{Messages: 2, Tokens: 2, Requests: 2, LeftOut: 4}, true,
		},
		"nor once it was compacted away": {
			[]sending{{history: "u +A a -A"}, {history: "s u"}},
			fold.Meter{Requests: 2, Sent: 4, LeftOut: 2}, fold.Spared{Messages: 2, Tokens: 2, Requests: 1, LeftOut: 2}, true,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var meter fold.Meter
			var ledger fold.Ledger
			changes := false
			for i, s := range tt.sent {
				if s.late != nil {
					assert.True(t, meter.TakeBack(&ledger, *s.late))
				}
				history, sent := talk(s.history), fold.Ledger{}
				if !s.whole {
					for _, found := range fold.Find(history, tree("A"), ledger, fold.Terms{Cold: true}) {
						found.Edition = i + 1
						ledger.Folds = append(ledger.Folds, found)
					}
					sent = ledger
				}
				changes = meter.Track(&ledger, history, s.whole)
				meter.Count(history, sent.Amend(history, unnoted))
			}
			assert.Equal(t, tt.meter, meter)
			var spared fold.Spared
			for i := range ledger.Folds {
				spared = spared.With(ledger.Folds[i].Spared(meter))
			}
			assert.Equal(t, tt.spared, spared)
			assert.Equal(t, tt.changes, changes)
		})
	}
}

func TestMeterOfCuts(t *testing.T) {
	t.Parallel()
	history := []fold.Message{{Name: "u", Role: core.RoleUser, Tokens: 10}, {Name: "a", Role: core.RoleAssistant, Tokens: 500}}
	ledger := fold.Ledger{Cuts: []fold.Cut{{Edition: 1, Message: "a", Call: "c", Text: "gone", Tokens: 400}}}
	var m fold.Meter
	m.Count(history, ledger.Amend(history, unnoted))
	assert.Equal(t, fold.Meter{Requests: 1, Sent: 111, LeftOut: 399}, m)
	late := m
	assert.False(t, late.TakeBack(&ledger, 0))
	assert.Equal(t, fold.Meter{Requests: 1, Sent: 510}, late, "it was sent before the cut")
	m.TakeBack(&ledger, 1)
	assert.Equal(t, int64(399), m.LeftOut, "it was sent with it")
}

func TestMeterOfTextsAndSums(t *testing.T) {
	t.Parallel()
	var m fold.Meter
	m.Count(talk("u a"), fold.Amendment{Before: []fold.Note{{Text: "123456789"}}, After: []fold.Insert{{Text: "ä"}}})
	assert.Equal(t, fold.Meter{Requests: 1, Sent: 2 + 3 + 1}, m, "a token for each four characters begun")
	assert.Zero(t, m.Less(), "nothing was left out")
	both := m.Add(fold.Meter{Requests: 2, Sent: 4, LeftOut: 30})
	assert.Equal(t, fold.Meter{Requests: 3, Sent: 10, LeftOut: 30}, both)
	assert.InDelta(t, 4, both.Less(), 1e-9)
	assert.InDelta(t, 5, fold.Meter{LeftOut: 5}.Less(), 1e-9, "not by nothing")

	ledger := fold.Ledger{Folds: []fold.Fold{{Upto: "3", Drop: []string{"1"}, Tokens: 7, Since: 2, Requests: 4}, {Upto: "3"}}}
	assert.Equal(t, fold.Spared{Messages: 1, Tokens: 7, Requests: 6, LeftOut: 42}, ledger.Folds[0].Spared(fold.Meter{Requests: 3}))
	ledger.Reset()
	assert.Zero(t, ledger.Folds[0].Spared(fold.Meter{Requests: 3}).Requests, "a branch begins anew")
	assert.True(t, m.Track(&ledger, talk("u a a a"), false))
	assert.Zero(t, ledger.Folds[1].Since, "one that leaves nothing out never holds")
}
