package briefing

import (
	"container/list"
	"context"
	"sync"
	"time"

	"flame/core"
	"flame/project"
	"flame/project/autonomy"
)

// The limits of the cache (seeds, phase 1.2: 30 s, 50 entries).
const (
	cacheTTL  = 30 * time.Second
	cacheSize = 50
)

// A FrameContext is the context of a frame as its agent sees it.
type FrameContext struct {
	core.Context
	Frame    core.Frame
	CacheHit bool
}

// Contexts makes the contexts of a project's frames and caches the latest, for a process
// that is asked for them repeatedly.
type Contexts struct {
	Project *project.Project

	cache contextCache
}

// Of assembles the context of the caller's frame, or of the one ref names.
// maxChars limits its text in characters; 0 sets no limit.
func (c *Contexts) Of(ctx context.Context, by project.Caller, ref string, maxChars int) (fc FrameContext, err error) {
	p := c.Project
	err = p.View(ctx, by, func(s *project.Step) error {
		if fc.Frame, err = s.Resolve(ref); err != nil {
			return err
		}
		suggestions, err := autonomy.Injectable(s)
		if err != nil {
			return err
		}
		suggestions = autonomy.About(suggestions, fc.Frame.ID)
		terms, err := termsNow(s)
		if err != nil {
			return err
		}
		key := contextKey{fc.Frame.ID, p.Budget, maxChars, core.FormatSuggestions(suggestions), terms}
		if fc.Context, fc.CacheHit = c.cache.get(key, s.Now); !fc.CacheHit {
			around, err := surroundings(s, fc.Frame, terms)
			if err != nil {
				return err
			}
			around.Suggestions = suggestions
			fc.Context = core.BuildContext(around, p.Budget, maxChars)
			c.cache.put(key, fc.Context, s.Now)
		}
		p.Log.Info("ContextGenerated", "frame", fc.Frame.ID, "cacheHit", fc.CacheHit, "tokens", fc.Meta.TotalTokens)
		fc.Meta.CacheHit = fc.CacheHit
		return nil
	})
	return fc, err
}

// Shown records that the caller's agent got suggestions in a text that was made of a
// context. Where that cannot be written, the text is no worse.
func (c *Contexts) Shown(ctx context.Context, by project.Caller, text string) {
	if !core.HasSuggestions(text) {
		return
	}
	err := c.Project.Store.Run(ctx, func(tx project.Tx) error {
		s := c.Project.Step(tx, by)
		if err := s.Enter(); err != nil {
			return err
		}
		return autonomy.NoteShown(s, text)
	})
	if err != nil {
		c.Project.Log.Warn("that a suggestion was shown is not recorded", "error", err)
	}
}

// CacheInfo describes the contexts that a process keeps.
type CacheInfo struct {
	Entries int
	TTL     time.Duration
	Last    *core.ContextMeta // of the context made or served last; nil before the first
}

// Info describes the contexts that are kept.
func (c *Contexts) Info() CacheInfo {
	c.cache.mu.Lock()
	defer c.cache.mu.Unlock()
	return CacheInfo{Entries: len(c.cache.entries), TTL: cacheTTL, Last: c.cache.last}
}

// Clear drops the kept contexts of the frame that ref names, or all of
// them, and returns the number.
func (c *Contexts) Clear(ctx context.Context, by project.Caller, ref string) (frame core.Frame, dropped int, err error) {
	if ref == "" {
		return frame, c.cache.clear(""), nil
	}
	err = c.Project.View(ctx, by, func(s *project.Step) error {
		frame, err = s.Resolve(ref)
		return err
	})
	if err != nil {
		return frame, 0, err
	}
	return frame, c.cache.clear(frame.ID), nil
}

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

// A contextCache keeps contexts of this process and evicts the least recently used first.
// Its zero value is ready to use.
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
