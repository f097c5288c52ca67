package web

import (
	_ "embed"
	"testing"

	"github.com/stretchr/testify/assert"
)

//go:embed testdata/layout.js
var layoutProperties string

// The test lays out thousands of random trees with the page's own modules, in the browser that
// draws them.
func TestThePictureKeepsItsPromises(t *testing.T) {
	_, _, s, tb := harvest(t)
	tb.open(s.address)
	broken := eval[[]string](tb, layoutProperties)
	assert.Empty(t, broken)
}
