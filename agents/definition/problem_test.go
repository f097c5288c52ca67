package definition_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
)

// problem checks an error that a user or model can act on, and returns its text with
// the hint.
func problem(t *testing.T, err error, kind error) string {
	t.Helper()
	require.ErrorIs(t, err, kind)
	var p *core.Problem
	require.ErrorAs(t, err, &p)
	assert.NotEmpty(t, p.Hint, "no advice: %v", err)
	return p.Error() + " " + p.Hint
}
