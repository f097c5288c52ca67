package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"flame/core"
	"flame/core/outline"
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
