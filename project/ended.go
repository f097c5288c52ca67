package project

import (
	"errors"

	"flame/core"
)

// RecordEnded, by root, is when it ended only because its session had (DESIGN §4).
const RecordEnded Kind[core.Millis] = "ended"

// EndedWithSession reports whether a frame is a root that ended only because its session
// had, so that the session continues in it if it is resumed.
func EndedWithSession(tx Tx, root core.Frame) (bool, error) {
	if root.Parent != "" || !root.Status.Ended() || root.Foreign() {
		return false, nil
	}
	var at core.Millis
	known, err := RecordEnded.Load(tx, root.ID, &at)
	return known && at == root.EndedAt, err
}

// ResumableRoot returns the root that the caller's session continues in once it works
// again; ok is false unless the root ended with the session.
func (s *Step) ResumableRoot() (root core.Frame, ok bool, err error) {
	if s.Session.Root == "" || s.Session.Parent != "" {
		return root, false, nil
	}
	if root, err = s.Tx.Frame(s.Session.Root); err != nil {
		return root, false, IgnoreMissing(err)
	}
	ok, err = EndedWithSession(s.Tx, root)
	return root, ok, err
}

// ResumeRoot has the caller's session work in its root again, if that ended with it.
func (s *Step) ResumeRoot() error {
	root, ok, err := s.ResumableRoot()
	if !ok || err != nil {
		return err
	}
	from := root.Status
	if err := root.Reopen(s.Now); err != nil {
		return err
	}
	root.Session, s.Session.Current = s.Session.ID, root.ID
	if err := errors.Join(s.Tx.SaveFrame(root), RecordEnded.Delete(s.Tx, root.ID)); err != nil {
		return err
	}
	return s.Emit(core.FrameReopened, root.ID, map[string]any{"from": from})
}

// resumeByCall is ResumeRoot for calls. Of a host's events only a prompt shows that the
// session works again, and neither a shell nor the end of an agent does.
func resumeByCall(s *Step) error {
	if s.By.Event != "" || s.By.Host == CommandLine || s.By.Trust == ByFlame {
		return nil
	}
	return s.ResumeRoot()
}
