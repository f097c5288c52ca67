package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"flame/tests/clients"
	"flame/tests/model"
)

// trueGoal is for what flame's hooks add: no more than a program that does nothing.
var trueGoal = goal{times: 1}

// A repeated is a tool that the model calls turn after turn.
type repeated struct {
	tool          string
	input         func(project string, round, turn int) object
	before, after bool // where the hook of /bin/true stands: PreToolUse, PostToolUse
}

// repeatedTools are a tool for which flame has no hook, and those for which it has one at
// either event. /bin/true stands where flame's hook does; for Read, where it could.
var repeatedTools = []repeated{
	{tool: "Read", input: func(project string, _, _ int) object {
		return object{"file_path": filepath.Join(project, readFile)}
	}, before: true, after: true},
	{tool: "Write", input: func(project string, round, turn int) object {
		return object{"file_path": filepath.Join(project, writtenFile(round, turn)), "content": "package part\n"}
	}, after: true},
	{tool: "flame_status", input: func(string, int, int) object { return object{} }, before: true},
}

const readFile = "notes.txt"

func writtenFile(round, turn int) string { return fmt.Sprintf("part-%d-%d.go", round, turn) }

// The kinds of hooks that Claude Code is timed with, in one run.
const (
	noHooks = iota
	trueHooks
	callingHooks
	commandHooks
	kindsOfHooks
)

// claudeCode times the real client with each kind of hooks in turn: from the end of the
// model's answer, which calls a tool, to the client's next request.
func (b *bench) claudeCode(ctx context.Context) (rows []row, err error) {
	if _, err := clients.Binary(clients.ClaudeCode); err != nil {
		b.tell("left out: " + err.Error())
		return nil, nil
	}
	var machines []*machine
	for kind := range kindsOfHooks {
		m, err := b.machine(ctx, kind)
		if err != nil {
			return nil, err
		}
		defer m.model.Close()
		machines = append(machines, m)
	}
	taken, err := b.sessions(ctx, machines)
	if err != nil {
		return nil, err
	}
	for _, r := range repeatedTools {
		var p50 [kindsOfHooks]float64
		for kind := range p50 {
			p50[kind] = taken[kind][r.tool].p50()
		}
		rows = append(rows, hookRows(r.tool, p50)...)
	}
	return rows, nil
}

// sessions has the clients work in turn, in each round all of them, and returns how long
// each took with the calls of each tool.
func (b *bench) sessions(ctx context.Context, machines []*machine) (taken [kindsOfHooks]map[string]sample, err error) {
	for kind := range taken {
		taken[kind] = map[string]sample{}
	}
	for round := range b.rounds {
		for kind, m := range machines {
			if err := b.session(ctx, m, round, taken[kind]); err != nil {
				return taken, fmt.Errorf("in %s: %w", m.home, err)
			}
		}
	}
	return taken, nil
}

// hookRows tells what each kind of hooks adds to the time without any.
func hookRows(tool string, p50 [kindsOfHooks]float64) []row {
	about := "Claude Code, " + tool + ": "
	adds := func(kind int) float64 { return p50[kind] - p50[noHooks] }
	return []row{
		told(about+"from answer to request without hooks, p50", unitMS, p50[noHooks]),
		told(about+"what /bin/true as a hook adds", unitMS, adds(trueHooks)),
		trueGoal.against(about+"what flame's hooks add, by calls", 0, unitMS, adds(callingHooks), adds(trueHooks)),
		told(about+"what flame's hooks add, by commands", unitMS, adds(commandHooks)),
	}
}

// session has the client make all calls in one session, and adds how long it took from
// each to its next request.
func (b *bench) session(ctx context.Context, m *machine, round int, taken map[string]sample) error {
	worker := fmt.Sprintf("worker in round %d", round)
	m.model.Play(model.Script{{Name: worker, Turns: b.callsOf(m, round)}})
	if _, err := m.run(ctx, "claude", "-p", "--output-format", "json", "--permission-mode", "bypassPermissions", "--", "Do the work."); err != nil {
		return err
	}
	requests := m.model.By(worker)
	if want := len(repeatedTools)*b.turns + 1; len(requests) != want || len(m.faults) > 0 {
		return errors.Join(append(m.faults, fmt.Errorf("the client sent %d requests, not %d", len(requests), want))...)
	}
	for n, next := range requests[1:] {
		if r, turn := repeatedTools[n/b.turns], n%b.turns; turn >= b.early {
			taken[r.tool] = append(taken[r.tool], next.Arrived.Sub(requests[n].Answered))
		}
	}
	return m.check(ctx, round, b.turns)
}

// callsOf returns the model's turns in one session: those of each tool together.
func (b *bench) callsOf(m *machine, round int) (turns []model.Turn) {
	for _, r := range repeatedTools {
		for turn := range b.turns {
			turns = append(turns, model.Turn{Tools: []model.Tool{{Name: r.tool, Input: r.input(m.project, round, turn)}}})
		}
	}
	return turns
}
