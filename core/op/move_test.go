package op_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/core/op"
)

func TestMovesAreReadFromAnswers(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string][]op.Move{
		"frame-a is completed: \"g\"\nStarted frame-b as your current frame.": {
			{Leaves: true, Frame: "frame-a", Rest: "frame-a is completed: \"g\""}, {Frame: "frame-b"},
		},
		"frame-a is failed.\nActivated frame-b \"h\".":                     {{Leaves: true, Frame: "frame-a"}, {Frame: "frame-b"}},
		"frame-a is completed: \"Started frame-b as your current frame.\"": {{Leaves: true, Frame: "frame-a"}},
		"frame-a waits for a summary and will then be completed.":          nil,
	} {
		assert.Equal(t, want, op.ParseMoves(op.Pop, answer), answer)
	}
	assert.Equal(t, []op.Move{{Frame: "frame-b"}}, op.ParseMoves(op.Push, "Started frame-b below frame-a."))
}
