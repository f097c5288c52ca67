package tests

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/tests/model"
)

const parserGoal = "Write the parser"

var planned = regexp.MustCompile(`plan-[a-z0-9]{8}`)

func calls(tool string, input map[string]any) model.Turn {
	return model.Turn{Tools: []model.Tool{{Name: tool, Input: input}}}
}

func TestRegisteredByHand(t *testing.T) {
	t.Parallel()
	for _, client := range []string{claudeCode, openCode} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			u := newUser(t, client)
			u.byHand(client)
			u.model.Play(model.Script{{Name: "main", Turns: []model.Turn{calls("flame_push", map[string]any{"goal": parserGoal})}}})
			u.ask(client, "Begin the work.")
			assert.Equal(t, "in_progress", u.frame(parserGoal).Status)
		})
	}
}
