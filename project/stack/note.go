package stack

import (
	"context"

	"github.com/samber/lo"

	"flame/project"
	"flame/project/autonomy"
)

// NoteFailure counts a failed tool call of the caller.
func NoteFailure(ctx context.Context, p *project.Project, by project.Caller) error {
	return p.Update(ctx, by, func(s *project.Step) error {
		if err := takeUpTurn(s); err != nil {
			return err
		}
		frame, ok, err := s.Current()
		if err != nil || !ok {
			return err
		}
		return autonomy.UpdateActivity(s, frame.ID, func(a *autonomy.Activity) { a.Errors++ })
	})
}

// NoteFiles records files that the caller's tools changed, as artifacts of its frame and
// as signs of progress. A session without a frame gets its root.
func NoteFiles(ctx context.Context, p *project.Project, by project.Caller, files []string) error {
	return p.Update(ctx, by, func(s *project.Step) error {
		if frameless, err := s.Frameless(); frameless || err != nil {
			return err
		}
		if err := takeUpTurn(s); err != nil {
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
		return autonomy.UpdateActivity(s, frame.ID, func(a *autonomy.Activity) { a.Touch(changed) })
	})
}
