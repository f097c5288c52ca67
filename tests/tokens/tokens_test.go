package tokens_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/tokens"
)

func TestCount(t *testing.T) {
	t.Parallel()
	counter, err := tokens.New()
	require.NoError(t, err)
	for text, want := range map[string]int{
		"":                             0,
		"hello world":                  2,
		"tiktoken is great!":           6,
		"antidisestablishmentarianism": 6,
		"2 + 2 = 4":                    7,
		"お誕生日おめでとう":                    8,
	} {
		for range 2 {
			assert.Equal(t, want, counter.Count(text), "%q", text)
		}
	}
}
