package project

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"

	"flame/core"
)

// How many frames of each kind are weighed for a context, those that changed
// last first: more than the usual budgets admit, few enough to keep its cost
// flat however large the tree is.
const (
	maxAncestors  = 200
	maxCandidates = 20 // children, siblings
	maxUncles     = 5  // siblings of each ancestor
	maxUncleTiers = 3
)

// A FrameContext is the context of a frame as its agent sees it.
type FrameContext struct {
	core.Context
	Frame    core.Frame
	CacheHit bool
}

// Context assembles the context of the caller's frame, or of the one ref names.
// maxChars limits its text in characters; 0 sets no limit.
func (p *Project) Context(ctx context.Context, by Caller, ref string, maxChars int) (fc FrameContext, err error) {
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
		if fc.Context, fc.CacheHit = p.cache.get(key, s.now); !fc.CacheHit {
			around, err := s.surroundings(fc.Frame, terms)
			if err != nil {
				return err
			}
			around.Suggestions = suggestions
			fc.Context = core.BuildContext(around, p.Budget, maxChars)
			p.cache.put(key, fc.Context, s.now)
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

// beside returns the finished frames with the same parent, at most limit of those
// that changed last.
func (s *step) beside(frame core.Frame, limit int) ([]core.Frame, error) {
	found, err := s.finished(FrameQuery{Parent: frame.Parent, Roots: frame.Parent == "", Limit: limit})
	if err != nil {
		return nil, err
	}
	others := found[:0]
	for _, f := range found {
		if f.ID != frame.ID {
			others = append(others, f)
		}
	}
	return others, nil
}

func (s *step) finished(q FrameQuery) ([]core.Frame, error) {
	q.Statuses = []core.Status{core.Completed, core.Failed, core.Blocked}
	q.Order = RecentFirst
	return s.FindFrames(q)
}

// The cache's bounds (seeds, phase 1.2: 30 s, 50 entries).
const (
	cacheTTL  = 30 * time.Second
	cacheSize = 50
)

type contextKey struct {
	frame       string
	budget      core.Budget
	maxChars    int
	suggestions string
	terms
}

type contextEntry struct {
	key     contextKey
	context core.Context
	made    core.Millis
}

// A contextCache keeps contexts of this process, the least recently used going
// first. Its zero value is ready.
type contextCache struct {
	mu      sync.Mutex
	entries map[contextKey]*list.Element
	recent  list.List // of *contextEntry, last used first
	last    *core.ContextMeta
}

func (c *contextCache) get(key contextKey, now core.Millis) (core.Context, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, ok := c.entries[key]
	if !ok {
		return core.Context{}, false
	}
	entry := element.Value.(*contextEntry)
	if age := now - entry.made; age < 0 || age > core.Millis(cacheTTL.Milliseconds()) {
		c.remove(element)
		return core.Context{}, false
	}
	c.recent.MoveToFront(element)
	c.last = &entry.context.Meta
	return entry.context, true
}

func (c *contextCache) put(key contextKey, made core.Context, now core.Millis) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil {
		c.entries = map[contextKey]*list.Element{}
	}
	if old, ok := c.entries[key]; ok {
		c.remove(old)
	}
	c.entries[key] = c.recent.PushFront(&contextEntry{key, made, now})
	c.last = &made.Meta
	for c.recent.Len() > cacheSize {
		c.remove(c.recent.Back())
	}
}

func (c *contextCache) remove(element *list.Element) {
	c.recent.Remove(element)
	delete(c.entries, element.Value.(*contextEntry).key)
}

// clear drops the entries of one frame, or all of them, and returns the number.
func (c *contextCache) clear(frame string) (dropped int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, element := range c.entries {
		if frame == "" || key.frame == frame {
			c.remove(element)
			dropped++
		}
	}
	return dropped
}

// CacheInfo tells about the context cache of this process.
type CacheInfo struct {
	Entries int
	TTL     time.Duration
	Last    *core.ContextMeta // of the context made or served last; nil before the first
}

// CacheInfo tells about the context cache.
func (p *Project) CacheInfo() CacheInfo {
	p.cache.mu.Lock()
	defer p.cache.mu.Unlock()
	return CacheInfo{Entries: len(p.cache.entries), TTL: cacheTTL, Last: p.cache.last}
}

// ClearCache drops the cached contexts of the frame that ref names, or all of
// them, and returns the number.
func (p *Project) ClearCache(ctx context.Context, by Caller, ref string) (frame core.Frame, dropped int, err error) {
	if ref == "" {
		return frame, p.cache.clear(""), nil
	}
	err = p.view(ctx, by, func(s *step) error {
		frame, err = s.resolve(ref)
		return err
	})
	if err != nil {
		return frame, 0, err
	}
	return frame, p.cache.clear(frame.ID), nil
}
