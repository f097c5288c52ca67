package intake

import (
	"context"
	"encoding/json"
	"errors"

	"flame/core"
	"flame/project"
	"flame/project/turns"
)

// version is that of the letters that this program writes and the newest it reads.
const version = 1

// A Letter is an event of a host, and what must be known to handle it later, in another
// process.
type Letter struct {
	Version int             `json:"v"`
	Host    string          `json:"host"`
	At      core.Millis     `json:"at"`               // when it happened
	Dir     string          `json:"dir,omitempty"`    // root of the worktree that it happened in
	Agent   string          `json:"agent,omitempty"`  // id of the agent in whose process it happened
	Source  string          `json:"source,omitempty"` // with N, its mark; empty: it comes once
	N       int64           `json:"n,omitempty"`
	Process project.Process `json:"process,omitzero"` // of the host
	Event   json.RawMessage `json:"event"`
}

// marks returns what tells the letter from others.
func (l Letter) marks() []turns.Mark {
	if l.Source == "" {
		return nil
	}
	return []turns.Mark{{Source: l.Source, N: l.N}}
}

// TakeIn handles the events in the inbox, in order, until ctx is done. It drops their answers. The
// next call continues with the next line.
func (d Desk) TakeIn(ctx context.Context) error {
	t := taking{desk: d, late: map[string]int{}}
	err := d.Inbox.Take(ctx, func(line Line) error { return t.take(ctx, line) })
	if err == nil {
		t.over()
	}
	t.save(ctx)
	return err
}

// A taking is one pass through the inbox.
type taking struct {
	desk Desk
	at   turns.Mark     // the line that was handled last
	done []string       // files that were handled to their end
	late map[string]int // events by their hosts
}

// take handles a line, unless that was done before.
func (t *taking) take(ctx context.Context, line Line) error {
	if line.File != t.at.Source {
		taken, err := turns.TakenFrom(ctx, t.desk.Project, line.File)
		if err != nil {
			return err
		}
		t.over()
		t.at = turns.Mark{Source: line.File, N: taken.N}
	}
	if line.N <= t.at.N {
		return nil
	}
	if err := t.handle(ctx, line); err != nil {
		return err
	}
	t.at.N = line.N
	return nil
}

// over notes that the file is at its end.
func (t *taking) over() {
	if t.at.Source != "" {
		t.done = append(t.done, t.at.Source)
	}
	t.at = turns.Mark{}
}

// handle handles one line, and counts it for its host.
func (t *taking) handle(ctx context.Context, line Line) error {
	d, at := t.desk, turns.Mark{Source: line.File, N: line.N}
	var letter Letter
	err := json.Unmarshal(line.Text, &letter)
	host, known := d.Hosts.Find(letter.Host)
	if err != nil || !known || host.Hook == nil || letter.Version != version {
		d.Project.Log.Warn("flame cannot read an event in the inbox", "version", letter.Version, "host", letter.Host, "error", err)
		if err := d.Inbox.SetAside(line); err != nil {
			return err
		}
		return turns.SaveTaken(ctx, d.Project, at)
	}
	_, err = d.handle(ctx, d.then(letter), host.Hook, letter, append(letter.marks(), at))
	if err != nil && (errors.Is(err, core.ErrUnavailable) || ctx.Err() != nil) {
		return errors.Join(err, ctx.Err())
	}
	if err != nil {
		d.Project.Log.Warn("hook", "error", err)
	}
	t.late[host.Name]++
	return nil
}

// save records how far the inbox was taken in, with lines that changed nothing, and the
// count of late events, which is for people.
func (t *taking) save(ctx context.Context) {
	if len(t.done) == 0 && t.at.N == 0 {
		return
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), ahead)
	defer stop()
	err := t.desk.Project.Together(ctx, func(p *project.Project) error {
		for _, file := range t.done {
			if err := turns.ForgetSource(ctx, p, file); err != nil {
				return err
			}
		}
		if t.at.N > 0 {
			if err := turns.SaveTaken(ctx, p, t.at); err != nil {
				return err
			}
		}
		return p.NoteLate(ctx, t.late)
	})
	if err != nil {
		t.desk.Project.Log.Warn("the progress in the inbox could not be recorded", "error", err)
	}
}

// then returns the project as it was when the event of a letter happened.
func (d Desk) then(letter Letter) *project.Project {
	p := *d.Project
	p.Late, p.Dir, p.Gateway, p.HostProcess = true, letter.Dir, "", nil
	if letter.Process != (project.Process{}) {
		p.HostProcess = func() project.Process { return letter.Process }
	}
	p.Now = func() core.Millis { return min(letter.At, d.Project.Now()) }
	return &p
}
