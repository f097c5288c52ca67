package project_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/project"
)

func TestArtifactsAreRelativeToTheWorktreeThatTheyAreIn(t *testing.T) {
	t.Parallel()
	p := &project.Project{Dir: "/home/me/shop", Agents: "/home/me/data/agents"}
	for artifact, want := range map[string]string{
		"/home/me/shop/a/b.go":                             "a/b.go",
		"/home/me/data/agents/agent-1/worktree/a/b.go":     "a/b.go",
		"/home/me/data/agents/agent-1/worktree":            "/home/me/data/agents/agent-1/worktree",
		"/home/me/data/agents/agent-1/changes.patch":       "/home/me/data/agents/agent-1/changes.patch",
		"/home/me/shopping/a.go":                           "/home/me/shopping/a.go",
		"/home/me/shop/../other/a.go":                      "/home/me/shop/../other/a.go",
		"/home/me/data/agents/agent-1/worktree/../b.patch": "/home/me/data/agents/agent-1/worktree/../b.patch",
		"https://example.com/x":                            "https://example.com/x",
		"a/b.go":                                           "a/b.go",
	} {
		assert.Equal(t, want, p.Relative(artifact), artifact)
	}
	assert.Equal(t, "/x/y", (&project.Project{}).Relative("/x/y"))
}
