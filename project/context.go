package project

import (
	"flame/core"
)

// How many uncles are weighed for a context, those that changed last first.
const (
	maxUncles     = 5 // siblings of each ancestor
	maxUncleTiers = 3
)

// terms are what the contexts of all frames depend on.
type terms struct {
	revision  int64
	newest    core.Millis
	propagate bool // summaries of subagents show
}

func (s *step) terms() (t terms, err error) {
	if t.revision, t.newest, err = s.Revision(); err != nil {
		return t, err
	}
	config, err := s.subagentConfig()
	t.propagate = config.PropagateSummaries
	return t, err
}

// contextOf is the text of a frame's context, in at most maxChars characters; 0 is no
// limit.
func (s *step) contextOf(frame core.Frame, maxChars int) (string, error) {
	terms, err := s.terms()
	if err != nil {
		return "", err
	}
	around, err := s.surroundings(frame, terms)
	if err != nil {
		return "", err
	}
	return core.BuildContext(around, s.p.Budget, maxChars).Text, nil
}

// surroundings gathers what frame's context may be made of.
func (s *step) surroundings(frame core.Frame, t terms) (around core.Surroundings, err error) {
	most := Most{Ancestors: maxAncestors, Near: maxCandidates, Uncles: maxUncles, Tiers: maxUncleTiers}
	if around, err = s.Surroundings(frame.ID, most); err != nil {
		return around, err
	}
	around.Current, around.Now = frame, t.newest
	if !t.propagate {
		around.Children, err = untracked(s, around.Children)
	}
	return around, err
}

// untracked returns those of the frames that are not those of subagents.
func untracked(known Sessions, frames []core.Frame) ([]core.Frame, error) {
	kept := frames[:0]
	for _, frame := range frames {
		session, err := known.Session(frame.Session)
		if err = ignoreMissing(err); err != nil {
			return nil, err
		}
		if !session.Tracked {
			kept = append(kept, frame)
		}
	}
	return kept, nil
}
