package clients

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// A Machine is one user's, isolated from this one: a home, a project in git, and a client that has a
// scripted model.
type Machine struct {
	Place
	Client string
	Env    []string // beyond those of every user
}

// NewMachine makes a machine with files in its project, in the folder top.
func NewMachine(ctx context.Context, top, client, url string, files map[string]string) (*Machine, error) {
	m := &Machine{
		Place:  Place{Home: filepath.Join(top, "home"), Project: filepath.Join(top, "project"), Bin: filepath.Join(top, "bin"), URL: url},
		Client: client,
	}
	if err := errors.Join(Furnish(m.Home), os.Mkdir(m.Project, 0o755), os.Mkdir(m.Bin, 0o755), m.Link(client)); err != nil {
		return nil, err
	}
	for name, text := range files {
		path := filepath.Join(m.Project, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			return nil, err
		}
	}
	_, err := m.Run(ctx, "git", "init", "--quiet")
	return m, err
}

// Program is the client's file.
func (m *Machine) Program() string { return filepath.Join(m.Bin, Programs[m.Client].Name) }

// longest bounds one command; a prompt of a long work takes minutes.
const longest = 30 * time.Minute

// Run returns the output of a command in the project. A process that it started may outlive it.
func (m *Machine) Run(ctx context.Context, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	cmd := m.Command(ctx, program, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return string(out), fmt.Errorf("%s %s: %w\n%s%s", filepath.Base(program), args[0], err, Tail(out), Tail(errs.Bytes()))
	}
	return string(out), nil
}

// Command returns a command that Run would run.
func (m *Machine) Command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.WaitDelay = m.Project, time.Second
	cmd.Env = append(Environment(m.Home, m.Bin+":/usr/local/bin:/usr/bin:/bin", m.URL), m.Env...)
	return cmd
}

// Tail is the end of an output, for errors.
func Tail(out []byte) []byte { return out[max(0, len(out)-2000):] }
