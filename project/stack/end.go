package stack

import (
	"errors"

	"flame/core"
	"flame/core/op"
	"flame/core/summaries"
	"flame/project"
	"flame/project/autonomy"
)

// PopArgs say how a frame ends.
type PopArgs struct {
	Frame           string      // empty: the current one
	Status          core.Status // completed, failed or blocked
	Summary         string      // dense outcome; empty keeps the present one
	Results         string      // full outcome; empty keeps the present one
	Confidence      *float64    // the caller's confidence in the result, 0..1
	GenerateSummary bool        // end the frame once the host's next compaction brings a summary
	Force           bool        // end the frame although children are in progress
	Decisions       []string    // to record in the frame, as AddDecision does
	Artifacts       []string    // to record in the frame, as AddArtifact does
	Next            string      // frame to work in next: id or goal of a planned one, else the goal of a new one; may be empty

	wrongNext error // why Next cannot be taken up
}

// maxRecorded limits the decisions, and the artifacts, of one Pop.
const maxRecorded = 200

// Check refuses arguments that cannot end a frame, and trims the texts.
func (a *PopArgs) Check() (err error) {
	if !a.Status.Ended() {
		return core.Invalidf("status %q cannot end a frame", a.Status).WithHint("use completed, failed or blocked")
	}
	if a.Confidence != nil && (*a.Confidence < 0 || *a.Confidence > 1) {
		return core.Invalidf("confidence %v is out of range", *a.Confidence).WithHint("give a number from 0 to 1")
	}
	if a.Summary, err = project.OptionalText("summary", a.Summary); err != nil {
		return err
	}
	if a.Results, err = project.OptionalText("results", a.Results); err != nil {
		return err
	}
	if a.Decisions, err = cleanAll("decision", a.Decisions); err != nil {
		return err
	}
	if a.Artifacts, err = cleanAll("artifact", a.Artifacts); err != nil {
		return err
	}
	if a.Next, a.wrongNext = project.OptionalText("next", a.Next); a.Next != "" && a.GenerateSummary {
		a.Next, a.wrongNext = "", core.Invalidf("%s cannot be taken up while the frame waits for a summary", op.ArgNext).
			WithHint("%s or %s begins it when the frame has ended", op.Activate, op.Push)
	}
	return nil
}

func cleanAll(name string, texts []string) (cleaned []string, err error) {
	if len(texts) > maxRecorded {
		return nil, core.Invalidf("%d %ss at once, the limit is %d", len(texts), name, maxRecorded).
			WithHint("write them to a file and record the file as an artifact")
	}
	for _, text := range texts {
		if text, err = project.RequiredText(name, text); err != nil {
			return nil, err
		}
		cleaned = append(cleaned, text)
	}
	return cleaned, nil
}

// PopResult is the result of Pop.
type PopResult struct {
	Frame           core.Frame            // as it is now
	GoalShown       bool                  // the pop that took the frame up says its goal in the caller's conversation
	ComposedSummary string                // composed summary of the work below it, if it ended without a summary
	Parent          *core.Frame           // nil for a root
	Current         string                // id of the caller's current frame now; empty without one
	Planned         []core.Frame          // its planned children, left over
	Open            []core.Frame          // its children still in progress, with Force
	Next            *core.Frame           // the first planned frame beside it; nil without one
	NextActivated   *ActivateResult       // result of PopArgs.Next; From is empty for a new frame; nil without Next
	NotNext         *core.Problem         // why PopArgs.Next was not taken up; nil if it was
	EarlierTexts    FrameTexts            // texts that the frame had before the call and that the call does not repeat
	EndedBelow      []core.Frame          // the first frames below it that have ended
	More            bool                  // there are others
	Pending         *summaries.PendingPop // set if the frame waits for a summary
}

// FrameTexts has the texts of a frame that others read.
type FrameTexts struct {
	Summary              string
	Decisions, Artifacts []string
}

