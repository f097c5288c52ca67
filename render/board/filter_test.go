package board

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
)

func TestFilters(t *testing.T) {
	t.Parallel()
	const day = core.Millis(24 * 60 * 60 * 1000)
	now := core.MillisOf(time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC))
	frames := map[string]*Row{
		"open":   {Status: core.InProgress, Agent: "code reviewer", Host: "opencode"},
		"failed": {Status: core.Failed, Until: now - day, Agent: "tester", Total: core.Usage{CostUSD: 2, TokensIn: 20_000}},
		"old":    {Status: core.Completed, Until: now - 30*day, Host: "codex", Machine: "attic", Total: core.Usage{CostUSD: 0.2}},
	}
	tests := map[string]struct {
		words string
		wants string
	}{
		"":                                {"", "open failed old"},
		"status:failed":                   {"", "failed"},
		"STATUS:failed,in_progress":       {"", "open failed"},
		"-status:failed":                  {"", "open old"},
		`agent:"code reviewer"`:           {"", "open"},
		`agent:tester,"code reviewer"`:    {"", "open failed"},
		"host:opencode machine:attic":     {"", ""},
		"-host:opencode,codex":            {"", "failed"},
		"since:2d":                        {"", "open failed"},
		"since:2h":                        {"", "open"},
		"since:2026-01-01 -since:2w":      {"", "old"},
		"since:2026-01-30":                {"", "open failed"},
		"cost:>0.50":                      {"", "failed"},
		"cost:<$1":                        {"", "open old"},
		"tokens:>10k":                     {"", "failed"},
		"tokens:>1M":                      {"", ""},
		"status:":                         {"", "open failed old"},
		"parser status:failed   tests":    {"parser tests", "failed"},
		`"status:failed" https://a.b/c:d`: {"status:failed https://a.b/c:d", "open failed old"},
		`agent:"tester`:                   {"", "failed"},
	}
	for text, test := range tests {
		f, err := ParseFilter(text, time.UTC)
		require.NoError(t, err, text)
		assert.Equal(t, test.words, f.Words, text)
		got := ""
		for _, id := range []string{"open", "failed", "old"} {
			if f.Wants(frames[id], now) {
				got += " " + id
			}
		}
		assert.Equal(t, test.wants, strings.TrimSpace(got), text)
	}
	for text, want := range map[string]string{
		"status:fine":     `there is no status "fine"`,
		"colour:red":      `there is no term "colour:"`,
		"since:yesterday": `"yesterday" is no time`,
		"since:9999999d":  `"9999999d" is no time`,
		"cost:5":          `"5" is no bound`,
	} {
		_, err := ParseFilter(text, time.UTC)
		assert.ErrorContains(t, err, want, text)
		assert.ErrorIs(t, err, core.ErrInvalid, text)
		assert.NotEmpty(t, core.HintOf(err), text)
	}
}
