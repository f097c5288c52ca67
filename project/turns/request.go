package turns

import (
	"context"
	"slices"

	"flame/core"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/briefing"
	"flame/project/usage"
)

// A Request is what a host is about to send to a session's model.
type Request struct {
	Compacting bool               // it asks for a summary, so nothing new is inserted
	History    []core.FoldMessage // oldest first
	Prompts    []string           // ids of the messages in it that are the user's, or stand in for them
	Summary    string             // id of the newest compaction's summary; empty without one
	Usage      []usage.Message    // of answers since the last request
}

// prompt returns the id of the user's newest message; empty without one.
func (r Request) prompt() string {
	if len(r.Prompts) == 0 {
		return ""
	}
	return r.Prompts[len(r.Prompts)-1]
}

// An Amendment is how flame changes a request.
type Amendment struct {
	core.Folded
	Inserts []briefing.Insert
}

// Amend returns what to leave out of a request to the model and what to insert: finished
// frames are folded, and what the agent should know is inserted beside the newest
// prompt. The result for the same history and tree is identical, to the byte, because
// each prompt is decided on once.
func Amend(ctx context.Context, p *project.Project, by project.Caller, r Request) (a Amendment, err error) {
	err = p.Consider(ctx, by, func(s *project.Step) (func(*project.Step) error, error) {
		known, err := insertsOf(s, r)
		if err != nil {
			return nil, err
		}
		if a.Folded, err = fold(s, r.History); err != nil {
			return nil, err
		}
		a.Inserts = known.Inserts
		if len(r.Usage) == 0 && (s.Fresh || !undecided(s, known, r)) {
			return nil, nil
		}
		return func(s *project.Step) error {
			if err := usage.Add(s, r.Usage); err != nil || !undecided(s, known, r) {
				return err
			}
			if err := decide(s, &known, r); err != nil {
				return err
			}
			a.Inserts = known.Inserts
			return briefing.RecordInserted.Save(s.Tx, s.Session.ID, known)
		}, nil
	})
	return a, err
}

// insertsOf returns the inserts decided for the session, without those of messages that
// a compaction removed.
func insertsOf(s *project.Step, r Request) (known briefing.Inserted, err error) {
	_, err = briefing.RecordInserted.Load(s.Tx, s.Session.ID, &known)
	known.Inserts = slices.DeleteFunc(known.Inserts, func(i briefing.Insert) bool { return !slices.Contains(r.Prompts, i.Message) })
	return known, err
}

// undecided reports whether the request has a new prompt, or follows a compaction, for
// which nothing was decided yet.
func undecided(s *project.Step, known briefing.Inserted, r Request) bool {
	return !s.Project.Late && !r.Compacting && r.prompt() != "" && (known.Prompt != r.prompt() || known.Summary != r.Summary)
}

// decide adds what the agent should know beside the newest prompt: its context if the
// conversation begins, resumes or lost its past, else what changed.
func decide(s *project.Step, known *briefing.Inserted, r Request) error {
	again := known.Summary != r.Summary
	begins := known.Prompt == ""
	known.Prompt, known.Summary = r.prompt(), r.Summary
	if given, err := briefing.TakeGiven(s); given || err != nil {
		return err
	}
	mine, err := s.PresenceOf(s.Session.ID)
	if err != nil {
		return err
	}
	b, err := briefing.WithNotices(s, 0, func(int) (briefing.Briefing, error) {
		if again || begins {
			return briefing.Opening(s, again)
		}
		return briefing.Changes(s, "", 0, mine.Seen)
	})
	if err != nil {
		return err
	}
	if b.Text != "" {
		known.Inserts = append(known.Inserts, briefing.Insert{Message: r.prompt(), Text: b.Text})
	}
	return briefing.SaveTold(s, b)
}

// fold leaves finished frames out of a history, unless that is switched off.
func fold(s *project.Step, history []core.FoldMessage) (core.Folded, error) {
	if !s.Project.Fold || s.Fresh {
		return core.Folded{}, nil
	}
	frames, err := foldFrames(s, history)
	if err != nil || len(frames) == 0 {
		return core.Folded{}, err
	}
	return core.Fold(history, frames), nil
}

// maxFolded limits the frames that are looked up for one history, not counting those
// that the history names.
const maxFolded = 200

// foldFrames returns the frames that a history names, and those that flame started on
// its own in its session.
func foldFrames(s *project.Step, history []core.FoldMessage) (frames []core.FoldFrame, err error) {
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
	started, err := s.Tx.FindEvents(project.EventQuery{Session: s.Session.ID, Kinds: []string{core.FrameCreated}, Limit: maxFolded, Last: true})
	if err != nil {
		return nil, err
	}
	for _, e := range started {
		if briefing.RuleOf(e) == autonomy.Rule {
			add(e.Frame)
		}
	}
	for _, id := range order {
		frame, err := s.Tx.Frame(id)
		if project.IgnoreMissing(err) != nil {
			return nil, err
		}
		if err != nil {
			continue
		}
		resumes, err := project.EndedWithSession(s.Tx, frame)
		if err != nil {
			return nil, err
		}
		if resumes {
			frame.Status, frame.EndedAt = core.InProgress, 0 // the end of a session is no move
		}
		frames = append(frames, foldFrame(s, frame))
	}
	return frames, nil
}

// foldFrame returns the frame as core.Fold sees it. If another session worked in it,
// only the calls in the history show when this session entered it.
func foldFrame(s *project.Step, f core.Frame) core.FoldFrame {
	entered := f.StartedAt
	if f.Session != s.Session.ID {
		entered = 0
	}
	return core.FoldFrame{
		ID: f.ID, Parent: f.Parent, Goal: f.Goal, Summary: f.Summary, Status: f.Status,
		EnteredAt: entered, EndedAt: f.EndedAt,
	}
}
