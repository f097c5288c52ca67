package main

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents"
	"flame/agents/plan"
	"flame/hosts"
	"flame/hosts/opencode"
	"flame/project"
	"flame/tools"
)

// Times on shared machines are noise. Allocations are not, and they grow with each needless
// statement, row and text.
func TestAllocations(t *testing.T) {
	planted, err := plant(t.Context(), t.TempDir(), 1000)
	require.NoError(t, err)
	p, kept := planted.open()
	t.Cleanup(func() { assert.NoError(t, kept.Close()) })
	contexts, closeContexts := (&bench{}).contextOf(t.Context(), planted)
	t.Cleanup(func() { assert.NoError(t, closeContexts()) })
	for name, tt := range map[string]struct {
		most float64
		run  func(n int) error
	}{
		"the context of a frame":                 {1450, contexts},
		"flame_status":                           {4600, statusOf(t, p, planted)},
		"a request of OpenCode for a new prompt": {2200, requestOf(p, planted, requestedAnew)},
		"another for the same prompt":            {1500, requestOf(p, planted, requested)},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			made := testing.AllocsPerRun(40, func() {
				require.NoError(t, tt.run(n))
				n++
			})
			assert.LessOrEqual(t, made, tt.most)
		})
	}
}

func statusOf(t *testing.T, p *project.Project, planted tree) func(int) error {
	tool, err := tools.Find(tools.All(p, &agents.Agents{Setup: plan.Setup{Project: p}}), "flame_status")
	require.NoError(t, err)
	return func(int) error {
		_, err := tool.Call(context.Background(), planted.caller(), json.RawMessage(`{}`))
		return err
	}
}

func requestOf(p *project.Project, planted tree, event func(tree, int) map[string]any) func(int) error {
	return func(n int) error {
		raw, err := json.Marshal(event(planted, n))
		if err == nil {
			_, err = opencode.Hook(context.Background(), hosts.HookEnv{Project: p}, raw)
		}
		return err
	}
}
