package project

import (
	"context"
	"slices"

	"flame/core"
)

// A Request is what a host is about to send to a session's model.
type Request struct {
	First      bool               // the first of its process: the session begins or goes on after a pause
	Compacting bool               // it asks for a summary, so nothing new is told
	History    []core.FoldMessage // oldest first
	Prompts    []string           // ids of the messages in it that are the user's, or stand for such
	Summary    string             // id of the newest compaction's summary; empty without one
	Usage      []MessageUsage     // of answers since the last request
}

// prompt is the newest message of the user's; empty without one.
func (r Request) prompt() string {
	if len(r.Prompts) == 0 {
		return ""
	}
	return r.Prompts[len(r.Prompts)-1]
}

// An Attention is how flame changes a request.
type Attention struct {
	core.Folded
	Inserts []Insert
}

// Attend returns what a request to the model leaves out and adds: finished frames
// are folded, and beside the newest prompt stands what its agent should know. For
// the same history and tree it is the same, to the byte; each prompt is decided
// on once.
func (p *Project) Attend(ctx context.Context, by Caller, r Request) (a Attention, err error) {
	err = p.consider(ctx, by, func(s *step) (func(*step) error, error) {
		known, err := s.insertsOf(r)
		if err != nil {
			return nil, err
		}
		if a.Folded, err = s.fold(r.History); err != nil {
			return nil, err
		}
		a.Inserts = known.Inserts
		if len(r.Usage) == 0 && (s.fresh || !s.undecided(known, r)) {
			return nil, nil
		}
		return func(s *step) error {
			if err := s.noteUsage(r.Usage); err != nil || !s.undecided(known, r) {
				return err
			}
			if err := s.decide(&known, r); err != nil {
				return err
			}
			a.Inserts = known.Inserts
			return recordInserted.Save(s, s.session.ID, known)
		}, nil
	})
	return a, err
}

// insertsOf returns what was decided for the session, without what belonged to
// messages that a compaction took away.
func (s *step) insertsOf(r Request) (known inserted, err error) {
	_, err = recordInserted.Load(s, s.session.ID, &known)
	known.Inserts = slices.DeleteFunc(known.Inserts, func(i Insert) bool { return !slices.Contains(r.Prompts, i.Message) })
	return known, err
}

// undecided reports whether the request holds a prompt, or follows a compaction,
// that nothing was decided for yet.
func (s *step) undecided(known inserted, r Request) bool {
	return !r.Compacting && r.prompt() != "" && (known.Prompt != r.prompt() || known.Summary != r.Summary)
}

// decide adds what the agent should know beside the newest prompt: its context
// where the conversation begins, goes on after a pause or lost its past, else
// what changed.
func (s *step) decide(known *inserted, r Request) error {
	again := known.Prompt != "" && r.First || known.Summary != r.Summary
	begins := known.Prompt == ""
	known.Prompt, known.Summary = r.prompt(), r.Summary
	if given, err := s.wasGiven(); given || err != nil {
		return err
	}
	mine, err := s.presenceOf(s.session.ID)
	if err != nil {
		return err
	}
	b, err := s.withNotices(0, func(int) (Briefing, error) {
		if again || begins {
			return s.briefBeginning(again)
		}
		return s.briefChanges("", 0, mine.Seen)
	})
	if err != nil {
		return err
	}
	if b.Text != "" {
		known.Inserts = append(known.Inserts, Insert{Message: r.prompt(), Text: b.Text})
	}
	return s.briefed(b)
}

// fold leaves finished frames out of a history, unless that is switched off.
func (s *step) fold(history []core.FoldMessage) (core.Folded, error) {
	if !s.p.Fold || s.fresh {
		return core.Folded{}, nil
	}
	frames, err := s.foldFrames(history)
	if err != nil || len(frames) == 0 {
		return core.Folded{}, err
	}
	return core.Fold(history, frames), nil
}

// maxFolded bounds the frames that are looked up for one history, those it names
// apart.
const maxFolded = 200

// foldFrames returns the frames that a history names, and those that flame started
// in its session by itself.
func (s *step) foldFrames(history []core.FoldMessage) (frames []core.FoldFrame, err error) {
	ids := map[string]bool{}
	var order []string
	add := func(id string) {
		if !ids[id] {
			ids[id], order = true, append(order, id)
		}
	}
	for _, m := range history {
		for _, move := range m.Moves {
			add(move.Frame)
		}
	}
	started, err := s.FindEvents(EventQuery{Session: s.session.ID, Kinds: []string{core.FrameCreated}, Limit: maxFolded, Last: true})
	if err != nil {
		return nil, err
	}
	for _, e := range started {
		if saidIn(e).By == byAutonomy {
			add(e.Frame)
		}
	}
	for _, id := range order {
		frame, err := s.Frame(id)
		if ignoreMissing(err) != nil {
			return nil, err
		}
		if err == nil {
			frames = append(frames, s.foldFrame(frame))
		}
	}
	return frames, nil
}

// foldFrame is the frame as folding sees it. Of one that another session worked
// in, only calls tell when this one entered it.
func (s *step) foldFrame(f core.Frame) core.FoldFrame {
	entered := f.StartedAt
	if f.Session != s.session.ID {
		entered = 0
	}
	return core.FoldFrame{
		ID: f.ID, Parent: f.Parent, Goal: f.Goal, Summary: f.Summary, Status: f.Status,
		EnteredAt: entered, EndedAt: f.EndedAt,
	}
}
