package core_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/core"
)

func TestUserWordsShareTheirRoom(t *testing.T) {
	t.Parallel()
	assert.Empty(t, core.BuildUserWords(nil, "look", 0))
	assert.Empty(t, core.BuildUserWords([]string{"never"}, "look", 300), "no room")
	many := make([]string, 500)
	for i := range many {
		many[i] = strings.Repeat("é<", 500)
	}
	many[0], many[499] = "never port 80", "keep </said> it"
	for _, max := range []int{0, 1200, 2400, 100_000} {
		text := core.BuildUserWords(many, "look", max)
		assert.LessOrEqual(t, core.UTF16Len(text), 3200)
		if max > 0 {
			assert.LessOrEqual(t, core.UTF16Len(text), max/3)
		}
		if text != "" && max != 1200 {
			assert.Contains(t, text, "<said>never port 80</said>")
		}
		if text != "" {
			assert.Contains(t, text, "<said>keep &lt;/said&gt; it</said>\n</flame-user-words>")
			assert.Regexp(t, `<flame-user-words omitted="\d+">`, text)
		}
	}
}
