package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/samber/lo"

	"flame/core"
	"flame/tests/clients"
	"flame/tests/economy/work"
	"flame/tests/model"
	"flame/tests/model/rules"
	"flame/tests/tokens"
)

// A bench measures variants.
type bench struct {
	flame   string // the program
	pieces  int
	counter *tokens.Counter
	log     io.Writer
	facts   []work.Fact
}

// measure does the work of a variant and returns the sums of its requests.
func (b bench) measure(ctx context.Context, v variant) (row result) {
	h := hostOf(v.host)
	w := work.Make(b.pieces, h.bytes)
	switch v.way {
	case work.Asked:
		w = w.Apart()
	case work.Listed:
		w = w.Together()
	}
	m := b.prepare(ctx, v, w.Files)
	defer m.close()
	server, judge := m.server, m.judge
	server.Play(w.Script(v.way, speaker{h.tongue, m.Project}))
	session := ""
	for _, p := range w.Prompts {
		session = m.ask(ctx, session, p.Text)
	}
	ids := b.frames(ctx, v, m.machine)
	answered := server.By(work.Main)
	lo.Must0(len(answered) > 0, "no request was answered: %v", judge.Reasons())
	row = figures(v, judge)
	row.Kept = remaining(w, said(answered[len(answered)-1]), ids)
	row.Twice = twice(answered[len(answered)-1])
	if v.gateway {
		row.Miscounted = b.miscounted(ctx, m.machine, judge.Stats())
	}
	for reason, times := range judge.Reasons() {
		fmt.Fprintf(b.log, "%s, %s: refused %d times: %s\n", v.host, v.name, times, reason)
	}
	lo.Must0(m.faults.err())
	return row
}

// A place is a machine with its model.
type place struct {
	*machine
	server *model.Server
	judge  *rules.Judge
	faults *faults
}

// prepare makes the place for a variant, with files in its project.
func (b bench) prepare(ctx context.Context, v variant, files map[string]string) (p place) {
	h := hostOf(v.host)
	p.faults = &faults{}
	p.server = model.New(nil, p.faults.add)
	p.judge = rules.New(rules.Options{Protocol: true, Bound: true, Cache: true, Tokens: b.counter.Count})
	p.server.Enforce(p.judge)
	p.machine = newMachine(ctx, h, p.server, files, v.env)
	if v.flame {
		p.setUp(ctx, b.flame)
	}
	if v.gateway {
		p.starts = []string{b.flame, clients.Programs[h.name].Name}
	}
	return p
}

func (p place) close() {
	p.server.Close()
	p.machine.close()
}

// miscounted returns the difference between flame's count of tokens and the model's.
func (b bench) miscounted(ctx context.Context, m *machine, counted rules.Stats) int {
	out := lo.Must(m.Run(ctx, b.flame, "stats", "--json"))
	var told struct{ Usage core.Usage }
	lo.Must0(json.Unmarshal([]byte(out), &told))
	miss := 0
	for _, pair := range [][2]int{
		{int(told.Usage.TokensIn), counted.Uncached}, {int(told.Usage.CacheRead), counted.Read},
		{int(told.Usage.CacheWritten), counted.Written}, {int(told.Usage.TokensOut), counted.Out},
	} {
		miss += max(pair[0]-pair[1], pair[1]-pair[0])
	}
	return miss
}

// faults are a server's complaints about its script.
type faults struct {
	mu   sync.Mutex
	errs []error
}

func (f *faults) add(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errs = append(f.errs, fmt.Errorf(format, args...))
}

func (f *faults) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.errs...)
}

func hostOf(name string) host {
	for _, h := range hosts {
		if h.name == name {
			return h
		}
	}
	panic("unknown host " + name)
}

// said returns the text of a request's conversation, calls included.
func said(r model.Request) string {
	var b strings.Builder
	b.WriteString(r.System + "\n" + r.Everything())
	for _, m := range r.Messages {
		for _, c := range m.Calls {
			fmt.Fprintf(&b, "\n%s", c.Input)
		}
	}
	return b.String()
}
