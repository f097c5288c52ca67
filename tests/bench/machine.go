package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"flame/tests/clients"
	"flame/tests/model"
)

// A machine is one user's, isolated from this one: a home and a project in git, and the client
// with flame's plugin or only its server.
type machine struct {
	home, project, bin string
	flame              string
	env                []string // beyond those of every user
	notes              bool     // it has flame's hooks
	model              *model.Server
	faults             []error           // calls of tools that the client did not offer
	taken              map[string]sample // by tool, from each call to the next request
}

// machine returns a machine whose client has a kind of hooks.
func (b *bench) machine(ctx context.Context, kind int) (*machine, error) {
	top := filepath.Join(b.dir, fmt.Sprintf("machine-%d", kind))
	m := &machine{
		home: filepath.Join(top, "home"), project: filepath.Join(top, "project"), bin: filepath.Join(top, "bin"),
		flame: b.flame, notes: kind == callingHooks || kind == commandHooks, taken: map[string]sample{},
	}
	if kind == commandHooks {
		m.env = []string{"FLAME_HOOKS=command"}
	}
	m.model = model.New(nil, func(format string, args ...any) { m.faults = append(m.faults, fmt.Errorf(format, args...)) })
	if err := m.furnish(ctx); err != nil {
		m.model.Close()
		return nil, err
	}
	switch kind {
	case noHooks:
		return m, m.hooks(object{})
	case trueHooks:
		return m, m.hooks(allTrue())
	}
	return m, nil
}

func (m *machine) furnish(ctx context.Context) error {
	for _, dir := range []string{m.home, m.project, m.bin} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	binary, err := clients.Binary(clients.ClaudeCode)
	if err != nil {
		return err
	}
	if err := errors.Join(
		os.Symlink(binary, filepath.Join(m.bin, clients.Programs[clients.ClaudeCode].Name)),
		os.WriteFile(filepath.Join(m.project, readFile), []byte(strings.Repeat("a line of notes\n", 20)), 0o644),
	); err != nil {
		return err
	}
	if _, err := m.run(ctx, "git", "init", "--quiet"); err != nil {
		return err
	}
	_, err = m.run(ctx, m.flame, "setup", clients.ClaudeCode)
	return err
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
func (m *machine) hooks(hooks object) error {
	text, err := json.Marshal(object{"hooks": hooks})
	if err != nil {
		return err
	}
	return filepath.WalkDir(m.home, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "hooks.json" {
			return err
		}
		return os.WriteFile(path, text, 0o644)
	})
}

// run returns the output of a command in the project.
func (m *machine) run(ctx context.Context, program string, args ...string) (string, error) {
	path := m.bin + ":/usr/local/bin:/usr/bin:/bin"
	if filepath.Base(program) == clients.Programs[clients.ClaudeCode].Name {
		program = filepath.Join(m.bin, program)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.WaitDelay = m.project, time.Second
	cmd.Env = append(clients.Environment(m.home, path, m.model.URL), m.env...)
	out, err := output(cmd)
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // a process that the client started outlives it
	}
	return out, err
}

// check checks the effect of a session's calls: a hook that does nothing would go unnoticed.
func (m *machine) check(ctx context.Context, round, turns int) error {
	state, err := m.run(ctx, m.flame, "call", "flame_get_state")
	if err != nil {
		return err
	}
	for turn := range turns {
		file := writtenFile(round, turn)
		if _, err := os.Stat(filepath.Join(m.project, file)); err != nil {
			return fmt.Errorf("the client has not written a file: %w", err)
		}
		if strings.Contains(state, `"`+file+`"`) != m.notes {
			return fmt.Errorf("flame's hooks are there: %t; they noted %s: %t", m.notes, file, !m.notes)
		}
	}
	return nil
}
