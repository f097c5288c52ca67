package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core/fold"
	"flame/gateway"
	"flame/project"
	"flame/project/projecttest"
	"flame/tests/model"
)

// framed is a session that has ended one of two pieces of work, of which the second goes
// on.
func framed(t *testing.T) *talk {
	t.Helper()
	c := newTalk(t, push("one"), read("a"), read("b"), pop("did one"), push("two"), read("c"), model.Turn{Thinking: "end", Text: "so far"},
		read("d"), read("e"), model.Turn{Thinking: "again", Text: "and so on"}, read("f"), model.Turn{Text: "end"})
	c.f.Prompt(projecttest.Host("s"), "p1", "work")
	c.say("work")
	c.round()
	return c
}

// newest is the text of the newest request.
func (c *talk) newest() model.Request {
	all := c.model.Requests()
	return all[len(all)-1]
}

func (c *talk) requireNoRefusal() {
	c.t.Helper()
	require.Zero(c.t, c.judge.Stats().Rejected, "%v\n%s", c.judge.Reasons(), c.log)
}

// isFolded reports whether the newest request goes without the first piece of work.
func (c *talk) isFolded() bool {
	for _, m := range c.newest().Messages {
		for _, result := range m.Results {
			if strings.Contains(result, "content of a") {
				return false
			}
		}
	}
	return true
}

func TestAFoldHolds(t *testing.T) {
	t.Parallel()
	tests := map[string]func(c *talk){
		"in the next round":           func(*talk) {},
		"when the gateway is another": func(c *talk) { c.start(gateway.Options{Folding: gateway.On}) },
		"when nothing can be written": func(c *talk) { c.faults.set(locked) },
		"in another gateway that cannot write": func(c *talk) {
			c.faults.set(locked)
			c.start(gateway.Options{Folding: gateway.On})
		},
		"when the store is gone": func(c *talk) { c.faults.set(gone) },
		"after a rewind within the round": func(c *talk) {
			c.history = c.history[:len(c.history)-1]
		},
		"in a branch": func(c *talk) {
			c.session = "branch"
			c.f.Prompt(projecttest.Host("branch"), "p2", "another way")
		},
	}
	for name, happens := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := framed(t)
			c.requireNoRefusal()
			require.True(t, c.isFolded())
			happens(c)
			for _, words := range []string{"go on", "and on"} {
				c.say(words)
				c.round()
				c.requireNoRefusal()
				assert.True(t, c.isFolded())
			}
		})
	}
}

// A faulty store fails as it is told to.
type faulty struct {
	project.Store
	mode atomic.Int32
}

// What is wrong with a store.
const (
	fine   = iota
	locked // others write without end
	full   // nothing can be written
	gone   // nothing can be read
)

var errDamaged = errors.New("the file is damaged")

func (f *faulty) set(mode int32) { f.mode.Store(mode) }

