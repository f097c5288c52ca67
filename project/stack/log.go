package stack

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"flame/core"
	"flame/core/op"
	"flame/project"
)

// A Log says which part of which transcript is the log of a finished frame:
// what was said and done in its session from its start to its end. What was done
// in frames below it meanwhile, in the same session, belongs to it too. Of a
// frame that was reopened it is the last stretch.
type Log struct {
	Frame core.Frame
	Host  string      // that the session lived in; empty where flame did not see it itself
	Path  string      // of the session's transcript, as its host told; may be empty
	From  core.Millis // included
	Until core.Millis // included
}

// LogOf finds the log of the frame that ref names. It refuses frames whose
// work is not over, or was none.
func LogOf(ctx context.Context, p *project.Project, by project.Caller, ref string) (log Log, err error) {
	err = p.View(ctx, by, func(s *project.Step) error {
		log.Frame, err = s.Resolve(ref)
		if err != nil {
			return err
		}
		if err := hasLog(log.Frame); err != nil {
			return err
		}
		log.From = cmp.Or(log.Frame.StartedAt, log.Frame.CreatedAt) // imported ones may lack the former
		log.Until = cmp.Or(log.Frame.EndedAt, log.Frame.UpdatedAt)
		return findLog(s, &log)
	})
	return log, err
}

// hasLog checks that there can be a log of a frame.
func hasLog(f core.Frame) error {
	switch {
	case f.Status == core.InProgress:
		return core.Invalidf("%s is in progress, its log is not complete", f.ID).WithHint("%s ends it", op.Pop)
	case f.Status == core.Planned:
		return core.Invalidf("%s is planned, nothing was done in it yet", f.ID).WithHint("%s takes it up", op.Activate)
	case f.Session == "" || f.Session == project.CommandLine:
		return core.Invalidf("no host's session worked in %s: there is no log", f.ID).
			WithHint("what is done at a shell leaves no transcript; `flame events --frame %s` shows what happened", f.ID)
	}
	return nil
}

// findLog adds what is known of the session that worked in the frame.
func findLog(s *project.Step, log *Log) error {
	id := log.Frame.Session
	session, err := s.Tx.Session(id)
	if err != nil {
		return project.IgnoreMissing(err) // imported, or forgotten since
	}
	log.Host = session.Host
	if session.Root == log.Frame.ID {
		log.From = min(log.From, session.CreatedAt) // the prompt that the root came of is older
	}
	var told project.Transcript
	_, err = project.RecordTranscript.Load(s.Tx, id, &told)
	log.Path = told.Path
	return err
}

// Part returns those of a transcript's messages that belong to the log, in their
// order. One without a time is as old as the one before it, one that does not
// tell whose it is is taken for the session's. An error ends it.
func (l Log) Part(messages iter.Seq2[core.Message, error]) iter.Seq2[core.Message, error] {
	return func(yield func(core.Message, error) bool) {
		var at core.Millis
		for m, err := range messages {
			if err != nil {
				yield(m, err)
				return
			}
			if who := m.Speaker(); who != "" && who != l.Frame.Session {
				continue
			}
			if m.Time != 0 {
				at = m.Time
			}
			if l.From <= at && at <= l.Until && !yield(m, nil) {
				return
			}
		}
	}
}

// SaveLog writes the log of a frame to file, whole or not at all, in place of
// what is there, and keeps in the frame where that is: an absolute path. It is
// for its owner alone to read. No transaction is open while it is written.
func SaveLog(ctx context.Context, p *project.Project, by project.Caller, frame, file string, write func(io.Writer) error) (core.Frame, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return core.Frame{}, err
	}
	if err := writeWhole(file, write); err != nil {
		return core.Frame{}, err
	}
	saved, _, err := change(ctx, p, by, frame, "logPath", file, func(f *core.Frame, now core.Millis) bool {
		changed := f.LogPath != file
		if changed {
			f.LogPath, f.UpdatedAt = file, now
		}
		return changed
	})
	return saved, err
}

// writeWhole writes a file beside and puts it in its place once it is on the
// disk.
func writeWhole(file string, write func(io.Writer) error) error {
	beside, err := os.CreateTemp(filepath.Dir(file), ".flame-*")
	if errors.Is(err, fs.ErrNotExist) {
		return core.NotFoundf("the folder %s does not exist", filepath.Dir(file)).WithHint("make it first, or name another")
	}
	if err != nil {
		return err
	}
	defer os.Remove(beside.Name())
	if err := errors.Join(write(beside), beside.Sync(), beside.Close()); err != nil {
		return err
	}
	return os.Rename(beside.Name(), file)
}