// Finish ends popped.Frame and moves the caller's current frame out of it.
func Finish(s *project.Op, popped *PopResult, args PopArgs) error {
	frame := &popped.Frame
	inside, err := s.IsInside(s.Session.Current, frame.ID)
	if err != nil {
		return err
	}
	if args.Results != "" {
		frame.Results = args.Results
	}
	if args.Confidence != nil {
		frame.Confidence = args.Confidence
	}
	if err := End(s, frame, args.Status, args.Summary); err != nil {
		return err
	}
	switch {
	case inside && s.Session.Parent != "" && frame.ID == s.Session.Root:
		s.Session.Current = "" // a finished subagent does not work in its parent's frame
	case inside:
		above, err := s.NearestOpen(frame.Parent)
		if err != nil {
			return err
		}
		if err := autonomy.Enter(s, above); err != nil {
			return err
		}
	}
	popped.Current, err = s.NearestOpen(s.Session.Current)
	return err
}

// End moves frame to status with a summary, unless that is empty, and writes the frame
// and its event. The frame no longer waits for a requested compaction.
func End(s *project.Op, frame *core.Frame, status core.Status, summary string) error {
	if err := s.CheckLocal(*frame); err != nil {
		return err
	}
	if err := frame.Transition(status, s.Now); err != nil {
		return err
	}
	data := map[string]any{"status": status}
	if summary != "" && frame.Summary != "" && frame.Summary != summary {
		data["replacedSummary"] = frame.Summary
	}
	if summary != "" {
		frame.Summary = summary
	}
	if err := s.Tx.SaveFrame(*frame); err != nil {
		return err
	}
	if err := errors.Join(forgetCompaction(s, frame.ID), EndRootLater(s, *frame)); err != nil {
		return err
	}
	return errors.Join(s.Emit(core.FrameCompleted, frame.ID, data), endWaiting(s, frame.Parent))
}

// EndRootLater sets the deadline that ends the root above a frame that ended, here or on
// another machine, if the root's session has ended and left work below it.
func EndRootLater(s *project.Op, frame core.Frame) error {
	left, err := recordLeft.Find(s.Tx, "")
	if err != nil || len(left) == 0 {
		return err
	}
	top, err := s.RootOf(frame)
	if err != nil || left[top.ID] == "" {
		return err
	}
	return s.Tx.SetDeadline(project.Deadline{Kind: RootDeadline, Subject: top.ID, Due: s.Now, Set: s.Now})
}

// Children returns the children of a frame that have this status, oldest first.
func Children(s *project.Op, id string, status core.Status) ([]core.Frame, error) {
	return s.Tx.FindFrames(project.FrameQuery{Parent: id, Statuses: []core.Status{status}})
}

// The kinds of records and deadlines that compactions need.
const (
	recordPending    project.RecordKind[summaries.PendingPop] = "summary.pending"    // by frame
	recordCompaction project.RecordKind[compactionMark]       = "summary.compaction" // by frame: what its next compaction is for
	recordSaid       project.RecordKind[shownGoal]            = "summary.said"       // by frame that a pop took up, until a compaction
	SummaryDeadline                                           = "pending_completion" // by frame: give up waiting for a summary
)

// The kinds of records and deadlines that roots of ended sessions need.
const (
	recordLeft   project.RecordKind[map[string]string] = "project.left" // by root: its session, which left work below it
	RootDeadline string                                = "session_root" // by root: end it, if no work is left below it
)

// notLeft records that the session of a root has left no work below it.
func notLeft(s *project.Op, root string) error {
	left, err := recordLeft.Find(s.Tx, "")
	if left[root] == "" || err != nil {
		return err
	}
	delete(left, root)
	return recordLeft.Save(s.Tx, "", left)
}

// A compactionMark says what a frame's next compaction is for.
type compactionMark struct {
	Type summaries.CompactionType `json:"type"`
	Note string                   `json:"note,omitempty"`
}

// shownGoal is the goal of a frame as a session's conversation says it.
type shownGoal struct {
	Session string `json:"session"`
	Goal    string `json:"goal"`
}

// forgetCompaction drops everything that waits for a compaction of the frame.
func forgetCompaction(s *project.Op, frame string) error {
	return errors.Join(
		recordPending.Delete(s.Tx, frame),
		recordCompaction.Delete(s.Tx, frame),
		recordSaid.Delete(s.Tx, frame),
		s.Tx.ClearDeadline(SummaryDeadline, frame),
	)
}
