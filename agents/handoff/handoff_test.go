package handoff_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/handoff"
)

// A record of the first version is read as one of this one.
func TestAHandoffOfTheFirstVersionIsRead(t *testing.T) {
	t.Parallel()
	want := handoff.Handoff{
		Agent: "agent-a", Session: "s", Transfer: true, OnFailure: handoff.Retry, Timeout: 7, Due: 8, First: "agent-b", Retries: 1,
		Outcome: "failure", Next: "agent-c", Claimed: 9, Resolved: true,
	}
	var first handoff.Handoff
	require.NoError(t, json.Unmarshal([]byte(`{
		"subagent_id": "agent-a", "parent_session_id": "s", "transfer_control": true, "on_failure": "retry", "timeout": 7, "due": 8,
		"first": "agent-b", "retries": 1, "outcome": "failure", "next": "agent-c", "claimed": 9, "resolved": true
	}`), &first))
	assert.Equal(t, want, first)

	raw, err := json.Marshal(first)
	require.NoError(t, err)
	var again handoff.Handoff
	require.NoError(t, json.Unmarshal(raw, &again))
	assert.Equal(t, want, again)
	assert.Equal(t, []string{`"subagent_id":`}, regexp.MustCompile(`"\w+_\w+":`).FindAllString(string(raw), -1), "names are written one way")
}
