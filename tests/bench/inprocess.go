package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/samber/lo"

	"flame/agents"
	"flame/agents/plan"
	"flame/project/briefing"
	"flame/tools"
)

var (
	contextP50Goal  = goal{plus: 0.3}
	contextP99Goal  = goal{plus: 1}
	contextFlatGoal = goal{times: 2}
	statusGoal      = goal{plus: 3}
	statusTextGoal  = goal{plus: 8 << 10}
)

// contexts times contexts that no cache has, in the largest tree and in the one for comparison.
func (b *bench) contexts(ctx context.Context) (rows []row) {
	t := b.largest()
	large, closeLarge := b.contextOf(ctx, t)
	compared, closeCompared := b.contextOf(ctx, b.trees[b.compared])
	defer closeLarge()
	defer closeCompared()
	samples := interleave(ctx, b.scale.contexts, large, compared)
	return []row{
		contextP50Goal.against("context of a frame, p50", t.frames, unitMS, samples[0].p50(), 0),
		contextP99Goal.against("context of a frame, p99", t.frames, unitMS, samples[0].p99(), 0),
		contextFlatGoal.against(fmt.Sprintf("context of a frame, p50, against that of %d", b.compared), t.frames, unitMS, samples[0].p50(), samples[1].p50()),
	}
}

// contextOf returns a step that makes the context of another frame of t each time.
func (b *bench) contextOf(ctx context.Context, t tree) (step func(run int), closing func()) {
	p, closing := t.open()
	step = func(run int) {
		id := t.frame(run)
		contexts := briefing.Contexts{Project: p}
		made := lo.Must(contexts.Of(ctx, t.caller(), id, 0))
		check(!made.CacheHit && made.Text != "", "the context of %s is not a new one", id)
	}
	return step, closing
}

// status times flame_status and checks the length of its text.
func (b *bench) status(ctx context.Context) (rows []row) {
	t := b.middle()
	p, closing := t.open()
	defer closing()
	tool := lo.Must(tools.Find(tools.All(p, &agents.Agents{Setup: plan.Setup{Project: p}}), "flame_status"))
	var text string
	samples := interleave(ctx, b.statuses, func(int) {
		text = lo.Must(tool.Call(ctx, t.caller(), json.RawMessage(`{}`))).Text
	})
	return []row{
		statusGoal.against("flame_status, p50", t.frames, unitMS, samples[0].p50(), 0),
		statusTextGoal.against("flame_status, text", t.frames, unitBytes, float64(len(text)), 0),
	}
}
