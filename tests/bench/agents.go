package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

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
func (b *bench) spawning(ctx context.Context) ([]row, error) {
	t := b.middle()
	bin, folder := filepath.Join(b.dir, "hosts"), filepath.Join(t.dir, ".claude", "agents")
	if err := errors.Join(os.MkdirAll(bin, 0o755), os.MkdirAll(folder, 0o755)); err != nil {
		return nil, err
	}
	files := map[string]string{filepath.Join(bin, "claude"): fakeHost}
	for n := range definitions {
		name := fmt.Sprintf("agent%d", n)
		files[filepath.Join(folder, name+".md")] = "---\nname: " + name + "\ndescription: Does its part.\ntools: Read, Grep\n---\n" + strings.Repeat(
			"Do it well. ", 100,
		)
	}
	for file, content := range files {
		if err := os.WriteFile(file, []byte(content), 0o755); err != nil {
			return nil, err
		}
	}
	cmd := b.command(ctx, t, "serve")
	cmd.Env = append(cmd.Env, "PATH="+bin+":"+os.Getenv("PATH"), "FLAME_AGENT_HOST=claude-code", "FLAME_AGENT_MAX_TOTAL=100000", "FLAME_AGENT_MAX_CONCURRENT=1000")
	c, err := connect(cmd)
	if err != nil {
		return nil, err
	}
	last := ""
	samples, err := interleave(ctx, b.starts,
		func(run int) error {
			text, err := c.tool(
				"spawn_agent",
				map[string]any{"subagent_type": fmt.Sprintf("agent%d", run%definitions), "prompt": "do it", "description": "its part"},
			)
			last = agentID.FindString(text)
			return err
		},
		func(int) error {
			text, err := c.tool("flame_agent_wait", map[string]any{"subagent_id": last})
			if err == nil && !strings.Contains(text, "(completed)") {
				err = fmt.Errorf("an agent did not complete: %s", text)
			}
			return err
		})
	if err = errors.Join(err, c.close()); err != nil {
		return nil, err
	}
	return []row{
		spawnGoal.against(fmt.Sprintf("spawn_agent, one of %d definitions, call to answer, p50", definitions), t.frames, unitMS, samples[0].p50(), 0),
		spawnGoal.against("the same, worst", t.frames, unitMS, samples[0].worst(), 0),
	}, nil
}

// logLine is a line as Claude Code's logs have them, with a tool's answer in it.
const logLine = `{"type":"user","sessionId":"s1","timestamp":"2026-01-01T00:00:00.000Z",` +
	`"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":"%s"}]}}` + "\n"

// logs times and weighs flame agents graph on a log of 10 MB, and on one four times that size: its memory
// should grow with the agents, not with the log.
func (b *bench) logs(ctx context.Context) (rows []row, err error) {
	t := b.middle()
	for _, megabytes := range []int{10, 40} {
		file := filepath.Join(b.dir, fmt.Sprintf("%d.jsonl", megabytes))
		if err := writeLog(file, megabytes*1_000_000); err != nil {
			return nil, err
		}
		samples, err := interleave(ctx, 3, func(int) error {
			_, err := output(b.command(ctx, t, "agents", "graph", file))
			return err
		})
		if err != nil {
			return nil, err
		}
		peak, err := b.peakOf(ctx, t, b.flame, "agents", "graph", file)
		if err != nil {
			return nil, err
		}
		scaled := goal{plus: readLogGoal.plus * float64(megabytes) / 10}
		rows = append(rows,
			scaled.against(fmt.Sprintf("flame agents graph on a log of %d MB, p50", megabytes), t.frames, unitMS, samples[0].p50(), 0),
			logMemoryGoal.against(fmt.Sprintf("flame agents graph on a log of %d MB, peak memory", megabytes), t.frames, unitMB, peak, 0))
	}
	searched, err := b.searching(ctx, t, filepath.Join(b.dir, "40.jsonl"))
	return append(rows, searched...), err
}

// searching times and weighs a search through the work of ended frames in a log: no entry but its last one
// has the word, so all of it is read.
func (b *bench) searching(ctx context.Context, t tree, log string) ([]row, error) {
	file, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(file, logLine, 0, "the needle")
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	learns := hookEvent{what: "Stop", host: claudecode.Name, event: func(t tree, _ int) map[string]any {
		return claudeEvent(t, "Stop", map[string]any{"session_id": t.session, "transcript_path": log})
	}}
	if err := b.hook(ctx, learns, t, 0); err != nil {
		return nil, err
	}
	samples, err := interleave(ctx, 5, func(int) error {
		out, err := output(b.command(ctx, t, "search", "needle"))
		if err == nil && !strings.Contains(out, "the needle") {
			err = fmt.Errorf("flame search found nothing: %q", out)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	peak, err := b.peakOf(ctx, t, b.flame, "search", "needle")
	return []row{
		searchGoal.against("flame search in a log of 40 MB, p50", t.frames, unitMS, samples[0].p50(), 0),
		searchMemoryGoal.against("flame search in a log of 40 MB, peak memory", t.frames, unitMB, peak, 0),
	}, err
}

func writeLog(path string, size int) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	for n := 0; size > 0 && err == nil; n++ {
		var written int
		written, err = fmt.Fprintf(file, logLine, n, strings.Repeat("some words of a file ", 100))
		size -= written
	}
	return errors.Join(err, file.Close())
}
