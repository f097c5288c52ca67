package core_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"flame/core"
)

// dice returns numbers made of bytes, 0 once those are used up.
type dice []byte

func (d *dice) roll(sides int) int {
	if len(*d) == 0 {
		return 0
	}
	n := int((*d)[0]) % sides
	*d = (*d)[1:]
	return n
}

func (d *dice) frame() string { return string(rune('A' + d.roll(6))) }

// anyHistory makes what no host should send: roles, moves, times and trees
// without rhyme or reason.
func anyHistory(d dice) (history []core.FoldMessage, frames []core.FoldFrame) {
	times := []core.Millis{0, 1, 150, 350, 700, 1 << 62, -1}
	for range d.roll(7) {
		frames = append(frames, core.FoldFrame{
			ID: d.frame(), Parent: d.frame(), Goal: hostile[d.roll(len(hostile))], Summary: hostile[d.roll(len(hostile))],
			Status: core.Statuses[d.roll(len(core.Statuses))], EnteredAt: times[d.roll(len(times))], EndedAt: times[d.roll(len(times))],
		})
	}
	words := []string{"a", "a", "a", "u", "r", "r", "x", "s", "a!", "r!"}
	for i := 0; len(d) > 0; i++ {
		m := speak(core.FoldMessage{ID: strconv.Itoa(i), Role: core.RoleAssistant, Time: core.Millis(100 * i)}, words[d.roll(len(words))])
		if d.roll(4) == 0 {
			m.Time = times[d.roll(len(times))]
		}
		for range max(0, d.roll(5)-2) {
			kind := []core.FoldKind{core.FoldEnter, core.FoldLeave, "unknown"}[d.roll(3)]
			m.Moves = append(m.Moves, core.FoldMove{Kind: kind, Frame: d.frame()})
		}
		history = append(history, m)
	}
	return history, frames
}

// checkFold checks what holds of any history.
func checkFold(t *testing.T, history []core.FoldMessage, frames []core.FoldFrame) {
	t.Helper()
	folded := core.Fold(history, frames)
	require.Equal(t, folded, core.Fold(history, shuffled(frames)), "the order of frames does not matter")
	rest := remaining(history, folded)
	require.Len(t, rest, len(history)-len(folded.Drop), "each message that is left out is one of the history, once")
	over := map[string]bool{}
	for _, f := range frames {
		over[f.ID] = f.Status.Ended() || f.Status == core.Invalidated
	}
	gone := func(m core.FoldMessage) bool { return slices.Contains(folded.Drop, m.ID) }
	for i, m := range history {
		answers := i > 0 && m.Answers
		if answers {
			require.Equal(t, gone(history[i-1]), gone(m), "message %d shares the fate of what it answers", i)
		}
		if !gone(m) {
			continue
		}
		require.True(t, i > 0 && i < len(history)-1 && !m.Summary && !m.Open && (answers || m.Host || m.Role == core.RoleAssistant), "message %d: %+v", i, m)
		for _, move := range m.Moves {
			require.True(t, over[move.Frame], "message %d moves an open frame", i)
		}
	}
	checkNotes(t, rest, folded.Notes)
}

// enteredOnce reports whether no call enters a frame again. What is left of a
// history where one does may no longer tell which time a frame was left.
func enteredOnce(history []core.FoldMessage) bool {
	entered := map[string]bool{}
	for _, m := range history {
		for _, move := range m.Moves {
			if move.Kind == core.FoldEnter && entered[move.Frame] {
				return false
			}
			entered[move.Frame] = entered[move.Frame] || move.Kind == core.FoldEnter
		}
	}
	return true
}

// checkNotes checks that notes stand in order before messages that are there and
// part none from its answers, and that they are well-formed.
func checkNotes(t *testing.T, rest []core.FoldMessage, notes []core.FoldNote) {
	t.Helper()
	at := 0
	for _, note := range notes {
		i := slices.IndexFunc(rest, func(m core.FoldMessage) bool { return m.ID == note.Before })
		require.GreaterOrEqual(t, i, at)
		require.False(t, i > 0 && rest[i].Answers && rest[i].Role == core.RoleUser)
		require.Regexp(t, noteShape, note.Text)
		require.NotContains(t, note.Text, "[FLAME SUGGESTION")
		elementIDs(t, note.Text)
		at = i
	}
}

