package rules_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/model/rules"
)

const drop = `"thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}, `

// thoughtTwice returns a conversation whose two answers thought, signed by the judge.
func thoughtTwice(t *testing.T, judge *rules.Judge, more string) string {
	messages := "u hi"
	for _, call := range []string{"1", "2"} {
		verdict := judge.Judge("s", request(messages, more))
		require.NoError(t, verdict.Refused)
		messages += "|a think:" + verdict.Signature + " call:" + call + "|u result:" + call
	}
	return messages
}

func TestThinkingIsBoundToItsPast(t *testing.T) {
	const tools = `"tools": [{"name": "read"}], `
	replaced := func(old, new string) func(string) string {
		return func(m string) string { return strings.Replace(m, old, new, 1) }
	}
	without := func(n int) func(string) string { // the nth thinking block
		return func(m string) string {
			parts := strings.Split(m, "think:")
			_, parts[n], _ = strings.Cut(parts[n], " ")
			return strings.Join(parts[:n], "think:") + strings.Join(parts[n:], "think:")
		}
	}
	for name, tt := range map[string]struct {
		edit    func(messages string) string
		more    string // instead of tools
		refused string // if the API refuses it
		dropped int    // if the request asks for dropping instead
	}{
		"as it was":                       {},
		"with another text before":        {edit: replaced("u hi", "u ho"), refused: "messages.1.content.0", dropped: 2},
		"with another text between":       {edit: replaced("result:1", "result:1 note"), refused: "messages.3.content.0", dropped: 1},
		"with more at the end":            {edit: func(m string) string { return m + " note" }},
		"with marks elsewhere":            {edit: replaced("u hi", "u hi*")},
		"without the oldest thinking":     {edit: without(1)},
		"without the newest thinking":     {edit: without(2)},
		"with another system prompt":      {more: tools + `"system": "be brief", `, refused: "messages.1.content.0", dropped: 2},
		"with a billing header":           {more: tools + `"system": [{"type": "text", "text": "x-anthropic-billing-header: x"}], `},
		"with other tools":                {more: `"tools": [{"name": "write"}], `},
		"with a message that came before": {edit: replaced("u hi", "u so|a what|u hi"), refused: "messages.3.content.0", dropped: 2},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.edit == nil {
				tt.edit = func(m string) string { return m }
			}
			if tt.more == "" {
				tt.more = tools
			}
			for _, mode := range []string{"", drop} {
				judge := rules.New(rules.Options{Protocol: true, Bound: true})
				verdict := judge.Judge("s", request(tt.edit(thoughtTwice(t, judge, tools)), mode+tt.more))
				if mode == "" && tt.refused != "" {
					require.ErrorContains(t, verdict.Refused, tt.refused)
					assert.ErrorContains(t, verdict.Refused, "bound to a different conversation")
					assert.Equal(t, 1, judge.Stats().Rejected)
					continue
				}
				require.NoError(t, verdict.Refused)
				assert.Equal(t, tt.dropped, judge.Stats().Dropped)
			}
		})
	}
}

func TestThinkingBetweenOthersIsMissed(t *testing.T) {
	judge := rules.New(rules.Options{Bound: true})
	messages := thoughtTwice(t, judge, "")
	verdict := judge.Judge("s", request(messages, ""))
	messages += "|a think:" + verdict.Signature + " so|u and"
	parts := strings.Split(messages, "think:")
	_, parts[2], _ = strings.Cut(parts[2], " ")
	verdict = judge.Judge("s", request(parts[0]+"think:"+parts[1]+parts[2]+"think:"+parts[3], ""))
	assert.ErrorContains(t, verdict.Refused, "messages.5.content.0")
}

func TestUserMessagesCountAsOneForThinking(t *testing.T) {
	judge := rules.New(rules.Options{Bound: true})
	signed := judge.Judge("s", request("u hi there", "")).Signature
	assert.NoError(t, judge.Judge("s", request("u hi|u there|a think:"+signed+" yes|u and", "")).Refused)
}

// words counts the words of the conversations above.
func words(text string) int { return 1000 * strings.Count(text, "output") }

func TestCache(t *testing.T) {
	type request struct {
		Messages                     string
		Minutes, Read, Written, Rest int
	}
	for name, requests := range table[[]request](t, "cache") {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(0, 0)
			judge := rules.New(rules.Options{Cache: true, Tokens: words, Now: func() time.Time { return now }})
			for i, r := range requests {
				now = now.Add(time.Duration(r.Minutes) * time.Minute)
				got := judge.Judge("s", requestOf(r.Messages))
				assert.Equal(t, []int{r.Read, r.Written, r.Rest}, []int{got.Read, got.Written, got.Uncached}, "request %d", i)
			}
		})
	}
}

func requestOf(messages string) []byte { return request(messages, "") }

func TestStatsAreKeptForEachSession(t *testing.T) {
	judge := rules.New(rules.Options{Protocol: true, Cache: true, Tokens: words})
	judge.Judge("a", requestOf("u hi|a call:1|u result:1*"))
	judge.Judge("a", requestOf("u hi|a call:1|u result:1*|a call:2|u result:2"))
	judge.Judge("b", requestOf("u hi|a call:1"))
	judge.Answered("b", "output", "output")
	assert.Equal(t, map[string]rules.Stats{
		"a": {Requests: 2, Tokens: 3000, Read: 1000, Written: 1000, Uncached: 1000, Peak: 2000},
		"b": {Requests: 1, Rejected: 1, Out: 2000},
	}, judge.Sessions())
	assert.Equal(t, rules.Stats{Requests: 3, Rejected: 1, Tokens: 3000, Read: 1000, Written: 1000, Uncached: 1000, Peak: 2000, Out: 2000}, judge.Stats())
	assert.Len(t, judge.Reasons(), 1)
}
