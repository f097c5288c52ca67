package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents"
	"flame/agents/plan"
	"flame/core"
	"flame/hosts"
	"flame/project"
	"flame/tests/projecttest"
	"flame/tools"
)

// hosted makes p a project whose server runs below a host.
func hosted(p *project.Project) *project.Project {
	p.StampKey = func(context.Context, bool) (project.StampKey, error) { return projecttest.Key, nil }
	p.HostProcess = func() project.Process { return project.Process{PID: 77, Started: "1 boot"} }
	return p
}

// stamped returns the arguments of a call as a hook leaves them: with these members and the stamp
// of a caller.
func stamped(t *testing.T, p *project.Project, tool, session, agent, members string) string {
	s := project.Stamp{Session: session, Agent: agent, Tool: tool}
	proof, err := hosted(p).ProveStamp(t.Context(), s)
	require.NoError(t, err)
	return fmt.Sprintf(`{%s, "session_id": %q, "agent_id": %q, "flame_proof": %q}`, members, session, agent, proof)
}

// goalOf returns the goal of the frame in which a session works; empty without one.
func goalOf(t *testing.T, p *project.Project, session string) string {
	frame, _, err := projecttest.Current(t.Context(), p, project.Caller{Session: session})
	require.NoError(t, err)
	return frame.Goal
}

func TestOnlyAProvenStampNamesTheCaller(t *testing.T) {
	c := converse(t)
	push := func(args string) {
		result, text := c.call("flame_push", args)
		require.False(t, result.IsError, text)
	}
	push(stamped(t, c.project, "flame_push", "theirs", "", `"goal": "THEIRS"`))
	push(stamped(t, c.project, "flame_push", "theirs", "child", `"goal": "OF THE CHILD"`))
	require.Equal(t, "THEIRS", goalOf(t, c.project, "theirs"))
	require.Equal(t, "OF THE CHILD", goalOf(t, c.project, "child"))

	used := stamped(t, c.project, "flame_push", "theirs", "", `"goal": "used"`)
	push(used)
	elsewhere := hosted(&project.Project{})
	elsewhere.StampKey = func(context.Context, bool) (project.StampKey, error) {
		return make(project.StampKey, 32), nil
	}
	other, err := elsewhere.ProveStamp(t.Context(), project.Stamp{Session: "theirs", Tool: "flame_push"})
	require.NoError(t, err)
	var proven map[string]string
	require.NoError(t, json.Unmarshal([]byte(stamped(t, c.project, "flame_push", "s2", "", `"goal": "x"`)), &proven))
	for name, members := range map[string]string{
		"a session":                        `"session_id": "theirs"`,
		"an agent":                         `"agent_id": "theirs"`,
		"both":                             `"session_id": "s", "agent_id": "theirs"`,
		"a child":                          `"session_id": "theirs", "agent_id": "child"`,
		"a made-up proof":                  `"session_id": "theirs", "flame_proof": "1-x.AAAA"`,
		"an empty proof":                   `"session_id": "theirs", "flame_proof": ""`,
		"a proof that is a dot":            `"session_id": "theirs", "flame_proof": "."`,
		"a proof of another session":       `"session_id": "theirs", "flame_proof": "` + proven["flame_proof"] + `"`,
		"that with its agent":              `"session_id": "s2", "agent_id": "theirs", "flame_proof": "` + proven["flame_proof"] + `"`,
		"a proof of another project":       `"session_id": "theirs", "flame_proof": "` + other + `"`,
		"the stamp of another tool":        stamped(t, c.project, "flame_plan", "theirs", "", `"x": 1`)[len(`{"x": 1, `):],
		"a stamp that was used":            used[len(`{"goal": "used", `):],
		"one that names the first at last": `"session_id": "s", "session_id": "theirs"`,
	} {
		if members[len(members)-1] == '}' {
			members = members[:len(members)-1]
		}
		push(fmt.Sprintf(`{"goal": %q, %s}`, name, members))
		assert.Equal(t, name, goalOf(t, c.project, "s"), "the connection's own session")
		assert.Equal(t, "used", goalOf(t, c.project, "theirs"), name)
		assert.Equal(t, "OF THE CHILD", goalOf(t, c.project, "child"), name)
	}
	for name, members := range map[string]string{
		"a number": `"session_id": 7`, "an object": `"agent_id": {"id": "theirs"}`, "a list": `"flame_proof": ["x"]`, "other letters": `"Agent_ID": "theirs"`,
	} {
		result, text := c.call("flame_push", `{"goal": "x", `+members+`}`)
		assert.True(t, result.IsError, "%s: %s", name, text)
	}
	result, text := c.call("flame_push", stamped(t, c.project, "flame_push", "theirs", "", `"goal": "still at work"`))
	assert.False(t, result.IsError, "nobody is locked out: %s", text)
	assert.Equal(t, "still at work", goalOf(t, c.project, "theirs"))
}

