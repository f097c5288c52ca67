package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"flame/hosts/claudecode"
)

var (
	hookMemoryGoal   = goal{plus: 16}
	serverMemoryGoal = goal{plus: 30}
)

// memory returns the peak resident memory of a hook, a command and a server.
func (b *bench) memory(ctx context.Context) ([]row, error) {
	t := b.largest()
	hello, err := b.peakOf(ctx, t, b.hello)
	if err != nil {
		return nil, err
	}
	cmd, err := b.fed(b.program(ctx, t, b.peak, b.peakFile(), b.flame, "hook", claudecode.Name), hookEvents[0], t, b.processes)
	if err != nil {
		return nil, err
	}
	hook, err := b.peakOfRun(cmd)
	if err != nil {
		return nil, err
	}
	show, err := b.peakOf(ctx, t, b.flame, "show", t.frame(1))
	if err != nil {
		return nil, err
	}
	server, err := b.peakOfServer(ctx, t)
	if err != nil {
		return nil, err
	}
	return []row{
		hookMemoryGoal.against("flame hook, "+hookEvents[0].what+", peak memory", t.frames, unitMB, hook, hello),
		hookMemoryGoal.against("flame show FRAME, peak memory", t.frames, unitMB, show, hello),
		serverMemoryGoal.against("flame serve at work, peak memory", t.frames, unitMB, server, hello),
	}, nil
}

// peakOf returns the peak of a program in MB.
func (b *bench) peakOf(ctx context.Context, t tree, program string, args ...string) (float64, error) {
	return b.peakOfRun(b.program(ctx, t, b.peak, append([]string{b.peakFile(), program}, args...)...))
}

// peakOfRun runs peak and returns its result, in MB.
func (b *bench) peakOfRun(cmd *exec.Cmd) (float64, error) {
	if _, err := output(cmd); err != nil {
		return 0, err
	}
	return readPeak(b.peakFile())
}

// peakOfServer returns the peak in MB of a server after some calls of each kind.
func (b *bench) peakOfServer(ctx context.Context, t tree) (float64, error) {
	file := b.peakFile()
	c, err := connect(b.program(ctx, t, b.peak, file, b.flame, "serve"))
	if err != nil {
		return 0, err
	}
	if err := errors.Join(b.work(c, t), c.close()); err != nil {
		return 0, err
	}
	return readPeak(file)
}

// work calls the most frequent tools repeatedly.
func (b *bench) work(c *client, t tree) error {
	if _, err := c.call("tools/list", nil); err != nil {
		return err
	}
	for run := range b.starts {
		if _, err := c.push(run); err != nil {
			return err
		}
		for name, args := range map[string]map[string]any{
			"flame_status":          {},
			"flame_tree":            {},
			"flame_search":          {"query": "login cache"},
			"flame_context_preview": {"frameID": t.frame(run)},
			"flame_frame_details":   {"frameID": t.frame(run)},
			"flame_add_decision":    {"decision": fmt.Sprintf("decision %d", run)},
		} {
			if _, err := c.tool(name, args); err != nil {
				return err
			}
		}
		if err := c.pop(); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) peakFile() string { return filepath.Join(b.dir, "peak.txt") }

// readPeak reads the file of peak, in MB.
func readPeak(file string) (float64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	return n / 1e6, err
}
