package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/samber/lo"

	"flame/tests/clients"
	"flame/tests/model"
)

// trueGoal is the goal of flame's hooks: they add no more than a program that does nothing.
var trueGoal = goal{times: 1}

// A repeated is a tool that the model calls turn after turn.
type repeated struct {
	tool          string
	input         func(project string, round, turn int) object
	before, after bool // the events that have the hook of /bin/true: PreToolUse, PostToolUse
}

// repeatedTools are a tool without hooks of flame's, and tools with a hook at each event.
// /bin/true takes the place of flame's hook; for Read, the place that it could have.
var repeatedTools = []repeated{
	{tool: "Read", input: func(project string, _, _ int) object {
		return object{"file_path": filepath.Join(project, readFile)}
	}, before: true, after: true},
	{tool: "Write", input: func(project string, round, turn int) object {
		return object{"file_path": filepath.Join(project, writtenFile(round, turn)), "content": "package part\n"}
	}, after: true},
	{tool: "flame_push", input: func(_ string, round, turn int) object {
		return object{"goal": fmt.Sprintf("part %d of round %d", turn, round)}
	}, before: true},
}

const readFile = "notes.txt"

func writtenFile(round, turn int) string { return fmt.Sprintf("part-%d-%d.go", round, turn) }

// The kinds of hooks with which Claude Code is timed, in one run.
const (
	noHooks = iota
	trueHooks
	callingHooks
	kindsOfHooks
)

// claudeCode times the real client with each kind of hooks: from the end of the model's
// answer, which calls a tool, to the client's next request.
func (b *bench) claudeCode(ctx context.Context) (rows []row) {
	if _, err := clients.Binary(clients.ClaudeCode); err != nil {
		b.tell("left out: " + err.Error())
		return nil
	}
	var machines []*machine
	for kind := range kindsOfHooks {
		m := b.machine(ctx, kind)
		defer m.model.Close()
		machines = append(machines, m)
	}
	for round := range b.rounds {
		for _, m := range machines { // in turn, so that other load on the machine affects all of them
			b.session(ctx, m, round)
		}
	}
	for _, r := range repeatedTools {
		var samples [kindsOfHooks]sample
		for kind := range samples {
			samples[kind] = machines[kind].taken[r.tool]
		}
		rows = append(rows, hookRows(r.tool, samples)...)
	}
	return rows
}

// hookRows returns how much each kind of hooks adds to the time without hooks. The samples are of
// the same steps, in order.
func hookRows(tool string, samples [kindsOfHooks]sample) []row {
	about := "Claude Code, " + tool + ": "
	adds := func(kind int) float64 { return samples[kind].beyond(samples[noHooks]).p50() }
	return []row{
		told(about+"from answer to request without hooks, p50", unitMS, samples[noHooks].p50()),
		told(about+"what /bin/true as a hook adds, p50", unitMS, adds(trueHooks)),
		trueGoal.against(about+"what flame's hooks add, p50", 0, unitMS, adds(callingHooks), adds(trueHooks)),
	}
}

// session has one client make all calls, and records the times from each call to its next request.
func (b *bench) session(ctx context.Context, m *machine, round int) {
	worker := fmt.Sprintf("worker in round %d", round)
	m.model.Play(model.Script{{Name: worker, Turns: b.steps(m, round)}})
	lo.Must(m.Run(ctx, m.Program(), "-p", "--output-format", "json", "--permission-mode", "bypassPermissions", "--", "Do the work."))
	requests := m.model.By(worker)
	want := len(repeatedTools)*b.turns + 1
	check(len(requests) == want && len(m.faults) == 0, "the client sent %d requests, not %d: %q", len(requests), want, m.faults)
	for n, next := range requests[1:] {
		if r, turn := repeatedTools[n/b.turns], n%b.turns; turn >= b.early {
			m.taken[r.tool] = append(m.taken[r.tool], next.Arrived.Sub(requests[n].Answered))
		}
	}
	m.check(ctx, round, b.turns)
}

// steps returns the model's turns in one session, all calls of a tool before those of the next.
func (b *bench) steps(m *machine, round int) (turns []model.Turn) {
	for _, tool := range repeatedTools {
		for turn := range b.turns {
			turns = append(turns, model.Turn{Tools: []model.Tool{{Name: tool.tool, Input: tool.input(m.Project, round, turn)}}})
		}
	}
	return append(turns, model.Turn{Text: "done"})
}
