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
