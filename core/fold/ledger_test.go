package fold_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/fold"
	"flame/tests/cases"
)

// checkAmendment checks what holds of any history.
func checkAmendment(t *testing.T, history []fold.Message, frames []fold.Frame) {
	t.Helper()
	a := whole(history, frames)
	require.Equal(t, a, whole(history, shuffled(frames)), "the order of frames does not matter")
	gone := func(m fold.Message) bool { return slices.Contains(a.Drop, m.Name) }
	require.Len(t, remaining(history, a), len(history)-len(a.Drop), "each message that is left out is one of the history, once")
	over := map[string]bool{}
	for _, f := range frames {
		over[f.ID] = f.Status.Ended() || f.Status == core.Invalidated
	}
	for i, m := range history {
		answers := i > 0 && m.IsToolResult
		if answers {
			require.Equal(t, gone(history[i-1]), gone(m), "message %d shares the fate of what it answers", i)
		}
		if !gone(m) {
			continue
		}
		require.True(t, i > 0 && i < len(history)-1 && !m.Summary && !m.Open && (answers || m.FromHost || m.Role == core.RoleAssistant),
			"message %d: %+v", i, m)
		for _, move := range m.Moves {
			require.True(t, over[move.Frame], "message %d moves an open frame", i)
		}
	}
	at := 0
	rest := remaining(history, a)
	for _, note := range a.Before {
		i := slices.IndexFunc(rest, func(m fold.Message) bool { return m.Name == note.Before })
		require.GreaterOrEqual(t, i, at)
		require.False(t, i > 0 && rest[i].IsToolResult && rest[i].Role == core.RoleUser)
		require.Regexp(t, noteShape, note.Text)
		require.NotContains(t, note.Text, "[FLAME SUGGESTION")
		checkXML(t, note.Text)
		at = i
	}
}

// remaining is the history without what was left out.
func remaining(history []fold.Message, a fold.Edits) []fold.Message {
	return slices.DeleteFunc(slices.Clone(history), func(m fold.Message) bool { return slices.Contains(a.Drop, m.Name) })
}

// shuffled returns the frames in another order, the last of those with one id only,
// which is the one that counts.
func shuffled(frames []fold.Frame) []fold.Frame {
	var list []fold.Frame
	for _, f := range slices.Backward(frames) {
		if !slices.ContainsFunc(list, func(other fold.Frame) bool { return other.ID == f.ID }) {
			list = append(list, f)
		}
	}
	return list
}

// A sender is a host with flame: it sends requests as flame amends them, or, where that
// comes late, as flame did before; and a model that binds its thinking.
type sender struct {
	t       *testing.T
	ledger  fold.Ledger
	answers fold.AnswerEditions
	last    amendment
	covered map[string]bool // messages that it is about
	sent    int             // edition of the newest request
	bounds  map[string]bond
	known   map[string]int // editions of answers, as the host has them
	kept    int            // blocks of thinking that were sent and fit
	lost    int            // that were left out
}

// An amendment is one for a history up to its last message.
type amendment struct {
	fold.Edits
	last    string
	guessed bool // what flame had not answered to went without thinking
}

func has(history []fold.Message, name string) bool {
	return name == "" || slices.ContainsFunc(history, func(m fold.Message) bool { return m.Name == name })
}

// A bond is what a block of thinking is bound to: all that was sent before it, and the
// block before it.
type bond struct{ past, block string }

func newSender(t *testing.T) *sender {
	return &sender{t: t, bounds: map[string]bond{}, known: map[string]int{}}
}

// request sends what there is of a conversation.
func (s *sender) request(c *conversation) {
	for _, m := range c.history {
		if _, known := s.known[m.Name]; m.Role == core.RoleAssistant && !known {
			s.known[m.Name] = s.sent
			s.answers.Note(m.Time, s.sent)
		}
	}
	a := s.before(c.history)
	switch c.roll(8) {
	case 0: // flame is told of nothing
	case 1: // its answer comes too late for this request
		s.amend(c)
	default:
		s.amend(c)
		a = s.last
	}
	s.send(c, a)
	if s.sent = a.Edition; a.guessed || !has(c.history, a.last) {
		s.sent = fold.Unknown // it was made for a history that was cut short since, or says too little
	}
}

func (s *sender) edition(m fold.Message) int { return s.answers.At(m.Time) }

// before is the last amendment for a history that has grown since: newer answers keep
// their thinking if they were made under its edition.
func (s *sender) before(history []fold.Message) amendment {
	a := s.last
	a.DropThinking = slices.Clone(a.DropThinking)
	for _, m := range history {
		if m.Role == core.RoleAssistant && !s.covered[m.Name] && s.known[m.Name] != a.Edition {
			a.DropThinking, a.guessed = append(a.DropThinking, m.Name), true
		}
	}
	return a
}

