package economy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/transcripts/economy"
)

// A log is a session that a test makes up. Its model counts four characters as a token, and
// 1,000 tokens of instructions in each request.
type log struct {
	messages []core.Message
	size     int64
	calls    int
}

const instructions = 1000

// burden is what flame adds to each request of a host.
func burden(host string) int64 { return map[string]int64{"a host": 850}[host] }

func (l *log) add(m core.Message) {
	m.Session, m.Host = "s", "a host"
	l.messages = append(l.messages, m)
	for _, p := range m.Parts {
		l.size += int64(len(p.Text)+len(p.Input)) / 4
	}
}

func (l *log) prompt(text string) {
	l.add(core.Message{Role: core.RoleUser, Parts: []core.Part{{Type: core.PartText, Text: text}}})
}

// answer makes a request, whose answer says a text.
func (l *log) answer(text string) { l.reply(core.Part{Type: core.PartText, Text: text}) }

// call makes a request, whose answer calls a tool.
func (l *log) call(tool, input, output string) {
	l.calls++
	id := fmt.Sprint("call-", l.calls)
	l.reply(core.Part{Type: core.PartToolCall, CallID: id, Tool: tool, Input: json.RawMessage(input)})
	l.add(core.Message{Role: core.RoleUser, Parts: []core.Part{{Type: core.PartToolResult, CallID: id, Text: output}}})
}

func (l *log) reply(p core.Part) {
	usage := core.Usage{TokensIn: 100, CacheRead: instructions + l.size - 100, TokensOut: 7, CostUSD: 0.25}
	l.add(core.Message{ID: fmt.Sprint("m", len(l.messages)), Role: core.RoleAssistant, Model: "some-model", Usage: usage, Parts: []core.Part{p}})
}

func (l *log) compact(summary string) {
	l.size = 0
	l.add(core.Message{Role: core.RoleUser, Synthetic: true, Summary: true, Parts: []core.Part{{Type: core.PartText, Text: summary}}})
}

func (l *log) seq() iter.Seq2[core.Message, error] {
	return func(yield func(core.Message, error) bool) {
		for _, m := range l.messages {
			if !yield(m, nil) {
				return
			}
		}
	}
}

func report(t *testing.T, l *log) economy.Report {
	r, err := economy.Analyze(l.seq(), burden)
	require.NoError(t, err)
	var all int64
	for _, sent := range r.Kinds {
		assert.GreaterOrEqual(t, sent, int64(0))
		all += sent
	}
	assert.Equal(t, r.Sent, all, "the kinds add up to all that was sent")
	return r
}

// text returns a text of so many tokens in words that no other text has.
func text(name string, tokens int) string {
	return strings.Repeat(name+strings.Repeat("x", 8-len(name)%8-1)+" ", tokens)[:4*tokens]
}

func TestEveryTokenHasAKind(t *testing.T) {
	l := &log{}
	l.prompt(text("prompt", 50))
	l.call("Read", `{"file_path":"/a.go"}   `, text("outputa", 400)) // request 0: 50
	l.call("Bash", `{"command":"make it"}   `, text("outputb", 200)) // request 1: 50 + 6 + 400
	l.answer(text("answer", 10))                                     // request 2: 50 + 6 + 400 + 6 + 200
	r := report(t, l)
	assert.Equal(t, 3, r.Requests)
	assert.Equal(t, int64(3*instructions+50+456+662), r.Sent)
	assert.Equal(t, int64(3*7), r.Written)
	assert.InDelta(t, 0.75, r.CostUSD, 1e-9)
	assert.Equal(t, int64(instructions+662), r.Largest)
	assert.Equal(t, map[economy.Kind]int64{
		economy.Fixed: 3 * instructions, economy.Words: 150, economy.Calls: 18, economy.Outputs: 1000, economy.Added: 0,
		economy.Answers: 0, // of the last request, which no other follows
	}, r.Kinds)
	assert.Equal(t, []economy.Share{{Tool: "Read", Calls: 1, Sent: 800}, {Tool: "Bash", Calls: 1, Sent: 200}}, r.Tools)
	assert.Equal(t, economy.Output{Tool: "Read", Of: "/a.go", Tokens: 400, Requests: 2, Sent: 800}, r.Top[0])
}

func TestAnOutputIsUnusedAfterTheLastAnswerWithItsWords(t *testing.T) {
	l := &log{}
	l.prompt("work")
	l.call("Read", `{"file_path":"/a.go"}`, "func ReadLedger() "+text("filling", 100))
	l.call("Bash", `{"command":"grep ReadLedger"}`, "nothing") // uses the output
	l.call("Bash", `{"command":"ls"}`, "nothing")
	l.answer("done")
	r := report(t, l)
	output := r.Top[0]
	require.Equal(t, 3, output.Requests)
	assert.InDelta(t, 2*output.Tokens, r.Unused, 4, "two requests had it after the one that used it")
}

func TestAnOutputIsStaleAfterTheSameCall(t *testing.T) {
	l := &log{}
	l.prompt("work")
	l.call("Read", `{"file_path":"/a.go"}   `, text("first", 100))
	l.call("Read", `{"file_path":"/a.go"}   `, text("second", 100))
	l.call("Read", `{"file_path":"/b.go"}   `, text("other", 100))
	l.answer("done")
	assert.Equal(t, int64(200), report(t, l).Repeated, "the last two requests had the first output for nothing")
}

