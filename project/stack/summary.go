package stack

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"flame/core"
	"flame/core/summaries"
	"flame/project"
)

// byCompaction is the name that events have for the rule by which flame ends a frame whose
// pop waited for a summary.
const byCompaction = "compaction"

// pendingTimeout is how long a popped frame waits for the summary from a compaction.
const pendingTimeout = 10 * time.Minute

// noSummary is the summary of a frame whose compaction never came.
const noSummary = "(no summary: the compaction that was to bring it did not come in time)"

// awaitSummary leaves popped.Frame in progress until a summary comes.
func awaitSummary(s *project.Op, popped *PopResult, args PopArgs) error {
	frame := popped.Frame
	pending := summaries.PendingPop{
		Frame: frame.ID, Status: args.Status, Summary: args.Summary,
		Results: args.Results, Confidence: args.Confidence,
		RequestedAt: s.Now, Due: s.Now + core.Millis(pendingTimeout.Milliseconds()),
	}
	popped.Pending = &pending
	popped.Current = s.Session.Current
	if err := recordPending.Save(s.Tx, frame.ID, pending); err != nil {
		return err
	}
	if err := recordCompaction.Save(s.Tx, frame.ID, compactionMark{Type: summaries.FrameCompletion}); err != nil {
		return err
	}
	if err := s.Tx.SetDeadline(project.Deadline{Kind: SummaryDeadline, Subject: frame.ID, Due: pending.Due, Set: s.Now}); err != nil {
		return err
	}
	return s.Emit(core.CompactionRequested, frame.ID, map[string]any{"type": summaries.FrameCompletion})
}

// SummarizeResult is the result of Summarize.
type SummarizeResult struct {
	Frame  core.Frame
	Stored bool   // the caller gave a summary, and it is stored
	Prompt string // otherwise: instructions for a summary
	Input  summaries.Input
}

// Summarize requests a summary from the frame's next compaction, or stores the one that
// the caller passes.
func Summarize(ctx context.Context, p *project.Project, by project.Caller, ref, note, summary string) (done SummarizeResult, err error) {
	if note, err = project.OptionalText("note", note); err != nil {
		return done, err
	}
	if summary, err = project.OptionalText("summary", summary); err != nil {
		return done, err
	}
	err = p.Update(ctx, by, func(s *project.Op) error {
		if done.Frame, err = target(s, ref); err != nil {
			return err
		}
		if err := s.CheckLocal(done.Frame); err != nil {
			return err
		}
		if summary != "" {
			done.Stored = true
			return storeSummary(s, &done.Frame, summary)
		}
		mark := compactionMark{summaries.ManualSummary, note}
		if _, waiting, err := recordPending.Get(s.Tx, done.Frame.ID); err != nil {
			return err
		} else if waiting {
			mark.Type = summaries.FrameCompletion // a pop still waits for its summary
		}
		if err := recordCompaction.Save(s.Tx, done.Frame.ID, mark); err != nil {
			return err
		}
		if err := s.Emit(core.CompactionRequested, done.Frame.ID, map[string]any{"type": mark.Type, "note": note}); err != nil {
			return err
		}
		done.Input, err = CompactionInput(s, done.Frame)
		done.Prompt = summaries.Prompt(done.Input)
		return err
	})
	return done, err
}

// CompactionInput returns the input of a compaction prompt for frame.
func CompactionInput(s *project.Op, frame core.Frame) (in summaries.Input, err error) {
	mark, err := recordCompaction.Find(s.Tx, frame.ID)
	if err != nil {
		return in, err
	}
	in = summaries.Input{Type: cmp.Or(mark.Type, summaries.Overflow), Note: mark.Note, Frame: frame, Now: s.Now}
	if frame.Parent != "" {
		parent, err := s.Tx.Frame(frame.Parent)
		if err != nil {
			return in, err
		}
		in.Parent = &parent
	}
	if in.Siblings, err = beside(s, frame); err != nil {
		return in, err
	}
	var others []*core.Frame
	for i := range in.Siblings {
		others = append(others, &in.Siblings[i])
	}
	if in.Parent != nil {
		others = append(others, in.Parent)
	}
	if _, err = project.ComposeSummaries(s.Tx, others...); err != nil {
		return in, err
	}
	in.Below, in.Ended, err = project.OutcomesBelow(s.Tx, frame.ID)
	return in, err
}

// CompactionPrompt returns the prompt for a host's compaction of the caller's frame; nothing without one.
func CompactionPrompt(ctx context.Context, p *project.Project, by project.Caller) (kind summaries.CompactionType, prompt string, err error) {
	err = p.View(ctx, by, func(s *project.Op) error {
		frame, ok, err := project.Place(s)
		if err != nil || !ok {
			return err
		}
		in, err := CompactionInput(s, frame)
		kind, prompt = in.Type, summaries.Prompt(in)
		return err
	})
	return kind, prompt, err
}

