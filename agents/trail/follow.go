package trail

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"flame/core"
	"flame/transcripts"
)

// Follow tracks the logs in these formats at path, a file, a folder or "-" for
// input, and calls show with what is known: at first, and whenever there is
// more, at most once per interval. It ends with ctx, with the input, or with an
// error of show. Logs are read on from where they were left; when one was
// truncated, replaced, renamed or removed, all are read again.
func Follow(ctx context.Context, formats transcripts.Formats, path string, input io.Reader, every time.Duration, show func(Trail) error) error {
	if path == "-" {
		return followInput(ctx, formats, input, every, show)
	}
	f := &follower{formats: formats, path: path}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for first := true; ; first = false {
		changed, err := f.step(ctx)
		if err != nil {
			return err
		}
		if changed || first {
			if err := show(f.tracker.Trail()); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// A follower knows how far it has read the logs at path.
type follower struct {
	formats transcripts.Formats
	path    string
	tracker *Tracker
	logs    map[string]*followed
}

// A followed log is a log that has been read up to a position.
type followed struct {
	at     core.LogPosition
	file   os.FileInfo
	beside time.Time // when the file beside, or SQLite's log, last changed
}

// step reads what is new. A known log may be missing or empty for a moment
// while a host rewrites it; it is looked for again.
func (f *follower) step(ctx context.Context) (changed bool, err error) {
	logs, err := f.formats.Detect(f.path, nil)
	if err != nil && f.tracker != nil {
		return false, ctx.Err()
	}
	if err != nil {
		return false, err
	}
	if f.tracker == nil || f.rewritten(logs) {
		f.tracker, f.logs, changed = NewTracker(), map[string]*followed{}, true
	}
	before := f.tracker.messages
	f.tracker.torn, f.tracker.unread = nil, nil
	for _, log := range logs {
		if err := f.read(ctx, log); err != nil {
			return false, err
		}
	}
	return changed || f.tracker.messages != before, ctx.Err()
}

// rewritten reports whether what was read of a log may no longer be its
// content.
func (f *follower) rewritten(logs []transcripts.Log) bool {
	there := map[string]bool{}
	for _, log := range logs {
		there[log.Path] = true
		known, ok := f.logs[log.Path]
		if !ok {
			continue
		}
		now, err := os.Stat(log.Path)
		if err != nil || !os.SameFile(known.file, now) || now.Size() < known.file.Size() {
			return true
		}
		if !log.Grows() && (now.Size() != known.file.Size() || !now.ModTime().Equal(known.file.ModTime()) || !changedAt(log.Beside()).Equal(known.beside)) {
			return true
		}
	}
	for path := range f.logs {
		if !there[path] {
			return true
		}
	}
	return false
}

// changedAt returns when a file last changed, or zero if there is none.
func changedAt(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// read continues reading a log.
func (f *follower) read(ctx context.Context, log transcripts.Log) error {
	known, ok := f.logs[log.Path]
	now, err := os.Stat(log.Path)
	if err != nil || ok && !log.Grows() {
		return ignoreGone(err)
	}
	beside := changedAt(log.Beside())
	if !ok {
		known = &followed{beside: beside}
		f.logs[log.Path] = known
	}
	if !known.beside.Equal(beside) {
		known.beside = beside
		if m, err := log.Meta(); err == nil {
			f.tracker.Add(log.Host(), m)
		}
	}
	known.file = now
	for entry, err := range log.Entries(ctx, known.at) {
		switch {
		case errors.Is(err, transcripts.ErrTorn):
			f.tracker.torn = append(f.tracker.torn, log.Path)
		case err != nil:
			f.tracker.unread = append(f.tracker.unread, UnreadLog{Path: log.Path, Reason: err.Error()})
		default:
			f.tracker.Add(log.Host(), entry.Message)
			known.at = entry.Next
		}
	}
	return nil
}

// ignoreGone ignores a file that disappeared after it was found; the next look
// will miss it.
func ignoreGone(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// A heard message is one from the input.
type heard struct {
	host string
	core.Message
}

// followInput shows the content of input as it arrives.
func followInput(ctx context.Context, formats transcripts.Formats, input io.Reader, every time.Duration, show func(Trail) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	said, ended := make(chan heard), make(chan error, 1)
	go func() { ended <- listen(ctx, formats, input, said) }()
	tick := time.NewTicker(every)
	defer tick.Stop()
	t, shown := NewTracker(), 0
	for {
		select {
		case m := <-said:
			t.Add(m.host, m.Message)
		case <-tick.C:
			if t.messages == shown {
				continue
			}
			shown = t.messages
			if err := show(t.Trail()); err != nil {
				return err
			}
		case err := <-ended:
			if errors.Is(err, transcripts.ErrTorn) {
				t.torn, err = []string{"-"}, nil
			}
			if err != nil {
				return err
			}
			return show(t.Trail())
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// listen passes on the content of input until it ends.
func listen(ctx context.Context, formats transcripts.Formats, input io.Reader, said chan<- heard) error {
	logs, err := formats.Detect("-", input)
	if err != nil {
		return err
	}
	for _, log := range logs {
		for m, err := range log.Messages(ctx) {
			if err != nil {
				return err
			}
			select {
			case said <- heard{log.Host(), m}:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}
