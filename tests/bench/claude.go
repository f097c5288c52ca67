package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

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

// A machine has Claude Code with flame's plugin or only its server.
type machine struct {
	*clients.Machine
	flame  string
	notes  bool // it has flame's hooks
	model  *model.Server
	faults []error           // calls of tools that the client did not offer
	taken  map[string]sample // by tool, from each call to the next request
}

// machine returns a machine whose client has a kind of hooks.
func (b *bench) machine(ctx context.Context, kind int) *machine {
	top := filepath.Join(b.dir, fmt.Sprintf("machine-%d", kind))
	m := &machine{flame: b.flame, notes: kind == callingHooks, taken: map[string]sample{}}
	m.model = model.New(nil, func(format string, args ...any) { m.faults = append(m.faults, fmt.Errorf(format, args...)) })
	m.furnish(ctx, top)
	switch kind {
	case noHooks:
		m.hooks(object{})
	case trueHooks:
		m.hooks(allTrue())
	}
	return m
}

func (m *machine) furnish(ctx context.Context, top string) {
	lo.Must0(os.Mkdir(top, 0o755))
	files := map[string]string{readFile: strings.Repeat("a line of notes\n", 20)}
	m.Machine = lo.Must(clients.NewMachine(ctx, top, clients.ClaudeCode, m.model.URL, files))
	lo.Must(m.Run(ctx, m.flame, "setup", clients.ClaudeCode))
}

// allTrue returns hooks of /bin/true that start like flame's commands: without a shell.
func allTrue() object {
	on := func(at func(repeated) bool) (matchers []object) {
		for _, r := range repeatedTools {
			if at(r) {
				matchers = append(matchers, object{
					"matcher": "^(.*__)?" + r.tool + "$",
					"hooks":   []object{{"type": "command", "command": "/bin/true", "args": []string{"hook"}, "timeout": 5}},
				})
			}
		}
		return matchers
	}
	return object{
		"PreToolUse":  on(func(r repeated) bool { return r.before }),
		"PostToolUse": on(func(r repeated) bool { return r.after }),
	}
}

// hooks replaces the plugin's hooks, in flame's folder and in the client's copy.
func (m *machine) hooks(hooks object) {
	text := lo.Must(json.Marshal(object{"hooks": hooks}))
	lo.Must0(filepath.WalkDir(m.Home, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "hooks.json" {
			return err
		}
		return os.WriteFile(path, text, 0o644)
	}))
}

// check checks the effect of a session's calls: a hook that does nothing would go unnoticed.
func (m *machine) check(ctx context.Context, round, turns int) {
	state := lo.Must(m.Run(ctx, m.flame, "call", "flame_get_state"))
	for turn := range turns {
		file := writtenFile(round, turn)
		lo.Must(os.Stat(filepath.Join(m.Project, file)))
		check(strings.Contains(state, `"`+file+`"`) == m.notes, "flame's hooks are there: %t; they noted %s: %t", m.notes, file, !m.notes)
	}
}
