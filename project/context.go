package project

import (
	"context"

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
