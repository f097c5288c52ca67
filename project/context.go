package project

import (
	"context"
	"errors"

	"flame/core"
)

// How many uncles are weighed for a context, those that changed last first.
const (
	maxUncles     = 5 // siblings of each ancestor
	maxUncleTiers = 3
)

// A FrameContext is the context of a frame as its agent sees it.
type FrameContext struct {
	core.Context
	Frame    core.Frame
	CacheHit bool
}

// Contexts makes the contexts of a project's frames and keeps those it made last, for
// a process that is asked for them again.
type Contexts struct {
	Project *Project

	cache contextCache
}

// Of assembles the context of the caller's frame, or of the one ref names.
// maxChars limits its text in characters; 0 sets no limit.
func (c *Contexts) Of(ctx context.Context, by Caller, ref string, maxChars int) (fc FrameContext, err error) {
	p := c.Project
	err = p.view(ctx, by, func(s *step) error {
		if fc.Frame, err = s.resolve(ref); err != nil {
			return err
		}
		suggestions, err := s.injectable()
		if err != nil {
			return err
		}
		terms, err := s.terms()
		if err != nil {
			return err
		}
		key := contextKey{fc.Frame.ID, p.Budget, maxChars, core.FormatSuggestions(suggestions), terms}
		if fc.Context, fc.CacheHit = c.cache.get(key, s.now); !fc.CacheHit {
			around, err := s.surroundings(fc.Frame, terms)
			if err != nil {
				return err
			}
			around.Suggestions = suggestions
			fc.Context = core.BuildContext(around, p.Budget, maxChars)
			c.cache.put(key, fc.Context, s.now)
		}
		p.Log.Info("ContextGenerated", "frame", fc.Frame.ID, "cacheHit", fc.CacheHit, "tokens", fc.Meta.TotalTokens)
		fc.Meta.CacheHit = fc.CacheHit
		return nil
	})
	return fc, err
}

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
	around = core.Surroundings{Current: frame, Now: t.newest}
	if around.Ancestors, err = s.Ancestors(frame.ID, maxAncestors); err != nil {
		return around, err
	}
	if around.Children, err = s.finishedChildren(frame.ID, t.propagate); err != nil {
		return around, err
	}
	if around.Siblings, err = s.beside(frame, maxCandidates); err != nil {
		return around, err
	}
	for _, ancestor := range around.Ancestors[:min(len(around.Ancestors), maxUncleTiers)] {
		if ancestor.Parent == "" {
			break // other roots are other work, not uncles
		}
		uncles, err := s.beside(ancestor, maxUncles)
		if err != nil {
			return around, err
		}
		around.Uncles = append(around.Uncles, uncles...)
	}
	around.Planned, err = s.FindFrames(FrameQuery{Parent: frame.ID, Statuses: []core.Status{core.Planned}, Limit: maxCandidates})
	return around, err
}

// finishedChildren returns the finished children of a frame; those of subagents
// only if their summaries are to propagate.
func (s *step) finishedChildren(id string, propagate bool) ([]core.Frame, error) {
	children, err := s.finished(FrameQuery{Parent: id, Limit: maxCandidates})
	if err != nil || propagate {
		return children, err
	}
	kept := children[:0]
	for _, child := range children {
		session, err := s.Session(child.Session)
		if err != nil && !errors.Is(err, core.ErrNotFound) {
			return nil, err
		}
		if !session.Tracked {
			kept = append(kept, child)
		}
	}
	return kept, nil
}
