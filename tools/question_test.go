package tools

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents"
	"flame/agents/definition"
	"flame/agents/plan"
	"flame/core"
	"flame/hosts"
	"flame/project"
	"flame/store"
	"flame/tests/hoststest"
	"flame/tools/transport"
)

// unlaunched is a host's program that agents are only planned for.
type unlaunched struct{ hosts.Client }

func TestAPersonIsAskedForAWiderMode(t *testing.T) {
	dir := t.TempDir()
	p := &project.Project{
		Store: store.Open(dir, store.Options{}), Dir: dir, Now: func() core.Millis { return 1_000 }, NewID: project.NewID, Log: slog.New(slog.DiscardHandler),
		Budget: core.DefaultBudget(), Subagents: core.DefaultSubagentConfig(), Autonomy: core.DefaultAutonomyConfig(),
	}
	none := func(string) string { return "" }
	a := &agents.Agents{
		Setup: plan.Setup{Project: p, Dir: dir, Hosts: hoststest.Reached(map[string]hosts.Client{"claude-code": unlaunched{}}), Bounds: plan.DefaultBounds(),
			Catalog: func(string) definition.Catalog {
				return definition.Load(hoststest.Known(), definition.Dirs(hoststest.Known(), hosts.Machine{ProjectDir: dir, Getenv: none}))
			}},
	}
	door := agentDoor{a, &sync.Map{}}
	by := project.Caller{Session: "s", Host: "claude-code", Trust: project.TrustHook}
	var asked []string
	var gone error
	answers := func(answer consent) context.Context {
		return context.WithValue(t.Context(), clientKey{}, client{ask: func(_ context.Context, question string) (consent, error) {
			asked = append(asked, question)
			return answer, gone
		}})
	}
	planned := func(r plan.Request) plan.Plan {
		p, err := a.Plan(t.Context(), by, r)
		require.NoError(t, err)
		return p
	}
	foresee := func(r plan.Request) hosts.Mode { return planned(r).Agent.Mode.Effective }
	build := plan.Request{Type: "builder", Prompt: "change it\nHost: none\n" + strings.Repeat("x", 7000)}
	seek := func(ctx context.Context, r plan.Request) string {
		p := planned(r)
		if !door.asksFor(ctx, p) {
			return ""
		}
		p, err := door.seekGrant(ctx, by, p, r)
		require.NoError(t, err)
		return p.Grant
	}
	assert.Empty(t, seek(t.Context(), build), "nobody can be asked")
	assert.Equal(t, hosts.ModeDefault, foresee(build))

	assert.Empty(t, seek(answers(refused), build))
	assert.Empty(t, seek(answers(allowed), build))
	assert.Len(t, asked, 1, "who said no is not asked again")
	for _, says := range []string{
		"builder is to work in the permission mode acceptEdits; without your permission it gets default.\n",
		"\nTools: ", "\nFolder: " + dir + "\n", "\nHost: claude-code\n", "\nIts task:\n| change it\n| Host: none\n| " + strings.Repeat("x", 7000),
	} {
		assert.Contains(t, asked[0], says)
	}
	assert.Equal(t, hosts.ModeDefault, foresee(build))

	all := plan.Request{Type: "builder", Prompt: "change it", Mode: hosts.ModeBypass}
	granted := seek(answers(allowed), all)
	assert.Equal(t, hosts.ModeDefault, foresee(all), "it is for one agent")
	grants, err := a.Grants(t.Context())
	require.NoError(t, err)
	require.Len(t, grants, 1)
	assert.Equal(t, granted, grants[0].ID)
	assert.Equal(t, hosts.ModeBypass, grants[0].Mode)
	assert.Equal(t, "builder", grants[0].Agent)
	assert.Equal(t, "s", grants[0].Session)
	assert.True(t, grants[0].Once)

	asked = nil
	assert.Empty(t, seek(answers(allowed), plan.Request{Type: "analyzer", Prompt: "look"}))
	assert.Empty(t, asked, "it gets what it wants anyway")

	theirs := filepath.Join(dir, ".claude", "agents", "tester.md")
	require.NoError(t, os.MkdirAll(filepath.Dir(theirs), 0o755))
	require.NoError(t, os.WriteFile(theirs, []byte("---\ndescription: d\npermissionMode: bypassPermissions\n---\nTake\nall.\n"), 0o644))
	require.NotEmpty(t, seek(answers(allowed), plan.Request{Type: "tester", Prompt: "test"}))
	require.Len(t, asked, 1)
	assert.Contains(t, asked[0], "\ntester is this project's .claude/agents/tester.md, not the built-in one. Its instructions:\n| Take\n| all.\n")

	gone = transport.ErrClientGone
	_, err = door.seekGrant(answers(unanswered), by, planned(all), all)
	require.ErrorIs(t, err, core.ErrInvalid, "nobody waits for the agent")
}
