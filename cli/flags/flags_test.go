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

func TestASizeHasAUnit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"500MB": 500 << 20, "20gb": 20 << 30, " 1 TB ": 1 << 40, "0MB": 0} {
		var got int64
		require.NoError(t, (*size)(&got).Set(text), text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "5", "GB", "-1GB", "1.5GB", "9999999999TB", "99999999999999999999MB", "5XB"} {
		var got int64
		assert.Error(t, (*size)(&got).Set(text), text)
	}
	gb, mb, none := size(20<<30), size(1500<<20), size(0)
	assert.Equal(t, []string{"20GB", "1500MB", ""}, []string{gb.String(), mb.String(), none.String()})
}