func TestFoldingLeavesOutFinishedWork(t *testing.T) {
	l := &log{}
	for range 5 {
		l.prompt(text("prompt", 20))
		for n := range 10 {
			l.call("Read", fmt.Sprintf(`{"file_path":"/%d"}`, n), text("output", 2000))
		}
		l.answer(text("answer", 50))
	}
	r := report(t, l)
	assert.Equal(t, 3, r.Folding.Frames, "the last prompt's work and that of the one before stay")
	assert.Equal(t, r.Sent-r.Folding.LeftOut, r.Folding.Sent)
	assert.Greater(t, float64(r.Sent)/float64(r.Folding.Sent), 1.8)
	// The last request has the work of the last two prompts, and of each other one its words, last
	// answer and facts.
	last := r.Largest - 3*(10*2000+10*4)
	assert.InDelta(t, last+850+3*60, r.Folding.Largest, 100)
}

func TestSmallWorkIsNotFolded(t *testing.T) {
	small := func(l *log) {
		l.prompt("look")
		for n := range 8 {
			l.call("Read", fmt.Sprintf(`{"file_path":"/%d"}`, n), text("output", 100))
		}
		l.answer("done")
	}
	l := &log{}
	for range 6 {
		small(l)
	}
	assert.Equal(t, 4, report(t, l).Folding.Frames, "nine answers each")
	l = &log{}
	for range 6 {
		l.prompt("look")
		l.call("Read", `{"file_path":"/a"}`, text("output", 3000))
		l.answer("done")
	}
	assert.Zero(t, report(t, l).Folding.Frames)
}

func TestFoldingOfOnePromptSavesNothing(t *testing.T) {
	l := &log{}
	l.prompt("all of it")
	for range 20 {
		l.call("Bash", `{"command":"ls"}`, text("output", 500))
	}
	r := report(t, l)
	assert.Zero(t, r.Folding.Frames)
	assert.Zero(t, r.Folding.LeftOut)
}

func TestACompactionEndsWhatWasBefore(t *testing.T) {
	l := &log{}
	l.prompt("work")
	l.call("Bash", `{"command":"ls"}`, text("before", 5000))
	l.answer("half")
	l.compact(text("summary", 100))
	l.prompt("on")
	l.answer("whole")
	r := report(t, l)
	assert.Equal(t, 1, r.Compactions)
	assert.Equal(t, 1, r.Top[0].Requests)
	assert.InDelta(t, 100, r.Kinds[economy.Added], 5)
}

func TestSubagentsCountBesideTheirSession(t *testing.T) {
	l := &log{}
	l.prompt("work")
	l.answer("done")
	for _, m := range l.messages {
		m.Agent, m.ID = "helper", m.ID+"-helper"
		l.messages = append(l.messages, m)
	}
	r := report(t, l)
	assert.Equal(t, 2, r.Conversations)
	assert.Equal(t, 2, r.Requests)
}

func TestALogThatBreaksOffGivesWhatItHas(t *testing.T) {
	l := &log{}
	l.prompt("work")
	l.answer("done")
	broken := errors.New("broken")
	r, err := economy.Analyze(func(yield func(core.Message, error) bool) {
		for m := range l.seq() {
			if !yield(m, nil) {
				return
			}
		}
		yield(core.Message{}, broken)
	}, burden)
	require.ErrorIs(t, err, broken)
	assert.Equal(t, 1, r.Requests)
}

// Any order of entries, with any figures, gives a report that adds up.
func FuzzReport(f *testing.F) {
	f.Add([]byte("uacrauac"), int64(5000), "some words of an output")
	f.Add([]byte("sssaaa"), int64(-1), "")
	f.Add([]byte("racSu"), int64(1<<40), strings.Repeat("long ", 1000))
	f.Fuzz(func(t *testing.T, kinds []byte, sent int64, said string) {
		sent = max(0, sent) % (1 << 40)
		l := &log{}
		for n, kind := range kinds[:min(200, len(kinds))] {
			part := core.Part{Type: core.PartText, Text: said}
			m := core.Message{Session: "s", ID: fmt.Sprint(n / 2), Role: core.RoleAssistant, Usage: core.Usage{TokensIn: sent}}
			switch kind {
			case 'u', 's':
				m.Role, m.Synthetic, m.Usage = core.RoleUser, kind == 's', core.Usage{}
			case 'S':
				m.Role, m.Summary, m.Usage = core.RoleUser, true, core.Usage{}
			case 'c':
				part = core.Part{Type: core.PartToolCall, CallID: fmt.Sprint(n % 3), Tool: "Read", Input: json.RawMessage(said)}
			case 'r':
				part = core.Part{Type: core.PartToolResult, CallID: fmt.Sprint(n % 3), Text: said}
			}
			m.Parts = []core.Part{part}
			l.messages = append(l.messages, m)
		}
		r := report(t, l)
		assert.LessOrEqual(t, r.Unused, r.Kinds[economy.Outputs]+int64(len(kinds)))
		assert.LessOrEqual(t, r.Repeated, r.Kinds[economy.Outputs]+int64(len(kinds)))
		assert.GreaterOrEqual(t, r.Folding.LeftOut, int64(0))
	})
}