// remaining is the history without what was left out.
func remaining(history []core.FoldMessage, folded core.Folded) []core.FoldMessage {
	return slices.DeleteFunc(slices.Clone(history), func(m core.FoldMessage) bool { return slices.Contains(folded.Drop, m.ID) })
}

// shuffled returns the frames in another order, the last of those with one id only,
// which is the one that counts.
func shuffled(frames []core.FoldFrame) []core.FoldFrame {
	var list []core.FoldFrame
	for _, f := range slices.Backward(frames) {
		if !slices.ContainsFunc(list, func(other core.FoldFrame) bool { return other.ID == f.ID }) {
			list = append(list, f)
		}
	}
	return list
}

// A conversation plays a session that works on a tree by flame's rules.
type conversation struct {
	dice
	now     core.Millis
	history []core.FoldMessage
	frames  []core.FoldFrame
	current string
}

// play makes a conversation that could have been.
func play(d dice) *conversation {
	c := &conversation{dice: d, history: talk("u")}
	c.enter(c.child(), true)
	for len(c.dice) > 0 {
		c.now += 100
		c.step()
	}
	return c
}

func (c *conversation) step() {
	c.now += core.Millis(c.roll(3))
	switch silent := c.roll(4) == 0; c.roll(8) {
	case 0:
		c.say("u")
	case 1, 2:
		c.say([]string{"a", "a!", "s", "x"}[max(0, c.roll(12)-8)])
	case 3, 4:
		c.enter(c.child(), silent)
	case 5:
		c.enter(c.frames[c.roll(len(c.frames))].ID, false)
	case 6:
		c.leave(c.current, silent)
	case 7:
		c.leave(c.frames[c.roll(len(c.frames))].ID, silent)
	}
}

func (c *conversation) say(word string) *core.FoldMessage {
	c.now += 10
	c.history = append(c.history, speak(core.FoldMessage{ID: strconv.Itoa(len(c.history)), Role: core.RoleAssistant, Time: c.now}, word))
	c.now++
	return &c.history[len(c.history)-1]
}

// call makes a move by a message, sometimes that of the call before, and
// sometimes with its results in a message of their own.
func (c *conversation) call(kind core.FoldKind, frame string) {
	m := &c.history[len(c.history)-1]
	if len(m.Moves) == 0 || c.roll(4) > 0 {
		m = c.say("a")
	}
	m.Moves = append(m.Moves, core.FoldMove{Kind: kind, Frame: frame})
	c.now++
	if c.roll(3) == 0 {
		c.say("r")
	}
}

// child makes a frame under the current one.
func (c *conversation) child() string {
	id := "frame-" + strconv.Itoa(len(c.frames))
	c.frames = append(c.frames, core.FoldFrame{ID: id, Parent: c.current, Goal: "goal of " + id, Status: core.Planned})
	return id
}

func (c *conversation) find(id string) *core.FoldFrame {
	for i := range c.frames {
		if c.frames[i].ID == id {
			return &c.frames[i]
		}
	}
	return &core.FoldFrame{}
}

func (c *conversation) enter(id string, silent bool) {
	if !silent {
		c.call(core.FoldEnter, id)
	}
	c.now++
	f := c.find(id)
	f.Status, f.EnteredAt, f.EndedAt, c.current = core.InProgress, c.now, 0, id
}

func (c *conversation) leave(id string, silent bool) {
	f := c.find(id)
	if f.Status != core.InProgress {
		return
	}
	if !silent {
		c.call(core.FoldLeave, id)
	}
	c.now++
	f.Status, f.EndedAt = []core.Status{core.Completed, core.Failed, core.Blocked}[c.roll(3)], c.now
	if c.within(c.current, id) {
		c.current = f.Parent
	}
}