// amend has flame decide on a history.
func (s *sender) amend(c *conversation) {
	if left := len(s.ledger.Folds) + len(s.ledger.Cuts); left > 0 && c.roll(10) == 0 {
		s.ledger.Switches = append(s.ledger.Switches, fold.Toggle{Edition: s.ledger.Edition() + 1, Whole: !s.ledger.Disabled()})
	}
	if s.ledger.Disabled() {
		s.takes(c, s.ledger.Edits(c.history, s.edition))
		return
	}
	before := s.ledger.Edits(c.history, s.edition)
	terms := fold.Conditions{Cold: c.roll(4) == 0, Leads: c.roll(8) == 0}
	found := fold.FindFolds(c.history, c.frames, s.ledger, terms)
	edition := s.ledger.Edition() + 1
	for _, f := range found {
		f.Edition = edition
		s.ledger.Folds = append(s.ledger.Folds, f)
	}
	trimming := []fold.TrimMode{fold.TrimOff, fold.TrimSuperseded, fold.TrimOld}[c.roll(3)]
	edition++
	for _, cut := range fold.FindCuts(c.history, s.ledger, trimming, terms) {
		cut.Edition = edition
		s.ledger.Cuts = append(s.ledger.Cuts, cut)
	}
	require.Empty(s.t, fold.FindCuts(c.history, s.ledger, trimming, terms), "what is cut is not cut again")
	require.Empty(s.t, fold.FindFolds(c.history, c.frames, s.ledger, terms), "what is folded has nothing more to fold")
	if c.roll(6) == 0 {
		s.ledger.Inserts = append(s.ledger.Inserts, fold.Insert{Edition: edition, Message: c.history[len(c.history)-1].Name, Text: "told"})
	}
	after := s.ledger.Edits(c.history, s.edition)
	require.Subset(s.t, after.Drop, before.Drop, "a fold never comes undone")
	checkNothingIsLost(s.t, c.history, after)
	s.takes(c, after)
}

// takes has the host go by an amendment from now on.
func (s *sender) takes(c *conversation, a fold.Edits) {
	s.last, s.covered = amendment{a, c.history[len(c.history)-1].Name, false}, map[string]bool{}
	for _, m := range c.history {
		s.covered[m.Name] = true
	}
}

// checkNothingIsLost checks that the user's words and what is still open are sent.
func checkNothingIsLost(t *testing.T, history []fold.Message, a fold.Edits) {
	t.Helper()
	for i, m := range history {
		if slices.Contains(a.Drop, m.Name) {
			require.False(t, i == 0 || m.Summary || m.Open || m.Role == core.RoleUser && !m.IsToolResult && !m.FromHost, "message %d: %+v", i, m)
		}
		if m.IsToolResult && i > 0 {
			require.Equal(t, slices.Contains(a.Drop, history[i-1].Name), slices.Contains(a.Drop, m.Name))
		}
	}
}

// send checks each block of thinking of a request, and binds that of the answer to it.
func (s *sender) send(c *conversation, a amendment) {
	var past strings.Builder
	block := ""
	for _, m := range c.history {
		for _, note := range a.Before {
			if note.Before == m.Name {
				past.WriteString("|" + note.Text)
			}
		}
		if !slices.Contains(a.Drop, m.Name) {
			bond, thinks := s.bounds[m.Name]
			switch {
			case thinks && !slices.Contains(a.DropThinking, m.Name):
				require.Equal(s.t, bond.past, past.String(), "%s thought so after another past", m.Name)
				require.Equal(s.t, bond.block, block, "%s thought so after other thoughts", m.Name)
				block = m.Name
				s.kept++
			case thinks:
				s.lost++
			}
			past.WriteString("|" + m.Name)
			for _, cut := range a.Cuts {
				if cut.Message == m.Name {
					past.WriteString("|" + cut.Text)
				}
			}
		}
		for _, insert := range a.After {
			if insert.Message == m.Name {
				past.WriteString("|" + insert.Text)
			}
		}
	}
	s.bounds[nameAt(c.now)] = bond{past.String(), block}
}

func TestAnyHistory(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		history, frames := anyHistory(randomBytes(seed, 160))
		checkAmendment(t, history, frames)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func TestThinkingFitsInGrowingConversations(t *testing.T) {
	t.Parallel()
	folds, cuts, words, rests, kept, lost := 0, 0, 0, 0, 0, 0
	for seed := range uint64(600) {
		s := newSender(t)
		play(randomBytes(seed, 200), s.request)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		folds, cuts, kept, lost = folds+len(s.ledger.Folds), cuts+len(s.ledger.Cuts), kept+s.kept, lost+s.lost
		for _, f := range s.ledger.Folds {
			words += lo.CountBy(f.Cuts, func(cut fold.Cut) bool { return cut.Call == "" })
			rests += lo.CountBy(f.Cuts, func(cut fold.Cut) bool { return cut.Text != "" })
		}
	}
	assert.Positive(t, words)
	assert.Positive(t, rests)
	assert.Positive(t, folds)
	assert.Positive(t, cuts)
	assert.Greater(t, kept, lost, "of %d folds, %d cuts", folds, cuts)
	assert.Positive(t, lost)
}

func TestFactsOfAFrameStandWhereItsPopDoesNotSayThem(t *testing.T) {
	t.Parallel()
	type row struct {
		Ran     []fold.Command
		Files   []string
		Reads   []string
		Results []string // of subagents
		Tokens  int
		Summary string
		Says    string // the agent, in the frame
		Want    string
	}
	for name, tt := range cases.Read[row](t, "testdata/facts.yaml") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			history, frames := talk("u +A a -A a"), tree("A")
			history[2].Commands, history[2].Files, history[2].Tokens, frames[0].Summary = tt.Ran, tt.Files, 1000, tt.Summary
			history[2].Text, history[2].Reads, history[2].Results = tt.Says, tt.Reads, tt.Results
			if tt.Tokens > 0 {
				history[2].Tokens = tt.Tokens
			}
			folded := whole(history, frames)
			got := ""
			for _, note := range folded.Before {
				assert.Equal(t, "3", note.Before)
				got += strings.TrimSuffix(strings.TrimPrefix(note.Text, `<flame-facts frame="A">`), "</flame-facts>")
			}
			assert.Equal(t, tt.Want, got)
			assert.LessOrEqual(t, core.UTF16Len(got), 240)
		})
	}
}
