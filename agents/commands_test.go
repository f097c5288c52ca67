package agents

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/converge"
)

func TestADelegateLineIsRead(t *testing.T) {
	t.Parallel()
	tools := []string{"Read", "Grep"}
	tests := map[string]struct {
		line string
		want Request
		wait bool
	}{
		"as the seed has it": {
			line: `fix the login --agent-type builder --permission-mode acceptEdits --timeout 60 --tools Read,Grep`,
			want: Request{Type: "builder", Prompt: "fix the login", Mode: AcceptEdits, Timeout: time.Minute, Tools: &tools},
		},
		"with the command's name":     {line: "/flame:delegate look --agent-type analyzer", want: Request{Type: "analyzer", Prompt: "look"}},
		"a task in quotes":            {line: `"fix it, don't --break it" --agent-type builder`, want: Request{Type: "builder", Prompt: "fix it, don't --break it"}},
		"quotes inside the task":      {line: `say "hello" --agent-type=builder`, want: Request{Type: "builder", Prompt: `say "hello"`}},
		"all of it in quotes":         {line: `"say \"hello\" --agent-type builder"`, want: Request{Type: "builder", Prompt: `say "hello"`}},
		"without context, waited for": {line: "look --agent-type analyzer --inherit-context=false --background false", want: Request{Type: "analyzer", Prompt: "look", Bare: true}, wait: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, background, err := ParseDelegate(tt.line)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
			assert.Equal(t, !tt.wait, background)
		})
	}
	for line, says := range map[string]string{
		"fix it":                               "--agent-type is missing",
		"fix it --agent-type b --timeout soon": "not a number",
		"fix it --agent-type b --speed 9":      "speed",
	} {
		_, _, err := ParseDelegate(line)
		assert.ErrorContains(t, err, says)
	}
}

func TestAHandoffLineIsRead(t *testing.T) {
	t.Parallel()
	got, err := ParseHandoff("agent-1 --transfer-control --timeout 9 --on-failure retry")
	require.NoError(t, err)
	assert.Equal(t, HandoffRequest{ID: "agent-1", Transfer: true, Timeout: 9 * time.Second, OnFailure: Retry}, got)
	_, err = ParseHandoff("")
	assert.ErrorContains(t, err, "one subagent_id")
}

func TestAConvergeLineIsRead(t *testing.T) {
	t.Parallel()
	ids, options, err := ParseConverge("agent-1, agent-2 agent-3 --strategy vote --conflict-resolution prefer_higher_confidence --output-format json --tolerance 0.1")
	require.NoError(t, err)
	assert.Equal(t, []string{"agent-1", "agent-2", "agent-3"}, ids)
	assert.Equal(t, converge.Options{Strategy: converge.StrategyVote, Resolution: converge.PreferHigherConfidence, Format: converge.JSON, Tolerance: 0.1}, options)
}

func TestAPatchTellsWhatItDoesToEachFile(t *testing.T) {
	t.Parallel()
	one := patchedFiles("*** Begin Patch\n*** Update File: a.go\n@@\n-x\n+y\n*** Add File: b.go\n+new\n*** End Patch", "c1")
	other := patchedFiles("*** Begin Patch\n*** Add File: c.go\n+c\n*** Update File: a.go\n@@\n-x\n+y\n*** End Patch", "c2")
	require.Len(t, one, 2)
	require.Len(t, other, 2)
	assert.Equal(t, []string{"a.go", "b.go"}, []string{one[0].path, one[1].path})
	assert.Equal(t, one[0].doing, other[1].doing, "the same change in another patch is the same")
	assert.True(t, one[0].existed)
	assert.False(t, one[1].existed)
}
