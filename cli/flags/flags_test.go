package flags

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
