package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"flame/tests/clients"
	"flame/tests/model"
)

// A machine has one host with a scripted model, and flame if it is set up there.
type machine struct {
	*clients.Machine
	top    string
	host   host
	starts []string // the command that starts the host
}

func newMachine(ctx context.Context, h host, server *model.Server, files map[string]string, env []string) (*machine, error) {
	top, err := os.MkdirTemp("", "flame-economy-")
	if err != nil {
		return nil, err
	}
	m := &machine{top: top, host: h}
	if m.Machine, err = clients.NewMachine(ctx, top, h.name, server.URL, files); err != nil {
		return nil, errors.Join(err, m.close())
	}
	m.starts = []string{m.Program()}
	settled, err := h.settle(m.Place)
	if err != nil {
		return nil, errors.Join(err, m.close())
	}
	m.Env = append(settled, env...)
	return m, nil
}

// setUp sets flame up for the client, as its user does.
func (m *machine) setUp(ctx context.Context, flame string) error {
	if _, err := m.Run(ctx, flame, "setup", m.host.name); err != nil || !m.host.trusts {
		return err
	}
	return clients.TrustHooks(m.Command(ctx, m.Program(), "app-server"), m.Project)
}

// ask has the client answer a prompt, in the given session if there is one, and returns the
// session.
func (m *machine) ask(ctx context.Context, session, prompt string) (string, error) {
	args := m.host.next
	if session == "" {
		args = m.host.first
	}
	out, err := m.Run(ctx, m.starts[0], append(m.starts[1:len(m.starts):len(m.starts)], args(session, prompt)...)...)
	if err != nil {
		return "", err
	}
	found := m.host.session.FindStringSubmatch(out)
	if found == nil {
		return "", fmt.Errorf("%s names no session: %s", m.host.name, clients.Tail([]byte(out)))
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
