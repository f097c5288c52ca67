package main

import (
	"context"
	"os"
	"time"

	"github.com/samber/lo"

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

func newMachine(ctx context.Context, h host, server *model.Server, files map[string]string, env []string) *machine {
	top := lo.Must(os.MkdirTemp("", "flame-economy-"))
	m := &machine{top: top, host: h}
	m.Machine = lo.Must(clients.NewMachine(ctx, top, h.name, server.URL, files))
	m.starts = []string{m.Program()}
	m.Env = append(h.settle(m.Place), env...)
	return m
}

// setUp sets flame up for the client, as its user does.
func (m *machine) setUp(ctx context.Context, flame string) {
	lo.Must(m.Run(ctx, flame, "setup", m.host.name))
	if m.host.trusts {
		lo.Must0(clients.TrustHooks(m.Command(ctx, m.Program(), "app-server"), m.Project))
	}
}

// ask has the client answer a prompt, in the given session if there is one, and returns the
// session.
func (m *machine) ask(ctx context.Context, session, prompt string) string {
	args := m.host.next
	if session == "" {
		args = m.host.first
	}
	out := lo.Must(m.Run(ctx, m.starts[0], append(m.starts[1:len(m.starts):len(m.starts)], args(session, prompt)...)...))
	found := m.host.session.FindStringSubmatch(out)
	lo.Must0(found != nil, "%s names no session: %s", m.host.name, clients.Tail([]byte(out)))
	return found[1]
}

// close removes everything. Flame may still write after a session while close tries to.
func (m *machine) close() {
	var err error
	for range 20 {
		if err = os.RemoveAll(m.top); err == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	lo.Must0(err)
}
