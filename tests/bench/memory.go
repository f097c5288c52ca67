package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/samber/lo"

	"flame/hosts/claudecode"
)

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
