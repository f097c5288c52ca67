package core_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
)

// The page has the same table (tests/web): what is counted has one form everywhere.
func TestAmountsHaveOneForm(t *testing.T) {
	t.Parallel()
	forms := map[string]func(n float64) string{
		"amount": func(n float64) string { return core.Amount(int64(n)) }, "money": core.Money, "less": core.Less,
		"span": func(n float64) string { return core.Span(int64(n)) }, "percent": func(n float64) string { return core.Percent(n, 1) },
	}
	var table map[string][][2]any
	text, err := os.ReadFile("testdata/amounts.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &table))
	require.Len(t, table, len(forms))
	for name, rows := range table {
		for _, row := range rows {
			assert.Equal(t, row[1], forms[name](row[0].(float64)), "%s of %v", name, row[0])
		}
	}
	assert.Equal(t, []string{"1 token", "570 k tokens", "9.22 E tokens"}, []string{core.Tokens(1), core.Tokens(569_999), core.Tokens(int64(math.MaxInt64))})
	assert.Equal(t, []string{"950 B", "12.3 kB", "2 MB"}, []string{core.Size(950), core.Size(12_345), core.Size(2e6)})
	assert.Equal(t, []string{"40 %", "0 %"}, []string{core.Percent(2, 5), core.Percent(2, 0)})
}

func TestACostOfWhichAPartIsNotKnownSaysSo(t *testing.T) {
	t.Parallel()
	for want, u := range map[string]core.Usage{
		"$0":             {},
		"$1.00":          {TokensIn: 1, CostUSD: 1},
		"cost not known": {TokensIn: 7, Unpriced: 7},
		"at least $1.00": core.Usage{TokensIn: 1, CostUSD: 1}.Add(core.Usage{TokensIn: 7, Unpriced: 7}),
	} {
		assert.Equal(t, want, core.Cost(u))
	}
}
