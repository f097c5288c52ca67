package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/hosts/gateway"
	"flame/project"
	"flame/project/stack"
	"flame/tests/model"
	"flame/tests/projecttest"
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
func (c *talk) isFolded() bool { return !c.has("content of a") }

// has reports whether a result in the newest request has a text.
func (c *talk) has(text string) bool {
	return slices.ContainsFunc(c.newest().Messages, func(m model.Message) bool {
		return slices.ContainsFunc(m.Results, func(result string) bool { return strings.Contains(result, text) })
	})
}

func TestAFoldHolds(t *testing.T) {
	t.Parallel()
	tests := map[string]func(c *talk){
		"in the next round":           func(*talk) {},
		"when the gateway is another": func(c *talk) { c.start(gateway.Options{Folding: gateway.FoldOn}) },
		"when nothing can be written": func(c *talk) {
			c.start(gateway.Options{Folding: gateway.FoldOn, Patience: 2 * time.Second})
			c.say("with little patience")
			c.round()
			c.faults.set(locked)
		},
		"in another gateway that cannot write": func(c *talk) {
			c.faults.set(busy)
			c.start(gateway.Options{Folding: gateway.FoldOn})
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
	busy   // the same, and the time to wait is over
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
	case mode == busy && !reads:
		return context.DeadlineExceeded
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

func TestWithoutTheGatewayTheSessionContinues(t *testing.T) {
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

// refuses lets the model refuse requests because of their messages before it answers.
func (c *talk) refuses(times int, answers ...model.Turn) {
	why := "messages.1.content.0: Invalid `signature` in `thinking` block"
	refusal := model.Turn{Error: &model.Error{Status: 400, Type: "invalid_request_error", Message: why}}
	c.model.Play(model.Script{{Name: "main", Kind: model.Work, Turns: slices.Concat(slices.Repeat([]model.Turn{refusal}, times), answers)}})
}

func TestAfterARefusalASessionGoesOutWhole(t *testing.T) {
	t.Parallel()
	c := framed(t)
	c.refuses(1, model.Turn{Text: "one"}, push("three"), read("g"), pop("did three"), model.Turn{Text: "two"}, model.Turn{Text: "three"})
	c.say("go on")
	require.Nil(t, c.ask())
	require.True(t, c.isFolded())
	require.NotNil(t, c.ask(), "the thinking that was made with another past has gone")
	assert.False(t, c.isFolded())
	c.start(gateway.Options{Folding: gateway.FoldOn})
	kept := len(c.history)
	c.say("in another process, and with another frame")
	c.round()
	assert.False(t, c.isFolded())
	assert.True(t, c.has("content of g"))
	c.history = append([]any{object{"role": "user", "content": "This session is being continued from a previous conversation. "}}, c.history[kept+1:]...)
	c.say("after a compaction")
	c.round()
	c.requireNoRefusal()
	assert.False(t, c.has("content of g"))
}

func TestAfterTwoRefusalsASessionGoesOutAsItCame(t *testing.T) {
	t.Parallel()
	c := framed(t)
	c.refuses(2, model.Turn{Text: "whole"})
	c.say("go on")
	require.Nil(t, c.ask())
	require.Nil(t, c.ask())
	c.forgetThinking()
	c.start(gateway.Options{Folding: gateway.FoldOn})
	require.NotNil(t, c.ask())
	assert.False(t, c.isFolded())
}

func TestFoldingIsSwitched(t *testing.T) {
	t.Parallel()
	for _, way := range []gateway.Folding{gateway.FoldOff, gateway.FoldByAPI} {
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

// hostSays adds a message of role system.
func (c *talk) hostSays(text string) {
	c.history = append(c.history, object{"role": "system", "content": []any{object{"type": "text", "text": text}}})
}

const meanwhile = "The user sent a new message while you were working:\n"

func TestWhatTheUserSaidMeanwhileStaysWhateverFolds(t *testing.T) {
	t.Parallel()
	c := newTalk(t, push("outer"), read("z"), push("inner"), read("a"), pop("did inner"), read("c"), pop("did outer"), model.Turn{Text: "so far"},
		model.Turn{Text: "end"})
	c.f.Prompt(projecttest.Host("s"), "p1", "work")
	rounds := 0
	c.behind = func() {
		if rounds++; rounds == 4 {
			c.hostSays(meanwhile + "NEVER TOUCH PROD")
		}
	}
	c.say("work")
	c.round()
	c.say("go on")
	c.round()
	c.requireNoRefusal()
	assert.Contains(t, strings.Join(texts(c.newest()), " "), "NEVER TOUCH PROD")
	assert.NotContains(t, c.said(), "content of z")
}

// said is all that tools told in the newest request.
func (c *talk) said() (all string) {
	for _, m := range c.newest().Messages {
		all += strings.Join(m.Results, " ")
	}
	return all
}

func TestWorkOutsideOfFramesStaysWhereNobodyKnowsWhenItWasDone(t *testing.T) {
	t.Parallel()
	c := newTalk(t, push("one"), read("a"), model.Turn{Text: "so far"}, read("rootwork"), model.Turn{Text: "done in the root"}, model.Turn{Text: "x"},
		model.Turn{Text: "y"})
	c.f.Prompt(projecttest.Host("s"), "p1", "work")
	c.say("work")
	c.round()
	c.clock.Add(1000)
	_, err := stack.Pop(c.f.Ctx, c.f.Project, projecttest.Host("s"), stack.PopArgs{Status: core.Completed, Summary: "by hand"})
	require.NoError(t, err)
	through := c.url
	c.url = c.model.URL
	c.say("now in the root")
	c.round()
	c.url = through
	for range 2 {
		c.say("behind a gateway again")
		c.round()
		c.requireNoRefusal()
	}
	assert.Contains(t, c.said(), "content of rootwork")
	assert.Contains(t, strings.Join(texts(c.newest()), " "), "done in the root")
}

func TestAnOutageLeavesNoTrace(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]string{"the same words": "Done.", "other words": "Ready."} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newTalk(t, model.Turn{Thinking: "a", Text: "Done."}, model.Turn{Thinking: "b", Text: second}, model.Turn{Thinking: "c", Text: "ok"},
				model.Turn{Text: "end"})
			c.f.Prompt(projecttest.Host("s"), "p1", "work")
			for i, mode := range []int32{fine, full, full, fine} {
				c.faults.set(mode)
				c.say(fmt.Sprint("prompt ", i))
				c.round()
				c.requireNoRefusal()
			}
		})
	}
}

func TestRefusalsForOtherReasonsDoNotStopFolding(t *testing.T) {
	t.Parallel()
	for _, why := range []string{"Your credit balance is too low to access the API.", "prompt is too long: 210000 tokens > 200000 maximum"} {
		c := framed(t)
		refusal := model.Turn{Error: &model.Error{Status: 400, Type: "invalid_request_error", Message: why}}
		c.model.Play(model.Script{{Name: "main", Kind: model.Work, Turns: []model.Turn{refusal, refusal, refusal, {Text: "one"}}}})
		c.say("go on")
		for range 4 {
			c.ask()
		}
		assert.True(t, c.isFolded(), why)
		c.requireNoRefusal()
	}
}

func TestContextsAreClearedWhereTheClientAsksForSuchThings(t *testing.T) {
	t.Parallel()
	for beta, shorter := range map[string]bool{"": false, "x,context-management-2025-06-27": true} {
		c := newTalk(t, model.Turn{Text: "end"})
		c.start(gateway.Options{Folding: gateway.FoldByAPI})
		c.say("work")
		body := c.body()
		response := c.post("/v1/messages", body, http.Header{"Anthropic-Beta": {beta}})
		require.NoError(t, response.Body.Close())
		assert.Equal(t, shorter, c.newest().Bytes != len(body), beta)
	}
}

func TestFlameIsTurnedOffWhileAGatewayRuns(t *testing.T) {
	t.Parallel()
	c := framed(t)
	require.NoError(t, c.f.Project.SetOff(c.f.Ctx, true))
	c.forgetThinking()
	c.say("go on")
	c.round()
	assert.False(t, c.isFolded())
}
