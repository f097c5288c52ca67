package cli

import (
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
)

func TestHowLongIsSecondsOrADuration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"90": 90 * time.Second, "0.5": 500 * time.Millisecond, "0": 0, "90s": 90 * time.Second, "5m": 5 * time.Minute,
		"2h": 2 * time.Hour, "1h30m": 90 * time.Minute, "7d": 7 * 24 * time.Hour,
	} {
		var got time.Duration
		require.NoError(t, (*span)(&got).Set(text), text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "abc", "-1", "-1h", "2h30", "Inf", "NaN", "1e300", "d", "-7d", "99999d"} {
		var got time.Duration
		assert.Error(t, (*span)(&got).Set(text), text)
	}
	day, none, minutes := span(30*24*time.Hour), span(0), span(10*time.Minute)
	assert.Equal(t, []string{"30d", "", "10m0s"}, []string{day.String(), none.String(), minutes.String()})
}

// TestEveryFlagOfATimeTakesTheSame is about flags of one name that took seconds in
// one place and durations in another.
func TestEveryFlagOfATimeTakesTheSame(t *testing.T) {
	t.Parallel()
	for _, line := range [][]string{
		{"agents", "spawn", "builder", "x", "--timeout"}, {"agents", "wait", "agent-1", "--timeout"}, {"agents", "handoff", "agent-1", "--timeout"},
		{"agents", "prune", "--older-than"}, {"agents", "grant", "plan", "--for"},
	} {
		got := run(t, t.Context(), append(line, "abc")...)
		assert.Equal(t, exitUsage, got.code)
		assert.Contains(t, got.errors, "flame: "+line[len(line)-1]+` takes seconds or a duration such as 90s, 5m or 2h, not "abc"`)
	}
}

func TestEveryKindOfEventMayBeAskedFor(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../core/event.go")
	require.NoError(t, err)
	var kinds []string
	for _, found := range regexp.MustCompile(`(?m)^\t[A-Z]\w+ += "([A-Z]\w+)"`).FindAllStringSubmatch(string(source), -1) {
		kinds = append(kinds, found[1])
	}
	assert.Greater(t, len(kinds), 30)
	assert.Equal(t, kinds, core.EventKinds)
	assert.NoError(t, knownKinds(kinds))
}
