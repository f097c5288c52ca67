package project

import (
	"errors"
	"strings"

	"flame/core"
	"flame/core/op"
)

// Resolve returns the frame that ref names: by its id, by an unambiguous prefix of it
// (with or without "frame-" or "plan-"), or by the id of a host session, which stands
// for that session's root. An empty ref is the caller's frame.
func (s *Step) Resolve(ref string) (core.Frame, error) {
	ref = strings.TrimSpace(ref)
	if ref == "" {
		frame, ok, err := s.Current()
		if err == nil && !ok {
			err = NoCurrent()
		}
		return frame, err
	}
	frame, err := s.Tx.Frame(ref)
	if !errors.Is(err, core.ErrNotFound) {
		return frame, err
	}
	session, err := s.Tx.Session(ref)
	if err == nil && session.Root != "" {
		return s.Tx.Frame(session.Root)
	}
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return core.Frame{}, err
	}
	return resolvePrefix(s.Tx, ref)
}

// candidates is how many frames an error about an id lists.
const candidates = 3

// resolvePrefix returns the one frame whose id begins with ref.
func resolvePrefix(tx Tx, ref string) (core.Frame, error) {
	var found []core.Frame
	for _, kind := range []string{"", "frame-", "plan-"} {
		frames, err := tx.FindFrames(FrameQuery{Prefix: kind + ref, Archived: true, Limit: candidates + 1})
		if err != nil {
			return core.Frame{}, err
		}
		found = append(found, frames...)
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return core.Frame{}, core.Invalidf("frame %q is ambiguous", ref).WithHint("it could be %s", ListFrames(found))
	}
	recent, err := tx.FindFrames(FrameQuery{Order: RecentFirst, Limit: candidates})
	if err != nil {
		return core.Frame{}, err
	}
	if len(recent) == 0 {
		return core.Frame{}, core.NotFoundf("frame %q not found", ref).WithHint("this project has no frames yet; %s starts one", op.Push)
	}
	return core.Frame{}, core.NotFoundf("frame %q not found", ref).
		WithHint("the latest are %s; %s shows all", ListFrames(recent), op.Tree)
}

// ListFrames returns the ids, statuses and goals of frames, for an error.
func ListFrames(frames []core.Frame) string {
	var b strings.Builder
	for i, f := range frames[:min(len(frames), candidates)] {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(f.ID + " (" + string(f.Status) + ", " + core.OneLine(f.Goal, 40) + f.Mark() + ")")
	}
	if len(frames) > candidates {
		b.WriteString("; and more")
	}
	return b.String()
}
