package judge_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/core/judge"
)

func TestAPlannedPieceBeginsWhereThePromptSaysSo(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]bool{
		"ok, now the exporter please":                     true,
		"Good. Write the CSV exporter next, with headers": true,
		"exporter":                                          true,
		"next: the exporter":                                true,
		"start with the exporter":                           true,
		"Make sure the exporter can read this too":          false,
		"The importer writes the same file as the exporter": false,
		"Rename exporter.go to writer.go":                   false,
		"Estimate the exporter":                             false,
		"Do the exporter after lunch":                       false,
		"exporter?":                                         false,
		"Who will write the exporter? Tell me":              false,
		"continue":                                          false,
		"":                                                  false,
	} {
		assert.Equal(t, want, judge.Begins(prompt, "Write the CSV exporter"), prompt)
	}
}
