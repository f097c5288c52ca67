package project_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/tests/projecttest"
)

func TestASessionIsInTheHostThatItsHooksName(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	by := func(host, event string) project.Caller {
		return project.Caller{Session: "s", Host: host, Event: event, Trust: project.TrustHook}
	}
	for _, step := range []struct{ host, event, want string }{
		{"cli", "", "cli"}, {"inspector", "", "inspector"}, {"codex", "SessionStart", "codex"}, {"inspector", "", "codex"}, {"cli", "", "codex"},
		{"claude-code", "SessionStart", "claude-code"},
	} {
		f.Push(by(step.host, step.event), "work")
		session, err := project.Read(f.Ctx, f.Project, func(tx project.Tx) (core.Session, error) { return tx.Session("s") })
		require.NoError(t, err)
		assert.Equal(t, step.want, session.Host, step)
	}
}