// StoreSummary stores the result of a host's compaction of the caller's frame, or of the
// frame that ref names, and ends the frame if its pop waited for the summary. An empty
// summary ends it with the text of the pop, if there is one.
func StoreSummary(ctx context.Context, p *project.Project, by project.Caller, ref, summary string) (frame core.Frame, err error) {
	if summary, err = project.OptionalText("summary", summaries.StripAnalysis(summary)); err != nil {
		return frame, err
	}
	err = p.Update(ctx, by, func(s *project.Op) error {
		if frame, err = resolveMeant(s, ref); ref == "" && errors.Is(err, core.ErrInvalid) {
			return project.NoCurrent() // the summary is about the frame that another machine took over, not about the one above it
		}
		if err != nil {
			return err
		}
		if err := s.CheckLocal(frame); err != nil {
			return err
		}
		return storeSummary(s, &frame, summary)
	})
	return frame, err
}

func storeSummary(s *project.Op, frame *core.Frame, summary string) error {
	pending, waiting, err := recordPending.Get(s.Tx, frame.ID)
	if err != nil {
		return err
	}
	if waiting && (summary != "" || pending.Summary != "") {
		return complete(s, frame, pending, summaries.CombineSummaries(pending.Summary, summary))
	}
	if summary == "" {
		return nil
	}
	data := map[string]any{}
	if frame.Summary != "" && frame.Summary != summary {
		data["replacedSummary"] = frame.Summary
	}
	frame.Summary, frame.UpdatedAt = summary, s.Now
	if err := s.Tx.SaveFrame(*frame); err != nil {
		return err
	}
	return errors.Join(forgetCompaction(s, frame.ID), s.Emit(core.SummaryStored, frame.ID, data))
}

// complete ends a frame that waited for its summary, and moves the caller's current frame out
// of it.
func complete(s *project.Op, frame *core.Frame, pending summaries.PendingPop, summary string) error {
	popped := PopResult{Frame: *frame}
	s.Rule = byCompaction
	defer func() { s.Rule = "" }()
	err := Finish(s, &popped, PopArgs{Status: pending.Status, Summary: summary, Results: pending.Results, Confidence: pending.Confidence})
	*frame = popped.Frame
	return err
}

// GiveUpSummary ends a frame whose compaction did not come in time.
func GiveUpSummary(s *project.Op, id string) error {
	pending, waiting, err := recordPending.Get(s.Tx, id)
	if err != nil || !waiting {
		return err
	}
	frame, err := s.Tx.Frame(id)
	if err != nil {
		return err
	}
	summary := pending.Summary
	if summary == "" && frame.Summary == "" {
		summary = noSummary
	}
	if !frame.CanTransition(pending.Status) || frame.IsRemote() {
		return forgetCompaction(s, id)
	}
	return complete(s, &frame, pending, summary)
}

// Compactions are the compactions requested in a project, with details for one frame.
type Compactions struct {
	Frame   core.Frame                          // the frame with details
	OK      bool                                // there is such a frame
	Type    summaries.CompactionType            // of its next compaction; empty if none is requested
	Note    string                              // that came with the request
	Pending *summaries.PendingPop               // set if it waits for a summary
	Marks   map[string]summaries.CompactionType // all frames with a requested compaction
	Waiting int                                 // number of frames that wait for a summary
}

// CompactionsOf returns the compactions requested and waited for, in detail for the
// frame that ref names, or for the caller's.
func CompactionsOf(ctx context.Context, p *project.Project, by project.Caller, ref string) (info Compactions, err error) {
	err = p.View(ctx, by, func(s *project.Op) error {
		if ref != "" {
			info.Frame, err = s.Resolve(ref)
			info.OK = err == nil
		} else {
			info.Frame, info.OK, err = s.Current()
		}
		if err != nil {
			return err
		}
		info.Marks = map[string]summaries.CompactionType{}
		err := recordCompaction.Each(s.Tx, func(id string, mark compactionMark) error {
			info.Marks[id] = mark.Type
			if id == info.Frame.ID {
				info.Type, info.Note = mark.Type, mark.Note
			}
			return nil
		})
		if err != nil {
			return err
		}
		return recordPending.Each(s.Tx, func(id string, pending summaries.PendingPop) error {
			info.Waiting++
			if id == info.Frame.ID {
				info.Pending = &pending
			}
			return nil
		})
	})
	return info, err
}

// MaxCandidates limits the children, and the siblings, that flame considers for a context,
// the latest change first: more than the usual budgets admit, and few enough to keep the cost
// flat for a tree of any size.
const MaxCandidates = 20

// beside returns the finished siblings of a frame, the latest change first.
func beside(s *project.Op, frame core.Frame) ([]core.Frame, error) {
	found, err := s.Tx.FindFrames(project.FrameQuery{
		Parent: frame.Parent, Roots: frame.Parent == "", Order: project.RecentFirst, Limit: MaxCandidates,
		Statuses: []core.Status{core.Completed, core.Failed, core.Blocked},
	})
	return slices.DeleteFunc(found, func(f core.Frame) bool { return f.ID == frame.ID }), err
}
