package fold_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/fold"
	"flame/tests/cases"
)

// weighed is talk with the sizes of the messages, in tokens.
func weighed(script string, tokens ...int) []fold.Message {
	history := talk(script)
	for i := range history {
		history[i].Tokens = tokens[i]
	}
	return history
}

func TestNothingNewIsLeftOutOfARoundThatHolds(t *testing.T) {
	t.Parallel()
	history, frames := talk("u +A a r -A r a r"), tree("A")
	assert.NotEmpty(t, fold.FindFolds(history, frames, fold.Ledger{}, fold.Conditions{Cold: true}))
	assert.Empty(t, fold.FindFolds(history, frames, fold.Ledger{}, fold.Conditions{Cold: true, Holds: true}))
	assert.Empty(t, fold.FindCuts(history, fold.Ledger{}, fold.TrimOld, fold.Conditions{Cold: true, Holds: true}))
}

func TestAFoldWaitsUntilItPays(t *testing.T) {
	t.Parallel()
	halfPrice := fold.Conditions{Prices: fold.Prices{Read: 0.05}}
	tests := map[string]struct {
		history []fold.Message
		frames  string
		terms   fold.Conditions
		folds   string // frames
	}{
		"with the request after the pop":                   {weighed("u +A a -A", 9, 100, 60_000, 400), "A", fold.Conditions{}, "A"},
		"not a small one":                                  {weighed("u +A a -A", 9, 20, 100, 400), "A", fold.Conditions{}, ""},
		"one that had not paid alone, with one behind it":  {weighed("u +A a -A +B a -B", 9, 20, 400, 400, 20, 8_000, 300), "A B", fold.Conditions{}, "A B"},
		"not with one that would pay alone, far ahead":     {weighed("u +A a -A u +B a -B", 9, 20, 100, 400, 90_000, 20, 8_000, 300), "A B", fold.Conditions{}, "B"},
		"where much was said since, and it is worth it":    {weighed("u +A a -A a", 9, 100, 60_000, 400, 20_000), "A", fold.Conditions{}, "A"},
		"where too much was said since":                    {weighed("u +A a -A a", 9, 100, 10_000, 400, 90_000), "A", fold.Conditions{}, ""},
		"unless the cache is cold":                         {weighed("u +A a -A a", 9, 100, 10_000, 400, 90_000), "A", fold.Conditions{Cold: true}, "A"},
		"where reading costs half of that":                 {weighed("u +A a -A a", 9, 0, 10_000, 400, 12_000), "A", halfPrice, ""},
		"the same at the usual price":                      {weighed("u +A a -A a", 9, 0, 10_000, 400, 12_000), "A", fold.Conditions{}, "A"},
		"one round later, where rounds lead with thoughts": {weighed("u +A a -A", 9, 100, 60_000, 400), "A", fold.Conditions{Leads: true}, ""},
		"then with the next":                               {weighed("u +A a -A a", 9, 100, 60_000, 400, 100), "A", fold.Conditions{Leads: true}, "A"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var folds []string
			for _, f := range fold.FindFolds(tt.history, tree(tt.frames), fold.Ledger{}, tt.terms) {
				folds = append(folds, f.Frame)
			}
			assert.Equal(t, tt.folds, strings.Join(folds, " "))
		})
	}
}

// reading is a history whose answers each call a tool: words of the script are the keys of
// the calls, with their outputs' sizes in hundreds of tokens.
func reading(script string) (history []fold.Message) {
	history = append(history, fold.Message{Name: "u", Role: core.RoleUser, Tokens: 100})
	for i, word := range strings.Fields(script) {
		key, size, _ := strings.Cut(word, ":")
		n, _ := strconv.Atoi(size)
		name := fmt.Sprint(i)
		history = append(history, fold.Message{
			Name: name, Role: core.RoleAssistant, Tokens: 50 + 100*n, Calls: []fold.Call{{ID: name, Key: strings.TrimLeft(key, "-"), Tokens: 100 * n}},
		})
	}
	return history
}

func TestTrim(t *testing.T) {
	t.Parallel()
	tests := cases.Read[struct {
		Which   fold.TrimMode
		History string
		Known   fold.Ledger
		Cold    bool
		Cut     string // ids of calls
	}](t, "testdata/trim.yaml")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var cut []string
			for _, c := range fold.FindCuts(reading(tt.History), tt.Known, tt.Which, fold.Conditions{Cold: tt.Cold}) {
				cut = append(cut, c.Call)
				require.Regexp(t, `^\[about [\d.]+( k)? tokens left out by flame: .*; flame_recall with call "\d+" shows them\]$`, c.Text)
			}
			assert.Equal(t, tt.Cut, strings.Join(cut, " "))
		})
	}
}

func TestAnEndThatWasTakenBackFoldsNothing(t *testing.T) {
	t.Parallel()
	frames := tree("A@-250")
	history := talk("u +A a -A a")
	var ledger fold.Ledger
	ledger.Folds = fold.FindFolds(history, frames, ledger, fold.Conditions{})
	require.Len(t, ledger.Folds, 1)
	cut := append(history[:3:3], talk("u u u u u u")[4:]...)
	assert.Empty(t, fold.FindFolds(cut, frames, ledger, fold.Conditions{Cold: true}), "the pop was taken back, and with it what it ended")
	assert.Empty(t, ledger.Edits(cut, unnoted).Drop)
	assert.Equal(t, []string{"1", "2"}, ledger.Edits(history, unnoted).Drop, "and brought back")
}

