package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/samber/lo"

	"flame/agents"
	"flame/agents/plan"
	"flame/core"
	"flame/core/outline"
	"flame/hosts/claudecode"
	"flame/project/briefing"
	"flame/tools"
)

// command returns a command of flame in the project of t, as a host's session there would start
// it.
func (b *bench) command(ctx context.Context, t tree, args ...string) *exec.Cmd {
	return b.program(ctx, t, b.flame, args...)
}

func (b *bench) program(ctx context.Context, t tree, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = t.dir
	cmd.Env = []string{"HOME=" + b.dir, "PATH=" + os.Getenv("PATH"), "CLAUDE_CODE_SESSION_ID=" + t.session}
	return cmd
}

// output runs a command and returns its stdout; its errors contain stderr.
func output(cmd *exec.Cmd) string {
	var complaint bytes.Buffer
	if cmd.Stderr == nil {
		cmd.Stderr = &complaint
	}
	out, err := cmd.Output()
	check(err == nil, "%s: %v\n%s", strings.Join(cmd.Args, " "), err, complaint.Bytes())
	return string(out)
}

var (
	readGoal  = goal{times: 4}
	flatGoal  = goal{times: 1.25} // "flat": what a second look at the same thing may differ by
	writeGoal = goal{times: 5}
	lineGoal  = goal{times: 5}
	initGoal  = goal{plus: 1.5}
)

// reading times flame show, a command that reads; it has the goal of a hook that reads.
func (b *bench) reading(ctx context.Context) []row {
	return b.everywhere(ctx, "flame show FRAME, process, p50", readGoal, func(t tree, run int) {
		id := t.frame(run)
		out := output(b.command(ctx, t, "show", id))
		check(strings.Contains(out, id), "flame show %s printed something else: %q", id, out)
	})
}

// statusLine times flame status --line, which hosts start repeatedly while they show its output.
func (b *bench) statusLine(ctx context.Context) []row {
	return b.everywhere(ctx, "flame status --line, process, p50", lineGoal, func(t tree, run int) {
		cmd := b.fed(b.command(ctx, t, "status", "--line"), hookEvent{event: lineShown}, t, run)
		out := output(cmd)
		check(strings.HasPrefix(out, outline.Icon(core.InProgress)), "flame status --line printed something else: %q", out)
	})
}

// lineShown is Claude Code's input for its status line.
func lineShown(t tree, _ int) map[string]any {
	return map[string]any{
		"session_id": t.hooked, "cwd": t.dir, "workspace": map[string]any{"current_dir": t.dir, "project_dir": t.dir},
		"model": map[string]any{"id": "claude-opus-5-5"}, "cost": map[string]any{"total_cost_usd": 0.5},
	}
}

// everywhere times a command on every tree, and hello beside it.
func (b *bench) everywhere(ctx context.Context, what string, g goal, command func(t tree, run int)) (rows []row) {
	steps := []func(int){func(int) { b.greet(ctx) }}
	for _, frames := range b.scale.trees {
		steps = append(steps, func(run int) { command(b.trees[frames], run) })
	}
	samples := interleave(ctx, b.processes, steps...)
	floor, samples := samples[0].p50(), samples[1:]
	for i, frames := range b.scale.trees {
		rows = append(rows, g.against(what, frames, unitMS, samples[i].p50(), floor))
	}
	first, last := samples[0].p50(), samples[len(samples)-1].p50()
	return append(rows, flatGoal.against(what+", against the smallest tree", b.largest().frames, unitMS, last, first))
}

// initialisation adds up the times that the runtime reports for the initialisation of packages.
func (b *bench) initialisation(ctx context.Context) []row {
	var sums sample
	for range b.processes {
		cmd := b.command(ctx, b.largest(), "--version")
		cmd.Env = append(cmd.Env, "GODEBUG=inittrace=1")
		var trace strings.Builder
		cmd.Stderr = &trace
		output(cmd)
		sums = append(sums, initTime(trace.String()))
	}
	return []row{initGoal.against("package initialisation, p50", 0, unitMS, sums.p50(), 0)}
}

// initTime adds up lines of the form "init PACKAGE @0.5 ms, 0.02 ms clock, ...", where the second
// time is the package's.
func initTime(trace string) (sum time.Duration) {
	packages := 0
	for line := range strings.Lines(trace) {
		var pkg string
		var at, took float64
		if n, _ := fmt.Sscanf(line, "init %s @%f ms, %f ms clock", &pkg, &at, &took); n == 3 {
			sum += time.Duration(took * float64(time.Millisecond))
			packages++
		}
	}
	check(packages > 0, "the runtime traced no initialisation: %q", trace)
	return sum
}

var (
	hookMemoryGoal   = goal{plus: 16}
	serverMemoryGoal = goal{plus: 30}
)

// memory returns the peak resident memory of a hook, a command and a server.
func (b *bench) memory(ctx context.Context) []row {
	t := b.largest()
	hello := b.peakOf(ctx, t, b.hello)
	cmd := b.fed(b.program(ctx, t, b.peak, b.peakFile(), b.flame, "hook", claudecode.Name), hookEvents[0], t, b.processes)
	hook := b.peakOfRun(cmd)
	show := b.peakOf(ctx, t, b.flame, "show", t.frame(1))
	server := b.peakOfServer(ctx, t)
	return []row{
		hookMemoryGoal.against("flame hook, "+hookEvents[0].what+", peak memory", t.frames, unitMB, hook, hello),
		hookMemoryGoal.against("flame show FRAME, peak memory", t.frames, unitMB, show, hello),
		serverMemoryGoal.against("flame serve at work, peak memory", t.frames, unitMB, server, hello),
	}
}

// peakOf returns the peak of a program in MB.
func (b *bench) peakOf(ctx context.Context, t tree, program string, args ...string) float64 {
	return b.peakOfRun(b.program(ctx, t, b.peak, append([]string{b.peakFile(), program}, args...)...))
}

// peakOfRun runs peak and returns its result, in MB.
func (b *bench) peakOfRun(cmd *exec.Cmd) float64 {
	output(cmd)
	return readPeak(b.peakFile())
}

// peakOfServer returns the peak in MB of a server after some calls of each kind.
func (b *bench) peakOfServer(ctx context.Context, t tree) float64 {
	file := b.peakFile()
	c := connect(b.program(ctx, t, b.peak, file, b.flame, "serve"))
	b.work(c, t)
	c.close()
	return readPeak(file)
}

// work calls the most frequent tools repeatedly.
func (b *bench) work(c *client, t tree) {
	c.call("tools/list", nil)
	for run := range b.starts {
		c.push(run)
		for name, args := range map[string]map[string]any{
			"flame_status":          {},
			"flame_tree":            {},
			"flame_search":          {"query": "login cache"},
			"flame_context_preview": {"frameID": t.frame(run)},
			"flame_frame_details":   {"frameID": t.frame(run)},
			"flame_add_decision":    {"decision": fmt.Sprintf("decision %d", run)},
		} {
			c.tool(name, args)
		}
		c.pop()
	}
}

func (b *bench) peakFile() string { return filepath.Join(b.dir, "peak.txt") }

// readPeak reads the file of peak, in MB.
func readPeak(file string) float64 {
	return lo.Must(strconv.ParseFloat(strings.TrimSpace(string(lo.Must(os.ReadFile(file)))), 64)) / 1e6
}

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
		made := lo.Must(contexts.Context(ctx, t.caller(), id, 0))
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
