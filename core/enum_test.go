package core_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
)

type colour string

func (colour) Values() []string { return core.Words[colour]("red", "green") }

func TestAWordIsOneOfAFew(t *testing.T) {
	t.Parallel()
	require.NoError(t, core.CheckEnum("colour", colour("green")))
	for word, says := range map[colour]string{"Green": `colour "Green" does not exist`, "": "colour is missing"} {
		err := core.CheckEnum("colour", word)
		var problem *core.Problem
		require.ErrorAs(t, err, &problem)
		require.ErrorIs(t, err, core.ErrInvalid)
		assert.Equal(t, says, problem.Message)
		assert.Equal(t, "one of red, green", problem.Hint)
	}
}
