package project

import (
	"context"
	"slices"

	"flame/core"
)

const recordActivity Kind[Activity] = "activity" // by frame: what was seen of the work in it

// Activity is what was seen of the work in one frame; it feeds the heuristics
// where the caller passes nothing.
type Activity struct {
	Messages        int      `json:"messages"`
	Files           []string `json:"files,omitempty"` // changed, without repeats
	Errors          int      `json:"errors"`          // failed tool calls
	Tokens          int      `json:"tokens"`          // in the session's context now
	NoProgressTurns int      `json:"noProgressTurns"` // turns in a row that changed nothing
}

// maxFiles bounds the changed files kept for one frame; the scores look at
// counts up to 6.
const maxFiles = 100

// noteActivity changes what was seen of the work in a frame.
func (s *step) noteActivity(frame string, change func(*Activity)) error {
	var seen Activity
	if _, err := recordActivity.Load(s, frame, &seen); err != nil {
		return err
	}
	change(&seen)
	return recordActivity.Save(s, frame, seen)
}

// addFile counts a changed file, once.
func (a *Activity) addFile(file string) {
	if !slices.Contains(a.Files, file) && len(a.Files) < maxFiles {
		a.Files = append(a.Files, file)
	}
}

// NoteFailure counts a tool call of the caller's that failed.
func (p *Project) NoteFailure(ctx context.Context, by Caller) error {
	return p.update(ctx, by, func(s *step) error {
		frame, ok, err := s.current()
		if err != nil || !ok {
			return err
		}
		return s.noteActivity(frame.ID, func(a *Activity) { a.Errors++ })
	})
}

// NoteFiles records files that the caller's tools changed: as artifacts of its
// frame and as signs of progress. A session without a frame gets its root.
func (p *Project) NoteFiles(ctx context.Context, by Caller, files []string) error {
	return p.update(ctx, by, func(s *step) error {
		if s.awaitsHeuristics() {
			return nil
		}
		frame, err := s.ensureCurrent()
		if err != nil {
			return ignoreMissing(err)
		}
		var added []string
		for _, file := range files {
			if file = p.relative(file); file != "" && frame.AddArtifact(file, s.now) {
				added = append(added, file)
			}
		}
		if len(added) > 0 {
			if err := s.SaveFrame(frame); err != nil {
				return err
			}
			for _, file := range added {
				if err := s.emit(core.FrameUpdated, frame.ID, map[string]any{"fields": []string{"artifacts"}, "artifacts": file}); err != nil {
					return err
				}
			}
		}
		return s.noteActivity(frame.ID, func(a *Activity) {
			for _, file := range files {
				a.addFile(p.relative(file))
			}
		})
	})
}
