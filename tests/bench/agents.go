package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/samber/lo"

	"flame/hosts/claudecode"
)

// Goals for agents, and for the logs of agents that flame did not start.
var (
	spawnGoal        = goal{plus: 50}
	readLogGoal      = goal{plus: 500} // 20 MB a second
	logMemoryGoal    = goal{plus: 40}
	searchGoal       = goal{plus: 500} // 80 MB a second
	searchMemoryGoal = goal{plus: 60}
)

// definitions is the number of definitions to choose from.
const definitions = 200

// fakeHost is a host that ends at once.
const fakeHost = `#!/bin/sh
cat >/dev/null
echo '{"type":"system","subtype":"init","session_id":"s","model":"m"}'
echo '{"type":"result","subtype":"success","is_error":false,"session_id":"s","result":"done","usage":{}}'
`

var agentID = regexp.MustCompile(`agent-[a-z0-9]{8}`)

// spawning times spawn_agent in a running server, from the call to the answer, with many
// definitions.
func (b *bench) spawning(ctx context.Context) []row {
	t := b.middle()
	bin, folder := filepath.Join(b.dir, "hosts"), filepath.Join(t.dir, ".claude", "agents")
	lo.Must0(os.MkdirAll(bin, 0o755))
	lo.Must0(os.MkdirAll(folder, 0o755))
	files := map[string]string{filepath.Join(bin, "claude"): fakeHost}
	for n := range definitions {
		name := fmt.Sprintf("agent%d", n)
		files[filepath.Join(folder, name+".md")] = "---\nname: " + name + "\ndescription: Does its part.\ntools: Read, Grep\n---\n" + strings.Repeat(
			"Do it well. ", 100,
		)
	}
	for file, content := range files {
		lo.Must0(os.WriteFile(file, []byte(content), 0o755))
	}
	cmd := b.command(ctx, t, "serve")
	cmd.Env = append(cmd.Env, "PATH="+bin+":"+os.Getenv("PATH"), "FLAME_AGENT_HOST=claude-code", "FLAME_AGENT_MAX_TOTAL=100000", "FLAME_AGENT_MAX_CONCURRENT=1000")
	c := connect(cmd)
	defer c.close()
	last := ""
	samples := interleave(ctx, b.starts,
		func(run int) {
			asked := object{"subagent_type": fmt.Sprintf("agent%d", run%definitions), "prompt": "do it", "description": "its part"}
			last = agentID.FindString(c.tool("spawn_agent", asked))
		},
		func(int) {
			text := c.tool("flame_agent_wait", map[string]any{"subagent_id": last})
			check(strings.Contains(text, "(completed)"), "an agent did not complete: %s", text)
		})
	return []row{
		spawnGoal.against(fmt.Sprintf("spawn_agent, one of %d definitions, call to answer, p50", definitions), t.frames, unitMS, samples[0].p50(), 0),
		spawnGoal.against("the same, worst", t.frames, unitMS, samples[0].worst(), 0),
	}
}

// logLine is a line as Claude Code's logs have them, with a tool's answer in it.
const logLine = `{"type":"user","sessionId":"s1","timestamp":"2026-01-01T00:00:00.000Z",` +
	`"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":"%s"}]}}` + "\n"

// logs times and weighs flame agents graph on a log of 10 MB, and on one four times that size: its memory
// should grow with the agents, not with the log.
func (b *bench) logs(ctx context.Context) (rows []row) {
	t := b.middle()
	for _, megabytes := range []int{10, 40} {
		file := filepath.Join(b.dir, fmt.Sprintf("%d.jsonl", megabytes))
		writeLog(file, megabytes*1_000_000)
		samples := interleave(ctx, 3, func(int) { output(b.command(ctx, t, "agents", "graph", file)) })
		peak := b.peakOf(ctx, t, b.flame, "agents", "graph", file)
		scaled := goal{plus: readLogGoal.plus * float64(megabytes) / 10}
		rows = append(rows,
			scaled.against(fmt.Sprintf("flame agents graph on a log of %d MB, p50", megabytes), t.frames, unitMS, samples[0].p50(), 0),
			logMemoryGoal.against(fmt.Sprintf("flame agents graph on a log of %d MB, peak memory", megabytes), t.frames, unitMB, peak, 0))
	}
	return append(rows, b.searching(ctx, t, filepath.Join(b.dir, "40.jsonl"))...)
}

// searching times and weighs a search through the work of ended frames in a log: no entry but its last one
// has the word, so all of it is read.
func (b *bench) searching(ctx context.Context, t tree, log string) []row {
	file := lo.Must(os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0))
	lo.Must(fmt.Fprintf(file, logLine, 0, "the needle"))
	lo.Must0(file.Close())
	learns := hookEvent{what: "Stop", host: claudecode.Name, event: func(t tree, _ int) map[string]any {
		return claudeEvent(t, "Stop", map[string]any{"session_id": t.session, "transcript_path": log})
	}}
	b.hook(ctx, learns, t, 0)
	samples := interleave(ctx, 5, func(int) {
		out := output(b.command(ctx, t, "search", "needle"))
		check(strings.Contains(out, "the needle"), "flame search found nothing: %q", out)
	})
	return []row{
		searchGoal.against("flame search in a log of 40 MB, p50", t.frames, unitMS, samples[0].p50(), 0),
		searchMemoryGoal.against("flame search in a log of 40 MB, peak memory", t.frames, unitMB, b.peakOf(ctx, t, b.flame, "search", "needle"), 0),
	}
}

func writeLog(path string, size int) {
	file := lo.Must(os.Create(path))
	defer file.Close()
	for n := 0; size > 0; n++ {
		size -= lo.Must(fmt.Fprintf(file, logLine, n, strings.Repeat("some words of a file ", 100)))
	}
}
