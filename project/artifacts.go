package project

import (
	"errors"
	"slices"
	"strings"

	"flame/core"
)

// AddArtifacts records files, as hosts name them, as artifacts of a frame, those that it
// has not. A file of another worktree counts as one that has the same path there.
func (s *Step) AddArtifacts(frame *core.Frame, files []string) error {
	var added []string
	for _, file := range files {
		file = s.Project.Relative(file)
		known := slices.ContainsFunc(frame.Artifacts, func(artifact string) bool { return strings.HasSuffix(file, "/"+artifact) })
		if file != "" && !known && frame.AddArtifact(file, s.Now) {
			added = append(added, file)
		}
	}
	if len(added) == 0 {
		return nil
	}
	errs := []error{s.Tx.SaveFrame(*frame)}
	for _, file := range added {
		errs = append(errs, s.Emit(core.FrameUpdated, frame.ID, map[string]any{"fields": []string{"artifacts"}, "artifacts": file}))
	}
	return errors.Join(errs...)
}
