package record

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/definition"
	"flame/core"
	"flame/hosts"
)

// A record of the first version is read as one of this one.
func TestARecordOfTheFirstVersionIsRead(t *testing.T) {
	t.Parallel()
	want := Agent{
		ID: "agent-a", Tree: "s", ParentSession: "s", ParentAgent: "agent-b", Session: "own", Frame: "frame-1", Depth: 2, Host: "opencode", Type: "builder",
		Source: definition.Source{Kind: definition.Builtin}, Digest: "d1", Prompt: "build", Mode: ModeChoice{Effective: hosts.ModePlan, CappedBy: "parent"},
		DelegateTools: []string{"Bash"}, MaxDepth: 3, Call: "call-1", Key: "k", Schema: json.RawMessage(`{"type":"object"}`), State: core.AgentCompleted,
		ArtifactHashes: map[string]string{"a.txt": "h"}, CreatedAt: 7,
	}
	var first Agent
	require.NoError(t, json.Unmarshal([]byte(`{
		"subagent_id": "agent-a", "tree": "s", "parent_session_id": "s", "parentAgent": "agent-b", "session": "own", "frame": "frame-1", "depth": 2,
		"host": "opencode", "agent_type": "builder", "definition": {"kind": "builtin"}, "definition_digest": "d1", "prompt": "build",
		"permission_mode": {"effective": "plan", "cappedBy": "parent"}, "delegate_grants": ["Bash"], "maxDepth": 3, "parent_tool_id": "call-1",
		"idempotency_key": "k", "result_schema": {"type":"object"}, "state": "completed", "artifact_hashes": {"a.txt": "h"}, "createdAt": 7
	}`), &first))
	assert.Equal(t, want, first)

	raw, err := json.Marshal(first)
	require.NoError(t, err)
	var again Agent
	require.NoError(t, json.Unmarshal(raw, &again))
	assert.Equal(t, want, again)
	assert.Equal(t, []string{`"subagent_id":`}, regexp.MustCompile(`"\w+_\w+":`).FindAllString(string(raw), -1), "Save writes only the present names")
}
