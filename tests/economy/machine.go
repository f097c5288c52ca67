package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"flame/tests/clients"
	"flame/tests/model"
)

// A machine is one user's, isolated from this one: a home, a project in git, one client with a
// scripted model, and flame if it is set up there.
type machine struct {
	clients.Place
	top    string
	host   host
	env    []string // beyond those of every user
	starts []string // the command that starts the client
}

func newMachine(h host, server *model.Server, files map[string]string, env []string) (*machine, error) {
	top, err := os.MkdirTemp("", "flame-economy-")
	if err != nil {
		return nil, err
	}
	m := &machine{
		Place: clients.Place{
			Home: filepath.Join(top, "home"), Project: filepath.Join(top, "project"), Bin: filepath.Join(top, "bin"), URL: server.URL,
		},
		top: top, host: h,
	}
	m.starts = []string{filepath.Join(m.Bin, clients.Programs[h.name].Name)}
	if err := m.furnish(files); err != nil {
		return nil, errors.Join(err, m.close())
	}
	m.env = append(m.env, env...)
	return m, nil
}

func (m *machine) furnish(files map[string]string) error {
	if err := clients.Furnish(m.Home); err != nil {
		return err
	}
	for _, dir := range []string{m.Project, m.Bin} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	if err := m.Link(m.host.name); err != nil {
		return err
	}
	for name, text := range files {
		path := filepath.Join(m.Project, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	env, err := m.host.settle(m.Place)
	if err != nil {
		return err
	}
	m.env = env
	_, err = m.run(context.Background(), "git", "init", "--quiet")
	return err
}

// setUp sets flame up for the client, as its user does.
func (m *machine) setUp(ctx context.Context, flame string) error {
	if _, err := m.run(ctx, flame, "setup", m.host.name); err != nil || !m.host.trusts {
		return err
	}
	return clients.TrustHooks(m.command(ctx, m.starts[0], "app-server"), m.Project)
}

// longest bounds one command; a prompt of the whole work takes minutes.
const longest = 30 * time.Minute

// run returns the output of a command in the project.
func (m *machine) run(ctx context.Context, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	cmd := m.command(ctx, program, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return string(out), fmt.Errorf("%s %s: %w\n%s%s", filepath.Base(program), args[0], err, tail(out), tail(errs.Bytes()))
	}
	return string(out), nil
}

func (m *machine) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = m.Project
	cmd.Env = append(clients.Environment(m.Home, m.Bin+":/usr/local/bin:/usr/bin:/bin", m.URL), m.env...)
	cmd.WaitDelay = time.Second
	return cmd
}

// tail is the end of an output, for errors.
func tail(out []byte) []byte { return out[max(0, len(out)-2000):] }

// ask has the client answer a prompt, in the given session if there is one, and returns the
// session.
func (m *machine) ask(ctx context.Context, session, prompt string) (string, error) {
	args := m.host.next
	if session == "" {
		args = m.host.first
	}
	out, err := m.run(ctx, m.starts[0], append(m.starts[1:len(m.starts):len(m.starts)], args(session, prompt)...)...)
	if err != nil {
		return "", err
	}
	found := m.host.session.FindStringSubmatch(out)
	if found == nil {
		return "", fmt.Errorf("%s names no session: %s", m.host.name, tail([]byte(out)))
	}
	return found[1], nil
}

// close removes everything. Flame may still write after a session while close tries to.
func (m *machine) close() error {
	var err error
	for range 20 {
		if err = os.RemoveAll(m.top); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}
