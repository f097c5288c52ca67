package render_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/render"
)

func TestDurationRoundsHalvesUp(t *testing.T) {
	t.Parallel()
	for ms, want := range map[int64]string{
		1: "1ms", 1000: "1.0s", 1250: "1.3s", 1750: "1.8s", 2250: "2.3s", 1150: "1.1s", 60_000: "1.0m", 75_000: "1.3m", 4_500_000: "1.3h",
	} {
		assert.Equal(t, want, render.Duration(ms), "%d ms", ms)
	}
}
