package project_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/project"
	"flame/tests/cases"
)

func TestArtifactsAreRelativeToTheWorktreeThatTheyAreIn(t *testing.T) {
	t.Parallel()
	p := &project.Project{Dir: "/home/me/shop", Agents: "/home/me/data/agents"}
	for artifact, want := range cases.Read[string](t, "testdata/relative.yaml") {
		assert.Equal(t, want, p.ArtifactPath(artifact), artifact)
	}
	assert.Equal(t, "/x/y", (&project.Project{}).ArtifactPath("/x/y"))
}