func TestAProofHoldsForTheIDOfItsCallAlone(t *testing.T) {
	known := hosts.Registry{{Name: "host", Events: hosts.Events{CallID: "claudecode/toolUseId"}}}
	c := converseWith(t, &agents.Agents{Setup: plan.Setup{Project: newProject(t), Hosts: known}})
	s := project.Stamp{Session: "theirs", Tool: "flame_push", Call: "toolu_1"}
	proof, err := hosted(c.project).ProveStamp(t.Context(), s)
	require.NoError(t, err)
	push := func(goal, call string) {
		var request mcp.CallToolRequest
		request.Params.Name = "flame_push"
		request.Params.Arguments = map[string]any{"goal": goal, "session_id": "theirs", "flame_proof": proof}
		request.Params.Meta = &mcp.Meta{AdditionalFields: map[string]any{"claudecode/toolUseId": call}}
		result, err := c.CallTool(t.Context(), request)
		require.NoError(t, err)
		require.False(t, result.IsError)
	}
	push("replayed before", "toolu_2")
	assert.Empty(t, goalOf(t, c.project, "theirs"))
	push("the call itself", "toolu_1")
	assert.Equal(t, "the call itself", goalOf(t, c.project, "theirs"))
	push("replayed after", "toolu_1")
	assert.Equal(t, "the call itself", goalOf(t, c.project, "theirs"))
}

func TestAChildIsBelievedBelowItsOwnParentAlone(t *testing.T) {
	c := converse(t)
	push := func(session, agent, goal string) (refused bool, text string) {
		result, text := c.call("flame_push", stamped(t, c.project, "flame_push", session, agent, `"goal": "`+goal+`"`))
		return result.IsError, text
	}
	for _, call := range [][3]string{{"one", "", "ONE"}, {"one", "child", "CHILD"}, {"two", "", "TWO"}} {
		refused, text := push(call[0], call[1], call[2])
		require.False(t, refused, text)
	}
	for _, agent := range []string{"child", "one"} {
		refused, text := push("two", agent, "FORGED")
		assert.True(t, refused)
		assert.Contains(t, text, agent+" is not a subagent of session two")
	}
	assert.Equal(t, "CHILD", goalOf(t, c.project, "child"))
	assert.Equal(t, "ONE", goalOf(t, c.project, "one"))
	refused, text := push("child", "grandchild", "DEEP")
	assert.False(t, refused, text)
	refused, text = push("one", "grandchild", "of the root, says the host")
	assert.False(t, refused, text)
}

func TestNoArgumentOfMoreOrOfACommandNamesACaller(t *testing.T) {
	p := hosted(newProject(t))
	more, _ := hidden(t, p)
	within := stamped(t, p, "flame_set_goal", "theirs", "", `"goal": "mine"`)
	around := stamped(t, p, "flame_more", "theirs", "", `"tool": "flame_set_goal", "arguments": `+within)
	_, err := more.Call(t.Context(), project.Caller{Session: "server", Host: "test"}, json.RawMessage(around))
	require.NoError(t, err)
	assert.Equal(t, "mine", goalOf(t, p, "server"))
	assert.Empty(t, goalOf(t, p, "theirs"))
}

func TestAnUnprovenWriteInASessionOfHooksIsRefused(t *testing.T) {
	p := hosted(newProject(t))
	push, err := tools.Find(tools.All(p, &agents.Agents{Setup: plan.Setup{Project: p}}), "flame_push")
	require.NoError(t, err)
	write := func(trust project.Trust) error {
		_, err := push.Call(t.Context(), project.Caller{Session: "s", Host: "test", Trust: trust}, json.RawMessage(`{"goal": "whose?"}`))
		return err
	}
	require.NoError(t, write(project.TrustNone))
	require.NoError(t, write(project.ByHost), "an event proves no call")
	require.NoError(t, write(project.TrustNone))
	require.NoError(t, write(project.TrustHook))
	require.ErrorIs(t, write(project.TrustNone), core.ErrInvalid, "it could be a subagent's")
	p.HostProcess = func() project.Process { return project.Process{PID: 78, Started: "2 boot"} }
	require.NoError(t, write(project.TrustNone), "resumed in a process of the host whose hooks report nothing")
}
