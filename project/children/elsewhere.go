package children

import (
	"flame/core"
	"flame/project"
	"flame/project/stack"
)

// EndElsewhere ends what only waited for a frame that ended on another machine: children of
// sessions here, and a root whose session left that work below it.
func EndElsewhere(s *project.Step, id string) error {
	frame, err := s.Tx.Frame(id)
	if err != nil || frame.Status == core.InProgress || frame.Status == core.Planned {
		return project.IgnoreMissing(err)
	}
	if err := stack.EndRootLater(s, frame); err != nil {
		return err
	}
	above, err := s.Tx.Ancestors(frame.ID, project.MaxAncestors)
	if err != nil {
		return err
	}
	for _, f := range above {
		if f.Session == "" || !f.Open() {
			continue
		}
		if err := endParent(s, f.Session); err != nil {
			return err
		}
	}
	return nil
}
