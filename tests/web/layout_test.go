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
	t.Parallel()
	u := newUser(t)
	u.id("push", "The harvest")
	s := u.serve()
	tb := newTab(t)
	tb.open(s.address)
	broken := eval[[]string](tb, layoutProperties)
	assert.Empty(t, broken)
}
