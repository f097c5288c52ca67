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
	top, home, project, bin string
	host                    host
	model                   *model.Server
	env                     []string // beyond those of every user
	starts                  []string // the command that starts the client
}

func newMachine(h host, server *model.Server, files map[string]string, env []string) (*machine, error) {
	top, err := os.MkdirTemp("", "flame-economy-")
	if err != nil {
		return nil, err
	}
	m := &machine{
		top: top, home: filepath.Join(top, "home"), project: filepath.Join(top, "project"), bin: filepath.Join(top, "bin"),
		host: h, model: server, env: env,
	}
	m.starts = []string{m.client()}
	if err := m.furnish(files); err != nil {
		return nil, errors.Join(err, m.close())
	}
	return m, nil
}

func (m *machine) furnish(files map[string]string) error {
	binary, err := clients.Binary(m.host.name)
	if err != nil {
		return err
	}
	if err := clients.Furnish(m.home); err != nil {
		return err
	}
	for _, dir := range []string{m.project, m.bin} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	if err := os.Symlink(binary, m.client()); err != nil {
		return err
	}
	for name, text := range files {
		if err := m.write(name, text); err != nil {
			return err
		}
	}
	if err := m.write(m.host.config(m.model.URL)); err != nil {
		return err
	}
	_, err = m.run(context.Background(), "git", "init", "--quiet")
	return err
}

func (m *machine) client() string { return filepath.Join(m.bin, clients.Programs[m.host.name].Name) }

func (m *machine) write(name, text string) error {
	path := filepath.Join(m.project, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// longest bounds one command; a prompt of the whole work takes minutes.
const longest = 30 * time.Minute

// run returns the output of a command in the project.
func (m *machine) run(ctx context.Context, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = m.project
	cmd.Env = append(clients.Environment(m.home, m.bin+":/usr/local/bin:/usr/bin:/bin", m.model.URL), m.env...)
	cmd.WaitDelay = time.Second
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return string(out), fmt.Errorf("%s %s: %w\n%s%s", filepath.Base(program), args[0], err, tail(out), tail(errs.Bytes()))
	}
	return string(out), nil
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
