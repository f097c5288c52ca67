package fold_test

import (
	"math/rand/v2"
	"slices"
	"strconv"

	"flame/core"
	"flame/core/fold"
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

func randomBytes(seed uint64, most int) []byte {
	random := rand.New(rand.NewPCG(seed, 3))
	data := make([]byte, random.IntN(most))
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	return data
}

// anyHistory makes what no host should send: roles, moves, times and trees
// without rhyme or reason.
func anyHistory(d dice) (history []fold.Message, frames []fold.Frame) {
	times := []core.Millis{0, 1, 150, 350, 700, 1 << 62, -1}
	for range d.roll(7) {
		frames = append(frames, fold.Frame{
			Frame: core.Frame{
				ID: d.frame(), Parent: d.frame(), Goal: hostile[d.roll(len(hostile))], Summary: hostile[d.roll(len(hostile))],
				Decisions: []string{hostile[d.roll(len(hostile))]}, Status: core.Statuses[d.roll(len(core.Statuses))], EndedAt: times[d.roll(len(times))],
			},
			EnteredAt: times[d.roll(len(times))], Turn: d.roll(3) == 0, Item: d.roll(3) == 0,
		})
	}
	words := []string{"a", "a", "a", "u", "r", "r", "x", "s", "a!", "r!"}
	for i := 0; len(d) > 0; i++ {
		m := speak(fold.Message{Name: strconv.Itoa(i), Role: core.RoleAssistant, Time: core.Millis(100 * i)}, words[d.roll(len(words))])
		if d.roll(4) == 0 {
			m.Time = times[d.roll(len(times))]
		}
		for range max(0, d.roll(5)-2) {
			kind := []fold.Kind{fold.Enter, fold.Leave, "unknown"}[d.roll(3)]
			m.Moves = append(m.Moves, fold.Move{Kind: kind, Frame: d.frame(), First: d.roll(2) == 0})
		}
		m.Tokens = d.roll(100) - 10
		history = append(history, m)
	}
	return history, frames
}

// A conversation plays a session that works on a tree by flame's rules. Before each
// answer of the model, request is called.
type conversation struct {
	dice
	now     core.Millis
	history []fold.Message
	frames  []fold.Frame
	current string
	request func()
}

// play makes a conversation that could have been, until the dice are used up.
func play(d dice, request func(*conversation)) *conversation {
	c := &conversation{dice: d, history: talk("u")}
	c.request = func() { request(c) }
	c.enter(c.child(), true)
	for len(c.dice) > 0 {
		c.now += 100
		c.step()
	}
	return c
}

func (c *conversation) step() {
	c.now += core.Millis(c.roll(3))
	switch silent := c.roll(4) == 0; c.roll(12) {
	case 0:
		c.say("u")
	case 1, 2:
		c.say([]string{"a", "a!", "s", "x", "h"}[max(0, c.roll(13)-8)])
	case 3, 4:
		c.enter(c.child(), silent)
	case 5:
		c.enter(c.frames[c.roll(len(c.frames))].ID, false)
	case 6:
		c.leave(c.current, silent)
	case 7:
		c.leave(c.frames[c.roll(len(c.frames))].ID, silent)
	case 8:
		if c.roll(4) == 0 {
			c.undo(1 + c.roll(6))
		}
	case 9, 10, 11:
		c.passOn(c.current)
	}
}

// passOn leaves a frame and enters the next one in the same call.
func (c *conversation) passOn(id string) {
	if c.find(id).Status != core.InProgress {
		return
	}
	c.leave(id, false)
	m := &c.history[len(c.history)-1]
	if m.IsToolResult {
		m = &c.history[len(c.history)-2]
	}
	next := c.child()
	m.Moves = append(m.Moves, fold.Move{Kind: fold.Enter, Frame: next})
	c.enter(next, true)
}

// undo cuts the last messages off; the tree stays as it is.
func (c *conversation) undo(n int) {
	keep := max(1, len(c.history)-n)
	for keep < len(c.history) && c.history[keep].IsToolResult {
		keep++
	}
	c.history = c.history[:keep]
}

func (c *conversation) say(word string) *fold.Message {
	c.now += 10
	m := speak(fold.Message{Name: nameAt(c.now), Role: core.RoleAssistant, Time: c.now, Tokens: c.roll(50) * (1 + 99*c.roll(2))}, word)
	if m.Role == core.RoleAssistant && !m.Summary {
		if word == "a" && c.roll(2) == 0 {
			m.Calls = []fold.Call{{ID: "call-" + m.Name, Key: []string{"", "read a", "read b"}[c.roll(3)], Tokens: 150 * c.roll(5)}}
			m.Tokens += m.Calls[0].Tokens
		}
		c.request()
	}
	c.history = append(c.history, m)
	c.now++
	return &c.history[len(c.history)-1]
}

func nameAt(time core.Millis) string { return "m" + strconv.Itoa(int(time)) }

// call makes a move by a message, sometimes that of the call before, and
// sometimes with its results in a message of their own.
func (c *conversation) call(kind fold.Kind, frame string) {
	m := &c.history[len(c.history)-1]
	if len(m.Moves) == 0 || c.roll(4) > 0 {
		m = c.say("a")
	}
	move := fold.Move{Kind: kind, Frame: frame, First: len(m.Moves) == 0 && c.roll(3) > 0}
	if kind == fold.Leave && c.roll(3) > 0 {
		move.Call, move.Rest = "move-"+m.Name, frame+" is completed."
	}
	m.Moves = append(m.Moves, move)
	c.now++
	if c.roll(3) == 0 {
		c.say("r")
	}
}

// child makes a frame under the current one.
func (c *conversation) child() string {
	id := "frame-" + strconv.Itoa(len(c.frames))
	made := core.Frame{ID: id, Parent: c.current, Goal: "goal of " + id, Status: core.Planned}
	c.frames = append(c.frames, fold.Frame{Frame: made, Turn: c.roll(3) == 0, Item: c.roll(3) == 0})
	return id
}

func (c *conversation) find(id string) *fold.Frame {
	i := slices.IndexFunc(c.frames, func(f fold.Frame) bool { return f.ID == id })
	if i < 0 {
		return &fold.Frame{}
	}
	return &c.frames[i]
}

func (c *conversation) enter(id string, silent bool) {
	if !silent {
		c.call(fold.Enter, id)
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
		c.call(fold.Leave, id)
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
