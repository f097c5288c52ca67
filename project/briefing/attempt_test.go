package briefing_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project/briefing"
	"flame/project/children"
	"flame/tests/projecttest"
)

func TestTheAnswerToTheSameTaskIsNoNews(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	by := projecttest.Host("s")
	f.Push(by, "work")
	delegate := func(session, task string) core.Frame {
		made, err := f.Delegate(by, children.DelegateArgs{
			Agent: "agent-" + session, Goal: "vote", Session: session, Host: "claude-code", Attempt: briefing.TaskIdentity{Task: task},
		})
		require.NoError(t, err)
		f.Prompt(projecttest.Host(session), session+"-1", "vote")
		return made.Frame
	}
	first := delegate("first", "the task")
	delegate("same", "the task")
	delegate("other", "another task")
	f.Push(projecttest.Host("same"), "a part of it")
	ended := children.EndReport{Session: "first", Agent: "agent-first", End: core.ChildCompleted, Last: "ANSWER"}
	require.NoError(t, children.EndDelegation(f.Ctx, f.Project, by, first.ID, ended))
	assert.NotContains(t, f.Prompt(projecttest.Host("same"), "same-2", "go on"), "ANSWER")
	assert.Contains(t, f.Prompt(projecttest.Host("other"), "other-2", "go on"), "ANSWER")
	assert.NotContains(t, f.Context(projecttest.Host("same"), "").Text, "ANSWER", "nor is it told in a frame below")
	assert.Contains(t, f.Context(projecttest.Host("other"), "").Text, "ANSWER")
}
