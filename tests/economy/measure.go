package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

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
func (b bench) measure(ctx context.Context, v variant) (row result, err error) {
	h := hostOf(v.host)
	w := work.Make(b.pieces, h.bytes)
	if v.way == work.Asked {
		w = w.Apart()
	}
	m, err := b.prepare(ctx, v, w.Files)
	if err != nil {
		return row, err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	server, judge := m.server, m.judge
	server.Play(w.Script(v.way, speaker{h.tongue, m.Project}))
	session := ""
	for _, p := range w.Prompts {
		if session, err = m.ask(ctx, session, p.Text); err != nil {
			return row, err
		}
	}
	ids, err := b.frames(ctx, v, m.machine)
	if err != nil {
		return row, err
	}
	answered := server.By(work.Main)
	if len(answered) == 0 {
		return row, fmt.Errorf("no request was answered: %v", judge.Reasons())
	}
	row = figures(v, judge)
	row.Kept = remaining(w, said(answered[len(answered)-1]), ids)
	row.Twice = twice(answered[len(answered)-1])
	if v.gateway {
		if row.Miscounted, err = b.miscounted(ctx, m.machine, judge.Stats()); err != nil {
			return row, err
		}
	}
	for reason, times := range judge.Reasons() {
		fmt.Fprintf(b.log, "%s, %s: refused %d times: %s\n", v.host, v.name, times, reason)
	}
	return row, m.faults.err()
}

// A place is a machine with its model.
type place struct {
	*machine
	server *model.Server
	judge  *rules.Judge
	faults *faults
}

// prepare makes the place for a variant, with files in its project.
func (b bench) prepare(ctx context.Context, v variant, files map[string]string) (p place, err error) {
	h := hostOf(v.host)
	p.faults = &faults{}
	p.server = model.New(nil, p.faults.add)
	p.judge = rules.New(rules.Options{Protocol: true, Bound: true, Cache: true, Tokens: b.counter.Count})
	p.server.Enforce(p.judge)
	if p.machine, err = newMachine(ctx, h, p.server, files, v.env); err != nil {
		p.server.Close()
		return p, err
	}
	if v.flame {
		err = p.setUp(ctx, b.flame)
	}
	if v.gateway {
		p.starts = []string{b.flame, clients.Programs[h.name].Name}
	}
	if err != nil {
		err = errors.Join(err, p.close())
	}
	return p, err
}

func (p place) close() error {
	p.server.Close()
	return p.machine.close()
}

// miscounted returns the difference between flame's count of tokens and the model's.
func (b bench) miscounted(ctx context.Context, m *machine, counted rules.Stats) (int, error) {
	out, err := m.Run(ctx, b.flame, "stats", "--json")
	if err != nil {
		return 0, err
	}
	var told struct{ Usage core.Usage }
	if err := json.Unmarshal([]byte(out), &told); err != nil {
		return 0, err
	}
	miss := 0
	for _, pair := range [][2]int{
		{int(told.Usage.TokensIn), counted.Uncached}, {int(told.Usage.CacheRead), counted.Read},
		{int(told.Usage.CacheWritten), counted.Written}, {int(told.Usage.TokensOut), counted.Out},
	} {
		miss += max(pair[0]-pair[1], pair[1]-pair[0])
	}
	return miss, nil
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
