package project

import (
	"context"
	"time"

	"flame/core"
)

// byCompaction is the rule by which flame ends a frame whose pop waited for a summary, as
// events name it.
const byCompaction = "compaction"

// pendingTimeout is how long a popped frame waits for the summary that a
// compaction is to bring (DESIGN §6).
const pendingTimeout = 10 * time.Minute

// noSummary stands for the summary of a frame whose compaction never came.
const noSummary = "(no summary: the compaction that was to bring it did not come in time)"

// awaitSummary leaves popped.Frame in progress until a summary comes.
func (s *step) awaitSummary(popped *Popped, args PopArgs) error {
	frame := popped.Frame
	pending := core.PendingCompletion{
		Frame: frame.ID, Status: args.Status, Summary: args.Summary,
		Results: args.Results, Confidence: args.Confidence,
		RequestedAt: s.now, Due: s.now + core.Millis(pendingTimeout.Milliseconds()),
	}
	popped.Pending = &pending
	popped.Current = s.session.Current
	if err := recordPending.Save(s, frame.ID, pending); err != nil {
		return err
	}
	if err := recordCompaction.Save(s, frame.ID, compactionMark{Type: core.FrameCompletion}); err != nil {
		return err
	}
	if err := s.SetDeadline(Deadline{Kind: deadlineCompleted, Subject: frame.ID, Due: pending.Due, Set: s.now}); err != nil {
		return err
	}
	return s.emit(core.CompactionRequested, frame.ID, map[string]any{"type": core.FrameCompletion})
}

// A Summarizing is what Summarize answers with.
type Summarizing struct {
	Frame  core.Frame
	Stored bool   // a summary was given and is kept
	Prompt string // otherwise: what a summary should tell
	Input  core.CompactionInput
}

// Summarize marks the frame's next compaction as one asked for, or keeps the
// summary that the caller brings.
func (p *Project) Summarize(ctx context.Context, by Caller, ref, note, summary string) (done Summarizing, err error) {
	if note, err = cleanOptional("note", note); err != nil {
		return done, err
	}
	if summary, err = cleanOptional("summary", summary); err != nil {
		return done, err
	}
	err = p.update(ctx, by, func(s *step) error {
		if done.Frame, err = s.target(ref); err != nil {
			return err
		}
		if summary != "" {
			done.Stored = true
			return s.storeSummary(&done.Frame, summary)
		}
		mark := compactionMark{core.ManualSummary, note}
		if waiting, err := recordPending.Load(s, done.Frame.ID, &core.PendingCompletion{}); err != nil {
			return err
		} else if waiting {
			mark.Type = core.FrameCompletion // the pop that waits for a summary is still to get one
		}
		if err := recordCompaction.Save(s, done.Frame.ID, mark); err != nil {
			return err
		}
		if err := s.emit(core.CompactionRequested, done.Frame.ID, map[string]any{"type": mark.Type, "note": note}); err != nil {
			return err
		}
		done.Input, err = s.compactionInput(done.Frame)
		done.Prompt = core.CompactionPrompt(done.Input)
		return err
	})
	return done, err
}

// compactionInput gathers what a compaction prompt for frame is made of.
func (s *step) compactionInput(frame core.Frame) (in core.CompactionInput, err error) {
	mark := compactionMark{Type: core.Overflow}
	if _, err = recordCompaction.Load(s, frame.ID, &mark); err != nil {
		return in, err
	}
	in = core.CompactionInput{Type: mark.Type, Note: mark.Note, Frame: frame, Now: s.now}
	if frame.Parent != "" {
		parent, err := s.Frame(frame.Parent)
		if err != nil {
			return in, err
		}
		in.Parent = &parent
	}
	in.Siblings, err = s.beside(frame)
	return in, err
}

// CompactionPrompt returns the text that a host's compaction of the caller's
// frame, or of the one ref names, should work by.
func (p *Project) CompactionPrompt(ctx context.Context, by Caller, ref string) (kind core.CompactionType, prompt string, err error) {
	err = p.view(ctx, by, func(s *step) error {
		frame, err := s.resolve(ref)
		if err != nil {
			return err
		}
		in, err := s.compactionInput(frame)
		kind, prompt = in.Type, core.CompactionPrompt(in)
		return err
	})
	return kind, prompt, err
}

