package stack

import (
	"context"

	"github.com/samber/lo"

	"flame/core"
	"flame/project"
	"flame/project/autonomy"
)

// NoteFailure counts a failed tool call of the caller.
func NoteFailure(ctx context.Context, p *project.Project, by project.Caller) error {
	return p.Update(ctx, by, func(s *project.Op) error {
		if err := takeUpTurn(s); err != nil {
			return err
		}
		frame, ok, err := s.Current()
		if err != nil || !ok {
			return err
		}
		return autonomy.UpdateActivity(s, frame.ID, func(a *autonomy.FrameActivity) { a.Errors++ })
	})
}

// workFrame returns the frame to which the caller's work belongs: that of its turn, which it has from now on, or
// the root, which a session without a frame gets. ok is false for callers that have none.
func workFrame(s *project.Op) (frame core.Frame, ok bool, err error) {
	if frameless, err := s.HasNoFrame(); frameless || err != nil {
		return frame, false, err
	}
	if err := takeUpTurn(s); err != nil {
		return frame, false, err
	}
	frame, err = s.EnsureCurrent()
	return frame, err == nil, project.IgnoreMissing(err)
}

// NoteFiles records files that the caller's tools changed, as artifacts of its frame and
// as signs of progress. A session without a frame gets its root.
func NoteFiles(ctx context.Context, p *project.Project, by project.Caller, files []string) error {
	return p.Update(ctx, by, func(s *project.Op) error {
		frame, ok, err := workFrame(s)
		if err != nil || !ok {
			return err
		}
		if err := s.AddArtifacts(&frame, files); err != nil {
			return err
		}
		changed := lo.Map(files, func(file string, _ int) string { return p.ArtifactPath(file) })
		return autonomy.UpdateActivity(s, frame.ID, func(a *autonomy.FrameActivity) { a.Touch(changed) })
	})
}
