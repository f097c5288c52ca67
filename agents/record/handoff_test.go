package record_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/record"
)

// A record of the first version is read as one of this one.
func TestAHandoffOfTheFirstVersionIsRead(t *testing.T) {
	t.Parallel()
	want := record.Handoff{
		Agent: "agent-a", Session: "s", Transfer: true, OnFailure: record.Retry, Timeout: 7, Due: 8, First: "agent-b", Retries: 1,
		Outcome: "failure", Next: "agent-c", Claimed: 9, Resolved: true,
	}
	var first record.Handoff
	require.NoError(t, json.Unmarshal([]byte(`{
		"subagent_id": "agent-a", "parent_session_id": "s", "transfer_control": true, "on_failure": "retry", "timeout": 7, "due": 8,
		"first": "agent-b", "retries": 1, "outcome": "failure", "next": "agent-c", "claimed": 9, "resolved": true
	}`), &first))
	assert.Equal(t, want, first)

	raw, err := json.Marshal(first)
	require.NoError(t, err)
	var again record.Handoff
	require.NoError(t, json.Unmarshal(raw, &again))
	assert.Equal(t, want, again)
	assert.Equal(t, []string{`"subagent_id":`}, regexp.MustCompile(`"\w+_\w+":`).FindAllString(string(raw), -1), "Save writes only the present names")
}
