package projecttest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/children"
)

// Child returns a subagent's session below the session s, in OpenCode.
func Child(id string) project.Caller {
	return project.Caller{Session: id, Parent: "s", Host: "opencode", Trust: project.TrustHook}
}

// Agent returns a subagent's session below the session s, in Claude Code.
func Agent(id string) project.Caller {
	return project.Caller{Session: id, Parent: "s", Host: "claude-code", Trust: project.TrustHook}
}

// Completed returns the end of a child that completed with a last message.
func Completed(child, last string) children.EndReport {
	return children.EndReport{Session: child, End: core.ChildCompleted, Last: last}
}

// EndChild reports a child's end twice, as a host does if flame is installed twice.
func (f *Fixture) EndChild(by project.Caller, ended children.EndReport) {
	require.NoError(f.T, children.End(f.Ctx, f.Project, by, ended))
	drawn := f.Draw()
	require.NoError(f.T, children.End(f.Ctx, f.Project, by, ended))
	require.Equal(f.T, drawn, f.Draw(), "the same again changes nothing")
}

// StartChild reports that a child of session s began.
func (f *Fixture) StartChild(id, title string) core.Session {
	session, err := children.StartSession(f.Ctx, f.Project, Child(id), title)
	require.NoError(f.T, err)
	return session
}

// Spawn asks for a child by a call and returns the context that it begins with.
func (f *Fixture) Spawn(by project.Caller, call, description string) string {
	context, err := children.Spawn(f.Ctx, f.Project, by, children.SpawnCall{ID: call, Description: description, AgentType: "general-purpose"})
	require.NoError(f.T, err)
	return context
}

// Bind reports the session of the child that a call asked for.
func (f *Fixture) Bind(by project.Caller, call, child string) {
	known, err := children.BindSession(f.Ctx, f.Project, by, children.ChildStart{Call: call, Session: child})
	require.NoError(f.T, err)
	require.True(f.T, known)
}

// SpawnAll starts children of a session in the background. Each has its goal as the id of its own,
// and "call-" before that as its call.
func (f *Fixture) SpawnAll(by project.Caller, goals ...string) {
	for _, goal := range goals {
		f.Spawn(by, "call-"+goal, goal)
		require.NoError(f.T, children.BindBackground(f.Ctx, f.Project, by, children.ChildStart{Call: "call-" + goal, Session: goal}))
	}
}

// Working returns a project in which the session s works.
func Working(t *testing.T) *Fixture {
	f := New(t)
	f.Prompt(Host("s"), "first", "work")
	return f
}
