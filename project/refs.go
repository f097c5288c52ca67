package project

import (
	"errors"
	"strings"

	"flame/core"
	"flame/core/op"
)

// resolve finds the frame that ref names: its id, a prefix of one that fits no
// other (with or without "frame-" or "plan-"), or the id of a host session,
// which stands for that session's root. An empty ref is the caller's frame.
func (s *step) resolve(ref string) (core.Frame, error) {
	ref = strings.TrimSpace(ref)
	if ref == "" {
		frame, ok, err := s.current()
		if err == nil && !ok {
			err = noCurrent()
		}
		return frame, err
	}
	frame, err := s.Frame(ref)
	if !errors.Is(err, core.ErrNotFound) {
		return frame, err
	}
	session, err := s.Session(ref)
	if err == nil && session.Root != "" {
		return s.Frame(session.Root)
	}
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return core.Frame{}, err
	}
	return s.resolvePrefix(ref)
}

// candidates is how many frames an error about an id lists.
const candidates = 5

func (s *step) resolvePrefix(ref string) (core.Frame, error) {
	var found []core.Frame
	for _, kind := range []string{"", "frame-", "plan-"} {
		frames, err := s.FindFrames(FrameQuery{Prefix: kind + ref, Archived: true, Limit: candidates + 1})
		if err != nil {
			return core.Frame{}, err
		}
		found = append(found, frames...)
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return core.Frame{}, core.Invalidf("frame %q is ambiguous", ref).WithHint("it could be %s", listFrames(found))
	}
	recent, err := s.FindFrames(FrameQuery{Order: RecentFirst, Limit: candidates})
	if err != nil {
		return core.Frame{}, err
	}
	if len(recent) == 0 {
		return core.Frame{}, core.NotFoundf("frame %q not found", ref).WithHint("this project has no frames yet; %s starts one", op.Push)
	}
	return core.Frame{}, core.NotFoundf("frame %q not found", ref).
		WithHint("the latest are %s; %s shows all", listFrames(recent), op.Tree)
}

// listFrames names frames for an error: id, status and goal.
func listFrames(frames []core.Frame) string {
	var b strings.Builder
	for i, f := range frames[:min(len(frames), candidates)] {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(f.ID + " (" + string(f.Status) + ", " + core.OneLine(f.Goal, 40) + ")")
	}
	if len(frames) > candidates {
		b.WriteString("; and more")
	}
	return b.String()
}