// StoreSummary keeps what a host's compaction of the caller's frame, or of the
// one ref names, came to, and ends the frame if that was waited for. An empty
// summary ends it with the user's text, where there is one.
func (p *Project) StoreSummary(ctx context.Context, by Caller, ref, summary string) (frame core.Frame, err error) {
	if summary, err = cleanOptional("summary", core.StripAnalysis(summary)); err != nil {
		return frame, err
	}
	err = p.update(ctx, by, func(s *step) error {
		if frame, err = s.resolve(ref); err != nil {
			return err
		}
		return s.storeSummary(&frame, summary)
	})
	return frame, err
}

func (s *step) storeSummary(frame *core.Frame, summary string) error {
	var pending core.PendingCompletion
	waiting, err := recordPending.Load(s, frame.ID, &pending)
	if err != nil {
		return err
	}
	if waiting && (summary != "" || pending.Summary != "") {
		return s.complete(frame, pending, core.CombineSummaries(pending.Summary, summary))
	}
	if summary == "" {
		return nil
	}
	data := map[string]any{}
	if frame.Summary != "" && frame.Summary != summary {
		data["replacedSummary"] = frame.Summary
	}
	frame.Summary, frame.UpdatedAt = summary, s.now
	if err := s.SaveFrame(*frame); err != nil {
		return err
	}
	if err := s.forgetCompaction(frame.ID); err != nil {
		return err
	}
	return s.emit(core.SummaryStored, frame.ID, data)
}

// complete ends a frame that waited for its summary; the caller's current frame
// moves out of it.
func (s *step) complete(frame *core.Frame, pending core.PendingCompletion, summary string) error {
	popped := Popped{Frame: *frame}
	s.rule = byCompaction
	defer func() { s.rule = "" }()
	err := s.finish(&popped, PopArgs{Status: pending.Status, Summary: summary, Results: pending.Results, Confidence: pending.Confidence})
	*frame = popped.Frame
	return err
}

// pendingTimedOut ends a frame whose compaction did not come in time.
func (s *step) pendingTimedOut(id string) error {
	var pending core.PendingCompletion
	waiting, err := recordPending.Load(s, id, &pending)
	if err != nil || !waiting {
		return err
	}
	frame, err := s.Frame(id)
	if err != nil {
		return err
	}
	summary := pending.Summary
	if summary == "" && frame.Summary == "" {
		summary = noSummary
	}
	if !frame.CanMove(pending.Status) {
		return s.forgetCompaction(id)
	}
	return s.complete(&frame, pending, summary)
}

// CompactionInfo is the state of compactions.
type CompactionInfo struct {
	Frame   core.Frame                     // the caller's current one
	OK      bool                           // there is one
	Type    core.CompactionType            // of its next compaction; empty when none is asked for
	Note    string                         // that came with the request
	Pending *core.PendingCompletion        // it waits for a summary
	Marks   map[string]core.CompactionType // all frames whose next compaction is asked for
	Waiting int                            // frames that wait for a summary
}

// CompactionInfo tells what compactions are asked for and waited for; in detail
// for the frame that ref names, or for the caller's.
func (p *Project) CompactionInfo(ctx context.Context, by Caller, ref string) (info CompactionInfo, err error) {
	err = p.view(ctx, by, func(s *step) error {
		if ref != "" {
			info.Frame, err = s.resolve(ref)
			info.OK = err == nil
		} else {
			info.Frame, info.OK, err = s.current()
		}
		if err != nil {
			return err
		}
		info.Marks = map[string]core.CompactionType{}
		err := recordCompaction.Each(s, func(id string, mark compactionMark) error {
			info.Marks[id] = mark.Type
			if id == info.Frame.ID {
				info.Type, info.Note = mark.Type, mark.Note
			}
			return nil
		})
		if err != nil {
			return err
		}
		return recordPending.Each(s, func(id string, pending core.PendingCompletion) error {
			info.Waiting++
			if id == info.Frame.ID {
				info.Pending = &pending
			}
			return nil
		})
	})
	return info, err
}
