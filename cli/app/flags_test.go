package app

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestADurationIsSecondsOrHasUnits(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90": 90 * time.Second, "0.5": 500 * time.Millisecond, "0": 0, "90s": 90 * time.Second, "5m": 5 * time.Minute,
		"2h": 2 * time.Hour, "1h30m": 90 * time.Minute, "7d": 7 * 24 * time.Hour,
	} {
		got, err := parseSpan(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "abc", "-1", "-1h", "2h30", "Inf", "NaN", "1e300", "d", "-7d", "99999d"} {
		_, err := parseSpan(text)
		assert.Error(t, err, text)
	}
}

func TestASizeHasAUnit(t *testing.T) {
	for text, want := range map[string]int64{"500MB": 500 << 20, "20gb": 20 << 30, " 1 TB ": 1 << 40, "0MB": 0} {
		got, err := parseSize(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "5", "GB", "-1GB", "1.5GB", "9999999999TB", "99999999999999999999MB", "5XB"} {
		_, err := parseSize(text)
		assert.Error(t, err, text)
	}
}
