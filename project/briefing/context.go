package briefing

import (
	"flame/core"
	"flame/project"
	"flame/project/stack"
)

// How many uncles are considered for a context, the latest change first.
const (
	maxUncles     = 5 // siblings of each ancestor
	maxUncleTiers = 3
)

// terms are the values that the contexts of all frames depend on.
type terms struct {
	revision  int64
	newest    core.Millis
	propagate bool // contexts show the summaries of subagents
}

func termsNow(s *project.Step) (t terms, err error) {
	if t.revision, t.newest, err = s.Tx.Revision(); err != nil {
		return t, err
	}
	config, err := s.SubagentConfig()
	t.propagate = config.PropagateSummaries
	return t, err
}

// ContextOf returns the text of a frame's context, in at most maxChars characters; 0 is
// no limit.
func ContextOf(s *project.Step, frame core.Frame, maxChars int) (string, error) {
	terms, err := termsNow(s)
	if err != nil {
		return "", err
	}
	around, err := surroundings(s, frame, terms)
	if err != nil {
		return "", err
	}
	return core.BuildContext(around, s.Project.Budget, maxChars).Text, nil
}

// surroundings returns the input of a frame's context.
func surroundings(s *project.Step, frame core.Frame, t terms) (around core.Surroundings, err error) {
	most := project.Most{Ancestors: project.MaxAncestors, Near: stack.MaxCandidates, Uncles: maxUncles, Tiers: maxUncleTiers}
	if around, err = s.Tx.Surroundings(frame.ID, most); err != nil {
		return around, err
	}
	around.Current, around.Now = frame, t.newest
	if !t.propagate {
		if around.Children, err = untracked(s.Tx, around.Children); err != nil {
			return around, err
		}
	}
	hides, err := hidden(s, frame, around.Ancestors)
	if err != nil {
		return around, err
	}
	if around.Siblings, err = hides.visible(s, around.Siblings); err != nil {
		return around, err
	}
	if around.Uncles, err = hides.visible(s, around.Uncles); err != nil {
		return around, err
	}
	return around, project.TellBelow(s.Tx, &around)
}

// untracked returns the frames that do not belong to subagents.
func untracked(known project.Sessions, frames []core.Frame) ([]core.Frame, error) {
	kept := frames[:0]
	for _, frame := range frames {
		session, err := known.Session(frame.Session)
		if err = project.IgnoreMissing(err); err != nil {
			return nil, err
		}
		if !session.Tracked {
			kept = append(kept, frame)
		}
	}
	return kept, nil
}