func (c *conversation) within(id, above string) bool {
	for ; id != ""; id = c.find(id).Parent {
		if id == above {
			return true
		}
	}
	return false
}

// compact returns the history as a host sends it after a compaction at message cut
// that kept those from tail on.
func (c *conversation) compact(tail, cut int) []core.FoldMessage {
	at := c.history[cut].Time - 1
	head := []core.FoldMessage{{ID: "ask", Role: core.RoleUser, Time: at}, {ID: "summary", Role: core.RoleAssistant, Time: at, Summary: true}}
	return append(head, c.history[tail:]...)
}

// checkGrowth checks that a history's fold changes only where the end of a frame
// takes effect, and that it never gives anything back.
func checkGrowth(t *testing.T, history []core.FoldMessage, frames []core.FoldFrame) {
	t.Helper()
	before := core.Fold(history[:min(3, len(history))], frames)
	for n := 3; n < len(history); n++ {
		after := core.Fold(history[:n+1], frames)
		require.Subset(t, after.Drop, before.Drop, "message %d brings something back", n)
		if !endsTakeEffect(history[:n+1], frames) {
			require.Equal(t, before.Drop, after.Drop, "message %d", n)
			require.Equal(t, before.Notes, after.Notes[:min(len(before.Notes), len(after.Notes))], "message %d", n)
		}
		before = after
	}
}

// endsTakeEffect reports whether with its last message a history shows the end of
// a frame for the first time.
func endsTakeEffect(history []core.FoldMessage, frames []core.FoldFrame) bool {
	speaks := func(m core.FoldMessage) bool { return !m.Answers && m.Role != core.RoleOther }
	last := history[len(history)-1]
	if !speaks(last) {
		return false
	}
	earlier := slices.DeleteFunc(slices.Clone(history[:len(history)-1]), func(m core.FoldMessage) bool { return !speaks(m) })
	round := earlier[len(earlier)-1]
	return slices.ContainsFunc(round.Moves, func(m core.FoldMove) bool { return m.Kind == core.FoldLeave }) ||
		slices.ContainsFunc(frames, func(f core.FoldFrame) bool { return f.EndedAt > round.Time && f.EndedAt <= last.Time })
}

// checkConversation checks a conversation as it grew, and again as it grew after a
// compaction.
func checkConversation(t *testing.T, d dice) {
	t.Helper()
	tail, cut := d.roll(8), d.roll(8)
	c := play(d)
	checkFold(t, c.history, c.frames)
	checkGrowth(t, c.history, c.frames)
	if rest := remaining(c.history, core.Fold(c.history, c.frames)); enteredOnce(c.history) {
		require.Empty(t, core.Fold(rest, c.frames).Drop, "what is folded has nothing more to fold")
	}
	tail, cut = min(tail, len(c.history)-1), min(tail+cut, len(c.history)-1)
	for tail > 0 && c.history[tail].Answers {
		tail--
	}
	compacted := c.compact(tail, cut)
	checkFold(t, compacted, c.frames)
	checkGrowth(t, compacted, c.frames)
}

func randomBytes(seed uint64, most int) []byte {
	random := rand.New(rand.NewPCG(seed, 3))
	data := make([]byte, random.IntN(most))
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	return data
}

func TestFoldOfRandomHistories(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		history, frames := anyHistory(randomBytes(seed, 160))
		checkFold(t, history, frames)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func TestFoldOfGrowingConversations(t *testing.T) {
	t.Parallel()
	folds := 0
	for seed := range uint64(400) {
		data := randomBytes(seed, 160)
		checkConversation(t, data)
		c := play(data)
		folds += len(core.Fold(c.history, c.frames).Drop)
	}
	require.Positive(t, folds)
}

func FuzzFold(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(randomBytes(seed, 160))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 400 {
			return
		}
		history, frames := anyHistory(data)
		checkFold(t, history, frames)
		checkConversation(t, data)
	})
}
