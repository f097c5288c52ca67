package autonomy

import (
	"context"
	"errors"
	"slices"

	"github.com/samber/lo"

	"flame/project"
)

const recordActivity project.Kind[Activity] = "activity" // by frame

// Activity is what was observed of the work in one frame. The heuristics use it where the
// caller passes nothing.
type Activity struct {
	Messages        int      `json:"messages"`
	Files           []string `json:"files,omitempty"` // changed, without repeats
	Errors          int      `json:"errors"`          // failed tool calls
	Tokens          int      `json:"tokens"`          // in the session's context now
	NoProgressTurns int      `json:"noProgressTurns"` // turns in a row that changed nothing
}

// maxFiles limits the changed files recorded for one frame; the scores distinguish
// counts up to 6.
const maxFiles = 100

// UpdateActivity applies change to the Activity of a frame.
func UpdateActivity(s *project.Step, frame string, change func(*Activity)) error {
	var seen Activity
	if _, err := recordActivity.Load(s.Tx, frame, &seen); err != nil {
		return err
	}
	change(&seen)
	return recordActivity.Save(s.Tx, frame, seen)
}

// addFile counts a changed file, once.
func (a *Activity) addFile(file string) { a.Files = addOnce(a.Files, file) }

// addOnce adds a changed file to a list that it is not in, as long as that has room.
func addOnce(files []string, file string) []string {
	if file == "" || slices.Contains(files, file) || len(files) >= maxFiles {
		return files
	}
	return append(files, file)
}

// NoteFailure counts a failed tool call of the caller.
func NoteFailure(ctx context.Context, p *project.Project, by project.Caller) error {
	return p.Update(ctx, by, func(s *project.Step) error {
		frame, ok, err := s.Current()
		if err != nil || !ok {
			return err
		}
		return errors.Join(UpdateActivity(s, frame.ID, func(a *Activity) { a.Errors++ }), UpdateScene(s, func(c *Scene) { c.Errors++ }))
	})
}

// NoteFiles records files that the caller's tools changed, as artifacts of its frame and
// as signs of progress. A session without a frame gets its root.
func NoteFiles(ctx context.Context, p *project.Project, by project.Caller, files []string) error {
	return p.Update(ctx, by, func(s *project.Step) error {
		if frameless, err := s.Frameless(); frameless || err != nil {
			return err
		}
		frame, err := s.EnsureCurrent()
		if err != nil {
			return project.IgnoreMissing(err)
		}
		if err := s.AddArtifacts(&frame, files); err != nil {
			return err
		}
		changed := lo.Map(files, func(file string, _ int) string { return p.Relative(file) })
		return errors.Join(
			UpdateActivity(s, frame.ID, func(a *Activity) { lo.ForEach(changed, func(file string, _ int) { a.addFile(file) }) }),
			UpdateScene(s, func(c *Scene) { lo.ForEach(changed, func(file string, _ int) { c.addFile(file) }) }),
		)
	})
}
