package briefing

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/samber/lo"

	"flame/core"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/stack"
)

// The limits of the cache (the first description: 30 s, 50 entries).
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
// that needs them repeatedly.
type Contexts struct {
	Project *project.Project

	cache contextCache
}

// Context returns the context of the caller's frame, or of the frame that ref names.
// maxChars limits its text in characters; 0 sets no limit.
func (c *Contexts) Context(ctx context.Context, by project.Caller, ref string, maxChars int) (fc FrameContext, err error) {
	p := c.Project
	err = p.View(ctx, by, func(s *project.Op) error {
		if fc.Frame, err = s.Resolve(ref); err != nil {
			return err
		}
		suggestions, err := autonomy.ContextSuggestions(s)
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

// CacheInfo describes the contexts in the cache of a process.
type CacheInfo struct {
	Entries int
	TTL     time.Duration
	Last    *core.ContextMeta // of the context made or served last; nil before the first
}

// Info describes the contexts in the cache.
func (c *Contexts) Info() CacheInfo {
	c.cache.mu.Lock()
	defer c.cache.mu.Unlock()
	return CacheInfo{Entries: len(c.cache.entries), TTL: cacheTTL, Last: c.cache.last}
}

// Clear drops the cached contexts of the frame that ref names, or of all frames, and returns
// how many it dropped.
func (c *Contexts) Clear(ctx context.Context, by project.Caller, ref string) (frame core.Frame, dropped int, err error) {
	if ref == "" {
		return frame, c.cache.clear(""), nil
	}
	err = c.Project.View(ctx, by, func(s *project.Op) error {
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
	entries []contextEntry // the least recently used first
	last    *core.ContextMeta
}

// get returns the context under key, unless it is too old.
func (c *contextCache) get(key contextKey, now core.Millis) (core.Context, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.entries, func(e contextEntry) bool { return e.key == key })
	if i < 0 {
		return core.Context{}, false
	}
	entry := c.entries[i]
	c.entries = slices.Delete(c.entries, i, i+1)
	if age := now - entry.made; age < 0 || age > core.Millis(cacheTTL.Milliseconds()) {
		return core.Context{}, false
	}
	c.keep(entry)
	return entry.context, true
}

// put stores a context under a key.
func (c *contextCache) put(key contextKey, made core.Context, now core.Millis) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries = slices.DeleteFunc(c.entries, func(e contextEntry) bool { return e.key == key }) // another goroutine's
	c.keep(contextEntry{key, made, now})
}

func (c *contextCache) keep(entry contextEntry) {
	c.entries, c.last = append(c.entries, entry), &entry.context.Meta
	if len(c.entries) > cacheSize {
		c.entries = slices.Delete(c.entries, 0, 1)
	}
}

// clear drops the entries of one frame, or all of them, and returns how many it dropped.
func (c *contextCache) clear(frame string) (dropped int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := len(c.entries)
	c.entries = slices.DeleteFunc(c.entries, func(e contextEntry) bool { return frame == "" || e.key.frame == frame })
	return before - len(c.entries)
}

// Limits of the uncles in a context, the latest change first.
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

func termsNow(s *project.Op) (t terms, err error) {
	if t.revision, t.newest, err = s.Tx.Revision(); err != nil {
		return t, err
	}
	config, err := s.SubagentConfig()
	t.propagate = config.PropagateSummaries
	return t, err
}

// ContextOf returns the text of a frame's context, in at most maxChars characters; 0 is
// no limit.
func ContextOf(s *project.Op, frame core.Frame, maxChars int) (string, error) {
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
func surroundings(s *project.Op, frame core.Frame, t terms) (around core.ContextInput, err error) {
	most := project.RelativesLimit{Ancestors: project.MaxAncestors, Near: stack.MaxCandidates, Uncles: maxUncles, Tiers: maxUncleTiers}
	if around, err = s.Tx.Surroundings(frame.ID, most); err != nil {
		return around, err
	}
	around.Current, around.Now = frame, t.newest
	if len(around.Children) >= most.Near {
		if around.Ended, err = project.CountEnded(s.Tx, frame.ID); err != nil {
			return around, err
		}
	}
	if !t.propagate {
		around.Children, err = project.Filter(around.Children, func(child core.Frame) (bool, error) {
			session, err := s.Tx.Session(child.Session)
			return !session.Tracked, project.IgnoreMissing(err)
		})
		if err != nil {
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
	return around, errors.Join(project.AddOutcomes(s.Tx, &around), tellRecorded(s, &around))
}

// contextParts are the parts of a frame's record that contexts use.
type contextParts struct {
	Turn  *string `json:"turn"` // nil: it is no turn
	Facts string  `json:"facts"`
}

const recordContext project.RecordKind[contextParts] = "frame"

// turnLine limits the goal and the summary of a turn in contexts, in characters.
const turnLine = 120

// tellRecorded adds the facts of finished frames, and leaves one line of each turn of a user's.
func tellRecorded(s *project.Op, around *core.ContextInput) error {
	lists := [][]core.Frame{around.Children, around.Siblings, around.Uncles}
	ids := lo.Map(slices.Concat(lists...), func(f core.Frame, _ int) string { return f.ID })
	known, err := recordContext.At(s.Tx, ids)
	around.Facts = lo.MapValues(known, func(of contextParts, _ string) string { return of.Facts })
	for _, list := range lists {
		for i, f := range list {
			if known[f.ID].Turn != nil {
				list[i].Goal, list[i].Summary = core.OneLine(f.Goal, turnLine), core.OneLine(f.Summary, turnLine)
				list[i].Results, list[i].Artifacts = "", nil
			}
		}
	}
	return err
}

// A TaskIdentity is the task of an agent's frame. Agents that attempt the same task below one
// frame must find their answers independently, whenever each of them starts.
type TaskIdentity struct {
	Task  string `json:"task,omitempty"`  // equal for agents with the same task
	Name  string `json:"name,omitempty"`  // equal for agents whose tasks have the same name
	After string `json:"after,omitempty"` // frame of the agent whose work it continues, and whose answer it does see
}

// Attempts are by the id of the agent's frame.
const Attempts project.RecordKind[TaskIdentity] = "frame.attempt"

// A hiddenAttempts has the Attempts of an agent, by the parent that the agent's own frame shares with
// frames of other agents. The agent must not see those that attempt the same.
type hiddenAttempts map[string]TaskIdentity

// hidden returns the hiding of the agent that works in frame, below these ancestors. Once
// flame knows an agent's session, the agent's frame belongs to another session than the
// frame above.
func hidden(s *project.Op, frame core.Frame, ancestors []core.Frame) (hiddenAttempts, error) {
	hides := hiddenAttempts{}
	for i, above := range ancestors[:min(len(ancestors), 1+maxUncleTiers)] {
		if i == 0 || frame.Session != above.Session {
			mine, known, err := Attempts.Get(s.Tx, frame.ID)
			if err != nil {
				return nil, err
			}
			if known {
				hides[above.ID] = mine
			}
		}
		frame = above
	}
	return hides, nil
}

// hides reports whether a frame is hidden that lies beside the agent's, or beside a frame
// above that.
func (h hiddenAttempts) hides(s *project.Op, frame core.Frame) (bool, error) {
	mine, some := h[frame.Parent]
	if !some {
		return false, nil
	}
	theirs, known, err := Attempts.Get(s.Tx, frame.ID)
	same := mine.Task != "" && mine.Task == theirs.Task || mine.Name != "" && mine.Name == theirs.Name
	return known && same && frame.ID != mine.After, err
}

// visible returns the frames that are not hidden.
func (h hiddenAttempts) visible(s *project.Op, frames []core.Frame) ([]core.Frame, error) {
	return project.Filter(frames, func(frame core.Frame) (bool, error) {
		hides, err := h.hides(s, frame)
		return !hides, err
	})
}
