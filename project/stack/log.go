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
	"flame/local/place"
	"flame/project"
)

// A Log is the part of a session's transcript that is the log of a finished frame: everything
// from its start to its end, including the work of the same session in frames below it. For
// a reopened frame it covers only the last period.
type Log struct {
	Frame core.Frame
	Host  string      // of the session; empty if flame did not see the session itself
	Path  string      // of the session's transcript, from its host's report; may be empty
	From  core.Millis // included
	Until core.Millis // included
}

// LogOf returns the log of the frame that ref names. It refuses frames without work and, unless
// soFar is set, frames that have not ended, whose log continues.
func LogOf(ctx context.Context, p *project.Project, by project.Caller, ref string, soFar bool) (log Log, err error) {
	err = p.View(ctx, by, func(s *project.Op) error {
		if log.Frame, err = s.Resolve(ref); err != nil {
			return err
		}
		if log.Frame.IsOpen() && !soFar {
			return core.Invalidf("%s is in progress, its log is not complete", log.Frame.ID).WithHint("%s ends it", op.Pop)
		}
		if err := hasLog(log.Frame); err != nil {
			return err
		}
		log.From = cmp.Or(log.Frame.StartedAt, log.Frame.CreatedAt) // imported frames may lack StartedAt
		log.Until = cmp.Or(log.Frame.EndedAt, log.Frame.UpdatedAt)
		if log.Frame.Status == core.InProgress {
			log.Until = math.MaxInt64
		}
		return findLog(s, &log)
	})
	return log, err
}

// hasLog checks that a frame can have a log.
func hasLog(f core.Frame) error {
	switch {
	case f.IsRemote() && f.Status != core.Planned:
		return core.Invalidf("%s belongs to machine %s, which has its log", f.ID, f.Machine).WithHint("%s %s shows what is known of it here", op.Details, f.ID)
	case f.Status == core.Planned:
		return core.Invalidf("%s is planned, nothing was done in it yet", f.ID).WithHint("%s takes it up", op.Activate)
	case f.Session == "" || f.Session == project.CommandLine:
		return core.Invalidf("no host's session worked in %s: there is no log", f.ID).
			WithHint("work at a shell leaves no transcript; `flame events --frame %s` shows what happened", f.ID)
	}
	return nil
}

// findLog adds the data of the session that worked in the frame.
func findLog(s *project.Op, log *Log) error {
	id := log.Frame.Session
	session, err := s.Tx.Session(id)
	if err != nil {
		return project.IgnoreMissing(err) // imported, or forgotten since
	}
	log.Host = session.Host
	if session.Root == log.Frame.ID {
		log.From = min(log.From, session.CreatedAt) // the prompt that made the root is older
	}
	told, _, err := project.RecordTranscript.Get(s.Tx, id)
	log.Path = told.Path
	return err
}

// Part returns the messages of a transcript that belong to the log, in their order. A
// message without a time counts as old as the message before it; a message without a speaker
// counts as the session's. The sequence ends at an error.
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
// absolute path in the frame. Only the owner can read the file. SaveLog writes it outside of
// any transaction.
func SaveLog(ctx context.Context, p *project.Project, by project.Caller, frame, file string, write func(io.Writer) error) (core.Frame, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return core.Frame{}, err
	}
	if err := place.WriteAtomic(file, 0o600, write); err != nil {
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