func (f *faulty) fault(ctx context.Context, reads bool) error {
	switch mode := f.mode.Load(); {
	case mode == gone, mode == full && !reads:
		return errDamaged
	case mode == locked && !reads:
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (f *faulty) View(ctx context.Context, look func(project.Tx) error) error {
	if err := f.fault(ctx, true); err != nil {
		return err
	}
	return f.Store.View(ctx, look)
}

func (f *faulty) Update(ctx context.Context, change func(project.Tx) error) error {
	if err := f.fault(ctx, false); err != nil {
		return err
	}
	return f.Store.Update(ctx, change)
}

func (f *faulty) Run(ctx context.Context, change func(project.Tx) error) error {
	if err := f.fault(ctx, false); err != nil {
		return err
	}
	return f.Store.Run(ctx, change)
}

func TestASessionThatWasNeverFoldedGoesOutAsItCame(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	c.faults.set(gone)
	c.say("work")
	body := c.body()
	response := c.post("/v1/messages", body, nil)
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, len(body), c.newest().Bytes)
}

func TestWithoutTheGatewayTheSessionGoesOn(t *testing.T) {
	t.Parallel()
	c := framed(t)
	through := c.url
	c.url = c.model.URL
	c.say("without")
	require.Nil(t, c.ask(), "the thinking since was made with another past")
	c.forgetThinking()
	c.round()
	require.Equal(t, 1, c.judge.Stats().Rejected)
	c.url = through
	c.say("with it again")
	c.round()
	assert.Equal(t, 1, c.judge.Stats().Rejected, "%v", c.judge.Reasons())
	assert.True(t, c.isFolded())
}

// forgetThinking is what the client does after a refusal.
func (c *talk) forgetThinking() {
	for _, m := range c.history {
		m := m.(object)
		kept := []any{}
		for _, b := range m["content"].([]any) {
			if b.(object)["type"] != "thinking" {
				kept = append(kept, b)
			}
		}
		m["content"] = kept
	}
}

func TestAfterTwoRefusalsASessionIsFoldedNoMore(t *testing.T) {
	t.Parallel()
	c := framed(t)
	refusal := model.Turn{Error: &model.Error{Status: 400, Type: "invalid_request_error", Message: "no"}}
	c.model.Play(model.Script{{Name: "main", Kind: model.Work, Turns: []model.Turn{refusal, {Text: "one"}, refusal, refusal, {Text: "whole"}}}})
	c.say("go on")
	require.Nil(t, c.ask())
	require.NotNil(t, c.ask())
	assert.True(t, c.isFolded(), "one refusal is none")
	c.say("go on")
	require.Nil(t, c.ask())
	require.Nil(t, c.ask())
	c.forgetThinking()
	require.NotNil(t, c.ask())
	assert.False(t, c.isFolded())
}

func TestFoldingIsSwitched(t *testing.T) {
	t.Parallel()
	for _, way := range []gateway.Folding{gateway.Off, gateway.Edit} {
		t.Run(string(way), func(t *testing.T) {
			t.Parallel()
			c := newTalk(t, push("one"), read("a"), pop("done"), push("two"), model.Turn{Text: "end"})
			c.start(gateway.Options{Folding: way})
			c.f.Prompt(projecttest.Host("s"), "p1", "work")
			c.say("work")
			c.round()
			c.requireNoRefusal()
			assert.False(t, c.isFolded())
		})
	}
}

// whatever is a model that does one thing after another at random.
func whatever(dice *rand.Rand) model.Turn {
	n := 0
	return model.Turn{From: func(model.Request) model.Turn {
		n++
		turn := model.Turn{Thinking: fmt.Sprint("thought ", n)}
		switch dice.IntN(6) {
		case 0:
			turn.Tools = push(fmt.Sprint("goal ", n)).Tools
		case 1:
			turn.Tools = pop(fmt.Sprint("did ", n)).Tools
		case 2:
			turn.Tools = append(read("x").Tools, read("y").Tools...)
		case 3:
			turn.Tools = append(read("x").Tools, pop("did beside").Tools...)
		case 4:
			turn.Text = fmt.Sprint("words ", n)
		default:
			turn.Tools = read(fmt.Sprint("f", dice.IntN(3))).Tools
		}
		return turn
	}}
}

// TestNothingIsEverRefused plays random sessions: gateways come and go, the store fails for
// a while, the conversation is cut short and compacted.
func TestNothingIsEverRefused(t *testing.T) {
	t.Parallel()
	for seed := range uint64(16) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			dice := rand.New(rand.NewPCG(seed, 7))
			c := newTalk(t, slices.Repeat([]model.Turn{whatever(dice)}, 300)...)
			c.f.Trim = []fold.Trimming{fold.TrimOff, fold.TrimOld, fold.TrimSuperseded}[seed%3]
			c.start(gateway.Options{Folding: gateway.On})
			c.beside = func() []any {
				if dice.IntN(8) > 0 {
					return nil
				}
				return []any{
					object{"type": "text", "text": "[Request interrupted by user for tool use]"},
					object{"type": "text", "text": fmt.Sprint("no: ", dice.IntN(1000))},
				}
			}
			c.f.Prompt(projecttest.Host("s"), "p0", "work")
			for step := range 12 {
				c.faults.set(fine)
				c.happen(dice.IntN(7), dice)
				c.say(fmt.Sprint("prompt ", step))
				c.round()
				require.Zero(t, c.judge.Stats().Rejected, "step %d: %v", step, c.judge.Reasons())
			}
			assert.Positive(t, c.shorter())
		})
	}
}

// shorter counts the requests that went on shorter than they came.
func (c *talk) shorter() (n int) {
	for i, r := range c.model.Requests() {
		if r.Bytes < c.lengths[i] {
			n++
		}
	}
	return n
}

// happen makes something happen between two prompts.
func (c *talk) happen(what int, dice *rand.Rand) {
	switch what {
	case 0:
		c.start(gateway.Options{Folding: gateway.On})
	case 1:
		c.faults.set(full)
	case 2:
		c.rewind(dice.IntN(len(c.history) + 1))
	case 3:
		c.compact()
	case 4:
		c.history = append(c.history, object{"role": "user", "content": []any{object{"type": "text", "text": "<task-notification>x"}}})
	case 5:
		c.faults.set(gone)
	}
}

// rewind cuts the conversation before a prompt of the user's, message from or later.
func (c *talk) rewind(from int) {
	for i := from; i < len(c.history); i++ {
		if m := c.history[i].(object); m["role"] == "user" && i > 0 && c.history[i-1].(object)["role"] == "assistant" && !calls(c.history[i-1].(object)) {
			c.history = c.history[:i]
			return
		}
	}
}

func calls(m object) bool {
	return slices.ContainsFunc(m["content"].([]any), func(b any) bool { return b.(object)["type"] == "tool_use" })
}

// compact puts a summary in the place of all but the last answer, as the client does.
func (c *talk) compact() {
	if len(c.history) == 0 {
		return
	}
	last := c.history[len(c.history)-1]
	c.history = []any{object{"role": "user", "content": "This session is being continued from a previous conversation. " + fmt.Sprint(len(c.lengths))}}
	if last.(object)["role"] == "assistant" {
		c.history = append(c.history, last)
	}
}

func TestWhatACompactionKeepsGoesWithoutItsThinking(t *testing.T) {
	t.Parallel()
	c := framed(t)
	last := c.history[len(c.history)-1]
	c.history = []any{
		object{"role": "user", "content": "This session is being continued from a previous conversation. "},
		object{"role": "system", "content": []any{}}, last,
	}
	for _, words := range []string{"go on", "and on"} {
		c.say(words)
		c.round()
		c.requireNoRefusal()
	}
}
