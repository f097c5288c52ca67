package projecttest

import (
	"flame/core"
	"flame/core/fold"
)

// Asked returns a conversation of prompts without answers.
func Asked(prompts ...string) (history []fold.Message) {
	for i, name := range prompts {
		history = append(history, fold.Message{Name: name, Role: core.RoleUser, Time: core.Millis(i + 1)})
	}
	return history
}
