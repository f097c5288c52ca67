package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/samber/lo"

	"flame/core"
	"flame/hosts/claudecode"
	"flame/hosts/opencode"
	"flame/project"
	"flame/store"
)

// A tree is a project with frames of many sessions.
type tree struct {
	dir     string   // of the project
	frames  int      // at the start
	ids     []string // of these
	session string   // a session at work in it
	current string   // that session's frame

	// Other sessions in the same frame: of Claude Code and of OpenCode, which their hooks report,
	// and a subagent of the first. Once hooks vouch for a session, flame refuses other calls in
	// its name, so these are separate.
	hooked, child, opencode string
}

// plant makes a project of so many frames, 100 at least, in dir. The same number gives the same
// tree.
func plant(ctx context.Context, dir string, frames int) tree {
	p := planter{
		tree:   tree{dir: filepath.Join(dir, fmt.Sprintf("project-%d", frames)), frames: frames},
		random: rand.New(rand.NewPCG(1, uint64(frames))),
	}
	lo.Must0(os.Mkdir(p.tree.dir, 0o700))
	data := p.tree.data()
	p.store = store.Open(data.Path, store.Options{LongLived: true, Ready: data.Ready})
	p.plant(ctx)
	lo.Must0(p.store.Close())
	return p.tree
}

// A planter writes the frames of a tree, one session after the other.
type planter struct {
	tree   tree
	grown  int // frames so far
	store  *store.Store
	random *rand.Rand
}

// The shape of a tree: sessions of at most so many frames below one root each,
// none deeper than maxDepth; the first root has one in wideShare of all frames
// directly below it.
const (
	sessionFrames = 100
	maxDepth      = 8
	wideShare     = 20
	summaryChars  = 300
)

func (p *planter) plant(ctx context.Context) {
	p.save(ctx, p.wide(p.tree.frames/wideShare))
	for p.grown < p.tree.frames {
		p.save(ctx, p.walk(min(sessionFrames, p.tree.frames/4, p.tree.frames-p.grown)))
	}
	p.join(ctx)
}

// join lets sessions with hooks enter the current frame.
func (p *planter) join(ctx context.Context) {
	t := &p.tree
	t.hooked, t.child, t.opencode = "hooked-session", "a3b4d27ed695c7882", "ses_hooked"
	lo.Must0(p.store.Update(ctx, func(tx project.Tx) error {
		last := lo.Must(tx.Session(t.session))
		t.current = last.Current
		for _, s := range []core.Session{
			{ID: t.hooked, Host: claudecode.Name},
			{ID: t.child, Host: claudecode.Name, Parent: t.hooked, Tracked: true},
			{ID: t.opencode, Host: opencode.Name},
		} {
			s.State, s.Stamped, s.Root, s.Current = core.SessionActive, true, last.Root, last.Current
			s.CreatedAt, s.LastActivityAt = last.CreatedAt, last.LastActivityAt
			lo.Must0(tx.SaveSession(s))
		}
		return nil
	}))
}

// wide makes a root with all other frames directly below it.
func (p *planter) wide(n int) []core.Frame {
	root := p.grow("")
	frames := []core.Frame{root}
	for len(frames) < n {
		frames = append(frames, p.grow(root.ID))
	}
	p.finish(frames, map[string]bool{root.ID: true})
	return frames
}

// walk makes a root and frames below it like an agent that pushes and pops: each lies below the
// one before it, or below one above that, more likely a near one.
func (p *planter) walk(n int) []core.Frame {
	var frames, way []core.Frame
	for parent := ""; len(frames) < n; {
		f := p.grow(parent)
		frames, way = append(frames, f), append(way, f)
		levels := min(len(way), maxDepth-1)
		level := max(p.random.IntN(levels), p.random.IntN(levels))
		way, parent = way[:level+1], way[level].ID
	}
	open := map[string]bool{}
	for _, f := range way {
		open[f.ID] = true
	}
	p.finish(frames, open)
	return frames
}

// outcomes are the statuses of closed frames, with their frequencies; frames with children do not
// have the last two.
var outcomes = []core.Status{
	core.Completed, core.Completed, core.Completed, core.Completed, core.Completed, core.Completed, core.Completed,
	core.Failed, core.Blocked, core.Invalidated, core.Planned, core.Planned,
}

// finish gives a status and a summary to the frames that are not open. A frame's first child is
// directly after it.
func (p *planter) finish(frames []core.Frame, open map[string]bool) {
	for i := range frames {
		f := &frames[i]
		if open[f.ID] {
			continue
		}
		choice := outcomes
		if i+1 < len(frames) && frames[i+1].Parent == f.ID {
			choice = outcomes[:len(outcomes)-2]
		}
		f.Status = choice[p.random.IntN(len(choice))]
		if f.Status != core.Planned {
			f.Summary, f.EndedAt = p.prose(summaryChars), f.UpdatedAt
		}
	}
}

// firstMorning is when the first frame of every tree was made.
const firstMorning = core.Millis(1_750_000_000_000)

// grow makes one frame in progress; each is a second younger than the one before.
func (p *planter) grow(parent string) core.Frame {
	p.grown++
	const spread = 38_196_601 // has no divisor in common with 10^8, so that ids are spread and differ
	at := firstMorning + core.Millis(p.grown)*1000
	return core.Frame{
		ID: fmt.Sprintf("frame-%08d", p.grown*spread%100_000_000), Parent: parent, Status: core.InProgress,
		Goal: p.prose(60), Artifacts: []string{p.prose(20)}, Decisions: []string{p.prose(80), p.prose(80)},
		CreatedAt: at, StartedAt: at, UpdatedAt: at,
	}
}

// save writes the frames of one session, which continues in the last open one.
func (p *planter) save(ctx context.Context, frames []core.Frame) {
	s := core.Session{
		ID: fmt.Sprintf("session-%d", p.grown), Host: claudecode.Name, State: core.SessionActive, Root: frames[0].ID,
		CreatedAt: frames[0].CreatedAt, LastActivityAt: frames[len(frames)-1].UpdatedAt,
	}
	for i := range frames {
		frames[i].Session = s.ID
		if frames[i].Status == core.InProgress {
			s.Current = frames[i].ID
		}
		p.tree.ids = append(p.tree.ids, frames[i].ID)
	}
	p.tree.session = s.ID
	lo.Must0(p.store.Update(ctx, func(tx project.Tx) error {
		for _, f := range frames {
			lo.Must0(tx.SaveFrame(f))
		}
		return tx.SaveSession(s)
	}))
}

// words are the words of frames' texts.
var words = strings.Fields(`
	parser token login session cache index schema migration retry timeout queue worker
	request header cookie import export query cursor page lock writer reader event
	test golden failure cause fixed removed renamed moved split merged kept dropped
	before after because without within between every only again first last wrong right`)

// prose makes a text of about so many characters.
func (p *planter) prose(chars int) string {
	var text strings.Builder
	for text.Len() < chars {
		text.WriteString(words[p.random.IntN(len(words))])
		text.WriteByte(' ')
	}
	return strings.TrimSpace(text.String())
}
