package stack

import (
	"cmp"
	"context"
	"io"
	"iter"
	"math"
	"path/filepath"

	"flame/core"
	"flame/core/op"
	"flame/project"
	"flame/whole"
)

// A Log is the part of a session's transcript that is the log of a finished frame: what
// was said and done from its start to its end, including the work in frames below it in
// the same session. For a reopened frame it covers the last period only.
type Log struct {
	Frame core.Frame
	Host  string      // of the session; empty if flame did not see the session itself
	Path  string      // of the session's transcript, as its host reported it; may be empty
	From  core.Millis // included
	Until core.Millis // included
}

// LogOf returns the log of the frame that ref names. It refuses frames that have not
// ended, or in which no work was done.
func LogOf(ctx context.Context, p *project.Project, by project.Caller, ref string) (Log, error) {
	return logOf(ctx, p, by, ref, hasEnded)
}

// LogSoFar returns the log of the frame that ref names, of one in progress too, whose log
// goes on.
func LogSoFar(ctx context.Context, p *project.Project, by project.Caller, ref string) (log Log, err error) {
	if log, err = logOf(ctx, p, by, ref, nil); log.Frame.Status == core.InProgress {
		log.Until = math.MaxInt64
	}
	return log, err
}

func logOf(ctx context.Context, p *project.Project, by project.Caller, ref string, check func(core.Frame) error) (log Log, err error) {
	err = p.View(ctx, by, func(s *project.Step) error {
		log.Frame, err = s.Resolve(ref)
		if err == nil && check != nil {
			err = check(log.Frame)
		}
		if err == nil {
			err = hasLog(log.Frame)
		}
		if err != nil {
			return err
		}
		log.From = cmp.Or(log.Frame.StartedAt, log.Frame.CreatedAt) // imported ones may lack the former
		log.Until = cmp.Or(log.Frame.EndedAt, log.Frame.UpdatedAt)
		return findLog(s, &log)
	})
	return log, err
}

// hasEnded checks that nothing more will be logged of a frame.
func hasEnded(f core.Frame) error {
	if f.Open() {
		return core.Invalidf("%s is in progress, its log is not complete", f.ID).WithHint("%s ends it", op.Pop)
	}
	return nil
}

// hasLog checks that there can be a log of a frame.
func hasLog(f core.Frame) error {
	switch {
	case f.Foreign() && f.Status != core.Planned:
		return core.Invalidf("%s belongs to machine %s, which has its log", f.ID, f.Machine).WithHint("%s %s shows what is known of it here", op.Details, f.ID)
	case f.Status == core.Planned:
		return core.Invalidf("%s is planned, nothing was done in it yet", f.ID).WithHint("%s takes it up", op.Activate)
	case f.Session == "" || f.Session == project.CommandLine:
		return core.Invalidf("no host's session worked in %s: there is no log", f.ID).
			WithHint("what is done at a shell leaves no transcript; `flame events --frame %s` shows what happened", f.ID)
	}
	return nil
}

// findLog adds what is known about the session that worked in the frame.
func findLog(s *project.Step, log *Log) error {
	id := log.Frame.Session
	session, err := s.Tx.Session(id)
	if err != nil {
		return project.IgnoreMissing(err) // imported, or forgotten since
	}
	log.Host = session.Host
	if session.Root == log.Frame.ID {
		log.From = min(log.From, session.CreatedAt) // the prompt that made the root is older
	}
	var told project.Transcript
	_, err = project.RecordTranscript.Load(s.Tx, id, &told)
	log.Path = told.Path
	return err
}

// Part returns the messages of a transcript that belong to the log, in their order. A
// message without a time is as old as the one before it; one without a speaker is taken
// for the session's. The sequence ends at an error.
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

// SaveLog replaces file by the log of a frame, whole or not at all, and records its
// absolute path in the frame. Only the owner can read the file. No transaction is open
// while it is written.
func SaveLog(ctx context.Context, p *project.Project, by project.Caller, frame, file string, write func(io.Writer) error) (core.Frame, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return core.Frame{}, err
	}
	if err := whole.Write(file, 0o600, write); err != nil {
		return core.Frame{}, err
	}
	saved, _, err := change(ctx, p, by, frame, !anybodys, func(f *core.Frame, now core.Millis) edits {
		changed := f.LogPath != file
		if changed {
			f.LogPath, f.UpdatedAt = file, now
		}
		return edit("logPath", file, changed)
	})
	return saved, err
}
