package core_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/core"
)

func TestToGoOnIsNoGoal(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"continue", "Continue.", "please go on!", "OK, carry on", "yes", "go ahead and do it", "Keep going with the work", "next"} {
		assert.True(t, core.IsContinuePrompt(text), text)
		e := core.EvaluatePush(core.PushInput{Goal: "Fix the login", PotentialGoal: text, Messages: 30, Tokens: 90_000, Errors: 4}, core.DefaultAutonomyConfig())
		assert.False(t, e.Recommended, text)
		assert.Less(t, e.Confidence, e.Threshold)
	}
	for _, text := range []string{"", "continue the migration to SQLite", "go through the logs", "next: the form", "Do the login", "do not go on"} {
		assert.False(t, core.IsContinuePrompt(text), text)
	}
}
