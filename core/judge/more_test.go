package judge_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/core/judge"
)

func TestAPromptAsksForMoreOfTheWorkAtHandOrNot(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]bool{
		"better, but now there is a gap below the total": true,
		"does it work in Safari?":                        true,
		"use the same helper in the importer":            true,
		"panic: runtime error: index out of range":       true,
		strings.Repeat("the header overlaps ", 100_000):  true,
		"It crashes":                   true,
		"broken":                       true,
		"revert that":                  true,
		"Danke, sieht super aus":       false,
		"Great, exactly what I wanted": false,
		"":                             false,
		"continue":                     false,
		"thanks, that works":           false,
		"perfect, commit it":           false,
		"yes please":                   false,
		"/compact":                     false,
		"<task-notification>x</task-notification>": false,
	} {
		assert.Equal(t, want, judge.AsksForMore(prompt), "%.80q", prompt)
	}
}
