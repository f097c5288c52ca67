package rules_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"flame/tests/model/rules"
)

func TestCachesThatNeedNoMarks(t *testing.T) {
	tests := map[string]struct {
		read  rules.Read
		whole string // a request with room for a text and for more of the conversation
		more  string
		paid  bool // for what is put into the cache
	}{
		"Responses": {
			read: rules.Responses, paid: true,
			whole: `{"instructions": "be brief", "tools": [{"name": "read"}], "input": [{"role": "user", "content": %q}%s]}`,
			more:  `, {"type": "reasoning", "id": "rs_1", "encrypted_content": "x"}, {"role": "assistant", "content": "yes"}`,
		},
		"contents": {
			read: rules.Contents,
			whole: `{"systemInstruction": {"parts": [{"text": "be brief"}]}, "tools": [{}],
				"contents": [{"role": "user", "parts": [{"text": %q}]}%s]}`,
			more: `, {"role": "model", "parts": [{"functionCall": {"name": "read"}, "thoughtSignature": "x"}]}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			judge := rules.New(rules.Options{Cache: true, Now: func() time.Time { return now }})
			ask := func(text, more string) rules.Verdict {
				return judge.Count("s", tt.read([]byte(fmt.Sprintf(tt.whole, text, more))), nil)
			}
			long := strings.Repeat("word ", 1000)
			first := ask(long, "")
			new := first.Uncached
			if tt.paid {
				new = first.Written
			}
			assert.Greater(t, new, 1000)
			assert.Zero(t, first.Read+first.Uncached+first.Written-new)

			assert.Equal(t, new, ask(long, tt.more).Read, "what is new is at the end")
			assert.Zero(t, ask("other "+long, tt.more).Read, "another beginning")
			assert.Zero(t, ask("short", "").Read+ask("short", "").Read, "too short to be kept")
			now = now.Add(time.Hour)
			assert.Zero(t, ask(long, "").Read, "too late")

			assert.Error(t, judge.Count("s", rules.Body{}, errors.New("refused")).Refused)
			stats := judge.Stats()
			assert.Equal(t, []int{7, 1, 2}, []int{stats.Requests, stats.Rejected, stats.Thinking})
			assert.Equal(t, stats.Tokens, stats.Read+stats.Written+stats.Uncached)
			assert.Equal(t, map[string]int{"refused": 1}, judge.Reasons())
		})
	}
}

func TestOtherBodiesAreEmpty(t *testing.T) {
	for _, read := range []rules.Read{rules.Responses, rules.Contents} {
		assert.Empty(t, read([]byte("no JSON")).Messages)
	}
}