func TestTheCallsThatBeganAFrameGoWithIt(t *testing.T) {
	t.Parallel()
	reads := []fold.Call{{ID: "read", Key: "read", Tokens: 900}}
	for script, want := range map[string][]fold.Cut{
		"u +A a -A+B r a -B a":       {{Message: "3", Call: "read", Tokens: 900}, {Message: "3", Tokens: 2}},
		"u +A a a-A+B r a -B a":      nil, // the call may be of A
		"u +A a -A+B r a a":          nil, // B goes on
		"u +C +A a -A+B r a -B -C a": nil, // the message goes whole
	} {
		frames := tree("A<C B<C")
		history := talk(script)
		for i := range history {
			if len(history[i].Moves) == 2 {
				history[i].Calls, history[i].Text = reads, "Next: B"
			}
		}
		switch {
		case strings.Contains(script, "-C"):
			frames = append(frames, tree("C")...)
		case !strings.Contains(script, "-B"):
			frames = tree("A B:in_progress")
		}
		ledger := fold.Ledger{Folds: fold.FindFolds(history, frames, fold.Ledger{}, fold.Conditions{Cold: true})}
		a := ledger.Edits(history, unnoted)
		assert.Equal(t, want, a.Cuts, script)
		assert.Empty(t, fold.FindCuts(history[:6], ledger, fold.TrimOld, fold.Conditions{Cold: true}), script)
	}
}

func TestTheWordsBesideAPopGoWithTheFrameThatItBegan(t *testing.T) {
	t.Parallel()
	history := talk("u +A a -A+B u a -B a")
	for i := range history {
		if len(history[i].Moves) == 2 {
			history[i].Text = "A is done. Which one next?"
		}
	}
	open := fold.Ledger{Folds: fold.FindFolds(history[:6], tree("A B:in_progress"), fold.Ledger{}, fold.Conditions{Cold: true})}
	assert.Empty(t, open.Edits(history[:6], unnoted).Cuts, "B goes on")

	ledger := fold.Ledger{Folds: fold.FindFolds(history, tree("A B"), fold.Ledger{}, fold.Conditions{Cold: true})}
	a := ledger.Edits(history, unnoted)
	assert.Equal(t, []fold.Cut{{Message: "3", Tokens: 7}}, a.Cuts)
	require.Len(t, a.Before, 1)
	assert.Equal(t, "4", a.Before[0].Before)
	assert.Contains(t, a.Before[0].Text, "Which one next?", "the user's words answer it")
	ledger.Folds = []fold.Fold{{Edition: 1, Frame: "B", EndMessage: "6", Cuts: a.Cuts}}
	assert.Equal(t, []string{"5", "6", "7"}, ledger.Edits(history, func(fold.Message) int { return 0 }).DropThinking, "thinking behind them has another past")
	ledger.Switches = []fold.Toggle{{Edition: 1, Whole: true}}
	assert.Empty(t, ledger.Edits(history, unnoted).Cuts, "folding is off")
}

func TestTheLineThatNamesTheNextFrameGoesWithThatFrame(t *testing.T) {
	t.Parallel()
	history := talk("u +A a -A+B a -B a")
	pop := &history[3].Moves[0]
	require.Equal(t, fold.Leave, pop.Kind)
	pop.Call, pop.Rest = "pop", "A is completed."
	open := fold.Ledger{Folds: fold.FindFolds(history[:5], tree("A B:in_progress"), fold.Ledger{}, fold.Conditions{Cold: true})}
	assert.Empty(t, open.Edits(history[:5], unnoted).Cuts, "B goes on")

	folds := fold.FindFolds(history, tree("A B"), fold.Ledger{}, fold.Conditions{Cold: true})
	cuts := fold.Ledger{Folds: folds}.Edits(history, unnoted).Cuts
	require.Len(t, cuts, 1)
	assert.Equal(t, fold.Cut{Message: "3", Call: "pop", Text: "A is completed.", Tokens: cuts[0].Tokens}, cuts[0])
	assert.Greater(t, cuts[0].Tokens, len(cuts[0].Text)/4)
}

func TestAFoldStaysWhateverBecomesOfItsFrame(t *testing.T) {
	t.Parallel()
	history := talk("u +A a -A a")
	ledger := fold.Ledger{Folds: fold.FindFolds(history, tree("A"), fold.Ledger{}, fold.Conditions{})}
	for name, frames := range map[string]string{"reopened": "A:in_progress", "invalidated": "A:invalidated", "deleted": "", "moved": "A<B B"} {
		more := append(talk("u +A a -A a +A a"), talk("u")...)
		more[7].Name = "7"
		assert.Empty(t, fold.FindFolds(more, tree(frames), ledger, fold.Conditions{Cold: true}), name)
		assert.Equal(t, []string{"1", "2"}, ledger.Edits(more, unnoted).Drop, name)
	}
}

func TestANoteMovesOnWhereItsMessageIsLeftOut(t *testing.T) {
	t.Parallel()
	first, frames := talk("u +A a +B"), tree("A@-250 B:in_progress")
	ledger := fold.Ledger{Folds: fold.FindFolds(first, frames, fold.Ledger{}, fold.Conditions{Cold: true})}
	require.Equal(t, "3 ended A", outline(ledger.Edits(first, unnoted).Before))
	all := talk("u +A a +B a -B a")
	ledger.Folds = append(ledger.Folds, fold.FindFolds(all, tree("A@-250 B"), ledger, fold.Conditions{Cold: true})...)
	a := ledger.Edits(all, unnoted)
	assert.Equal(t, "1 2 3 4", strings.Join(a.Drop, " "))
	assert.Equal(t, "5 ended A", outline(a.Before))
}
