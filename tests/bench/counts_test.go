//go:build !race

// The race detector allocates, too, and empties pools by chance.

package main

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"

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
	planted := plant(t.Context(), t.TempDir(), 1000)
	p, closing := planted.open()
	t.Cleanup(closing)
	contexts, closeContexts := (&bench{}).contextOf(t.Context(), planted)
	t.Cleanup(closeContexts)
	for name, tt := range map[string]struct {
		most float64
		run  func(n int)
	}{
		"the context of a frame":                 {1450, contexts},
		"flame_status":                           {4600, statusOf(p, planted)},
		"a request of OpenCode for a new prompt": {2200, requestOf(p, planted, requestedAnew)},
		"another for the same prompt":            {1500, requestOf(p, planted, requested)},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			made := testing.AllocsPerRun(40, func() {
				tt.run(n)
				n++
			})
			assert.LessOrEqual(t, made, tt.most)
		})
	}
}

func statusOf(p *project.Project, planted tree) func(int) {
	tool := lo.Must(tools.Find(tools.All(p, &agents.Agents{Setup: plan.Setup{Project: p}}), "flame_status"))
	return func(int) { lo.Must(tool.Call(context.Background(), planted.caller(), json.RawMessage(`{}`))) }
}

func requestOf(p *project.Project, planted tree, event func(tree, int) map[string]any) func(int) {
	return func(n int) {
		lo.Must(opencode.Hook(context.Background(), hosts.HookEnv{Project: p}, lo.Must(json.Marshal(event(planted, n)))))
	}
}
