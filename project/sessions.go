package project

import (
	"context"
	"errors"
	"slices"

	"flame/core"
	"flame/core/op"
)

// RecordHookState, by session, is what its hooks must remember from one call to the next; zero if
// they never called.
const RecordHookState RecordKind[HookState] = "session.presence"

// A HookState is what the hooks of a session remember about the session.
type HookState struct {
	LastSeq          int64         `json:"seen"`               // the last event that its agent knows of
	Prompt           string        `json:"prompt,omitempty"`   // id of the last prompt
	EndedPrompt      string        `json:"answered,omitempty"` // id of the last prompt whose turn is known to have ended
	TurnSeq          int64         `json:"turn,omitempty"`     // the last event before its turn began
	SummaryDelivered bool          `json:"told,omitempty"`     // a child: the host gave its summary to the parent
	LastMessage      string        `json:"fallback,omitempty"` // its last message so far
	TurnEndedIdle    bool          `json:"rested,omitempty"`   // its last turn ended by itself, and left nothing running
	Ended            *ChildOutcome `json:"ended,omitempty"`    // a child: it has ended, but work below it continues
	FrameCounted     bool          `json:"framed,omitempty"`   // a child: flame has counted its frame
	EndCounted       bool          `json:"counted,omitempty"`  // a child: flame has counted its first end
	ContextGiven     bool          `json:"given,omitempty"`    // of an agent: its first context came with its task
	Process          Process       `json:"process,omitzero"`   // of its host, which reported last; zero if not known
	Windows          []Process     `json:"windows,omitempty"`  // other processes in which the session was opened, the latest last
	EndedAt          core.Millis   `json:"over,omitempty"`     // when the session ended; 0: it never did
	Forked           string        `json:"forked,omitempty"`   // owner of the to-do list that its history shows, if it is a fork: its own begins empty
	ContextOwed      bool          `json:"owed,omitempty"`     // its context was due when its host no longer waited, or a compaction dropped it

	Compacted core.Millis `json:"compacted,omitempty"` // the last compaction that flame found in its log
	Searched  LogSearch   `json:"searched,omitzero"`   // where flame has looked for one
	SessionPermissions
}

// RecordTurn, by frame of a turn, is the host's id of the user's prompt that began it.
const RecordTurn RecordKind[string] = "frame.turn"

// RecordFacts, by frame that ended, is what the work in it tells and its end does not say.
const RecordFacts RecordKind[string] = "frame.facts"

// RecordPlan, by frame, is the plan that the user approved while a session worked in it.
const RecordPlan RecordKind[Plan] = "frame.plan"

// A Plan is a plan that an agent wrote and its user approved.
type Plan struct {
	File string `json:"file,omitempty"` // where the host keeps it
	Text string `json:"text"`
}

// A LogSearch is the part of a session's log in which flame has looked for compactions.
type LogSearch struct {
	Path string `json:"path"`
	UpTo int64  `json:"upTo"` // in bytes
}

// noteFirst records the host's process at the first call of a session.
func noteFirst(s *Op) error {
	if !s.NewSession || !s.hasProcess() {
		return nil
	}
	return RecordHookState.Change(s.Tx, s.Session.ID, func(mine *HookState) { mine.NoteProcess(s) })
}

// hasProcess reports whether the caller's session lives in a process of its host. A child
// ends with its parent, whatever process it lives in.
func (s *Op) hasProcess() bool {
	return s.Project.HostProcess != nil && s.Session.Parent == "" && !s.Caller.Anonymous() && s.Caller.Host != CommandLine
}

// NoteProcess records the host's process that the caller's session lives in.
func (p *HookState) NoteProcess(s *Op) {
	if here := s.Project.announcer(); s.hasProcess() && here != (Process{}) {
		p.close(here)
		if p.Process != (Process{}) {
			p.Windows = append(p.Windows, p.Process)[max(0, len(p.Windows)+1-maxWindows):]
		}
		p.Process = here
	}
}

// Moved reports whether the caller's session, which is known, was opened in another process than the one
// that reported last.
func (s *Op) Moved() (bool, error) {
	if s.NewSession || !s.hasProcess() {
		return false, nil
	}
	mine, err := RecordHookState.Find(s.Tx, s.Session.ID)
	here := s.Project.announcer()
	return here != (Process{}) && mine.Process != (Process{}) && mine.Process != here, err
}

// has reports whether the session was opened in a process.
func (p *HookState) has(one Process) bool { return p.Process == one || slices.Contains(p.Windows, one) }

// maxWindows bounds the processes that are remembered of a session.
const maxWindows = 8

// close forgets a process.
func (p *HookState) close(gone Process) {
	p.Windows = slices.DeleteFunc(p.Windows, func(one Process) bool { return one == gone })
	if p.Process != gone {
		return
	}
	p.Process = Process{}
	if last := len(p.Windows) - 1; last >= 0 {
		p.Process, p.Windows = p.Windows[last], p.Windows[:last]
	}
}

// GoesOn takes in that the caller's process no longer has the session, and reports whether another one
// still has it: a second window, or one in which it was resumed before its end was told.
func (p *HookState) GoesOn(s *Op) bool {
	here := s.Project.announcer()
	p.close(here)
	for p.Process != (Process{}) && !p.Lives(s) {
		p.close(p.Process)
	}
	return p.Process != (Process{})
}

// Lives reports whether the process that reported last has not ended, as far as is known.
func (p *HookState) Lives(s *Op) bool {
	return p.Process != (Process{}) && s.Project.ProcessGone != nil && !s.Project.ProcessGone(p.Process)
}

// LivesElsewhere reports whether a session lives in a process of its host that has not ended, as far
// as is known, and that is not the host of this process: this one was started from its shell, say.
func (p *Project) LivesElsewhere(ctx context.Context, session string) (elsewhere bool, err error) {
	here, none := p.announcer(), Process{}
	if here == none || p.ProcessGone == nil {
		return false, nil
	}
	err = p.Store.View(ctx, func(tx Tx) error {
		theirs, err := RecordHookState.Find(tx, session)
		elsewhere = theirs.Process != none && !theirs.has(here) && !p.ProcessGone(theirs.Process)
		return err
	})
	return elsewhere, err
}

// A ChildOutcome is how a child's run ended, and its last message.
type ChildOutcome struct {
	End   core.ChildEnd `json:"end"`
	Last  string        `json:"last,omitempty"`
	Idle  bool          `json:"idle,omitempty"`  // flame concluded it from the child's silence
	Hand  bool          `json:"hand,omitempty"`  // an agent or a person completed it with a tool
	Agent bool          `json:"agent,omitempty"` // the child is an agent that flame started; events of its run report the end
}

// Summary returns the summary for the child's frame.
func (e ChildOutcome) Summary() string {
	switch {
	case e.Last != "":
		return e.Last
	case e.Idle:
		return autoCompleted
	}
	return e.End.DefaultSummary()
}

// autoCompleted is the summary of a subagent that fell idle without leaving one.
const autoCompleted = "(completed automatically when the subagent fell idle)"

// SessionPermissions are what a host reports about the permissions of a session that may ask for
// agents. It limits the permissions of those agents.
type SessionPermissions struct {
	Mode  string `json:"mode,omitempty"`       // permission mode; empty: not reported
	Agent string `json:"host_agent,omitempty"` // name of the host's own agent that works in it; empty: not reported, or the default
	Rules string `json:"rules,omitempty"`      // that agent's permissions in OpenCode's form, in JSON; empty: not reported
}

// NoteStanding records the SessionPermissions that the caller's host reports.
func (p *Project) NoteStanding(ctx context.Context, by Caller, told SessionPermissions) error {
	return p.Run(ctx, by, func(s *Op) error {
		mine, err := RecordHookState.Find(s.Tx, s.Session.ID)
		if err != nil || mine.SessionPermissions == told {
			return err
		}
		return s.Change(func(s *Op) error {
			return RecordHookState.Change(s.Tx, s.Session.ID, func(mine *HookState) { mine.SessionPermissions = told })
		})
	})
}

// PermissionsOf returns the last SessionPermissions reported for a session; zero without one.
func PermissionsOf(tx Tx, session string) (SessionPermissions, error) {
	p, err := RecordHookState.Find(tx, session)
	return p.SessionPermissions, err
}

// ForgetSession deletes a session, its HookState, its Timeline and its idle times.
func ForgetSession(tx Tx, id string) error {
	return errors.Join(RecordHookState.Delete(tx, id), RecordWorked.Delete(tx, id), RecordIdle.Delete(tx, id), tx.DeleteSession(id))
}

// RecordIdle, by session, lists the stretches of more than ten minutes in which it did not
// work, oldest first: from the last report about its turn, or about its end, until the next
// report. Flame keeps the newest 500.
const RecordIdle RecordKind[[]core.Interval] = "idle"

const (
	longIdle = core.Millis(10 * 60 * 1000)
	maxIdle  = 500
)

// noteIdle records, when a session reports again, how long it was not at work, if that was
// long.
func noteIdle(tx Tx, session core.Session, now core.Millis) error {
	from := session.LastActivityAt
	if session.State == core.SessionActive || from == 0 || now-from <= longIdle {
		return nil
	}
	idle, err := RecordIdle.Find(tx, session.ID)
	if err != nil {
		return err
	}
	return RecordIdle.Save(tx, session.ID, addIdle(idle, core.Interval{From: from, Until: now}))
}

// addIdle adds one to stretches, in order. A stretch that touches the last one lengthens it:
// the end of a session is reported after its last turn, or the clock was set back meanwhile.
func addIdle(idle []core.Interval, one core.Interval) []core.Interval {
	if n := len(idle); n > 0 && one.From <= idle[n-1].Until {
		idle[n-1].Until = max(idle[n-1].Until, one.Until)
		return idle
	}
	if idle = append(idle, one); len(idle) > maxIdle {
		idle = idle[len(idle)-maxIdle:]
	}
	return idle
}

// RecordEnded, by root, is when the root ended only because its session ended.
const RecordEnded RecordKind[core.Millis] = "frame.ended"

// EndedWithSession reports whether a frame is a root that ended only because its session
// ended. A resumed session continues in it.
func EndedWithSession(tx Tx, root core.Frame) (bool, error) {
	if root.Parent != "" || !root.Status.Ended() || root.IsRemote() {
		return false, nil
	}
	at, known, err := RecordEnded.Get(tx, root.ID)
	return known && at == root.EndedAt, err
}

// ResumableRoot returns the root that the caller's session continues in once it works
// again; ok is false unless the root ended with the session.
func (s *Op) ResumableRoot() (root core.Frame, ok bool, err error) {
	if s.Session.Root == "" || s.Session.Parent != "" {
		return root, false, nil
	}
	if root, err = s.Tx.Frame(s.Session.Root); err != nil {
		return root, false, IgnoreMissing(err)
	}
	ok, err = EndedWithSession(s.Tx, root)
	return root, ok, err
}

// Place returns the frame in which the caller's session works, or will work after its next
// prompt: a root that ended with the session. ok is false without one.
func Place(s *Op) (frame core.Frame, ok bool, err error) {
	if frame, ok, err = s.Current(); ok || err != nil {
		return frame, ok, err
	}
	if frame, ok, err = s.ResumableRoot(); ok {
		frame.Status, frame.EndedAt = core.InProgress, 0
	}
	return frame, ok, err
}

// ResumeRoot reopens the root of the caller's session, if it ended with the session.
func (s *Op) ResumeRoot() error {
	root, ok, err := s.ResumableRoot()
	if !ok || err != nil {
		return err
	}
	from := root.Status
	if err := root.Reopen(s.Now); err != nil {
		return err
	}
	root.Session, s.Session.Current = s.Session.ID, root.ID
	if err := errors.Join(s.Tx.SaveFrame(root), RecordEnded.Delete(s.Tx, root.ID)); err != nil {
		return err
	}
	return s.Emit(core.FrameReopened, root.ID, map[string]any{"from": from})
}

// resumeByCall is ResumeRoot for calls. A host's event does not show that the session works
// again, except for a prompt (see package turns). A call from a shell, or at the end of an
// agent, does not show it either.
func resumeByCall(s *Op) error {
	if s.Caller.Event != "" || s.Caller.Host == CommandLine || s.Caller.Trust == TrustFlame {
		return nil
	}
	return s.ResumeRoot()
}

// RecordSuspended, by session, is the id of the agent to which it handed control.
const RecordSuspended RecordKind[string] = "session.suspended"

// Suspend keeps a session from changing frames until Resume, because it handed control
// to an agent.
func Suspend(tx Tx, session, agent string) error {
	return errors.Join(setState(tx, session, core.SessionSuspended), RecordSuspended.Save(tx, session, agent))
}

// Resume lets a session continue that handed control to an agent.
func (p *Project) Resume(ctx context.Context, session, agent string) error {
	return p.Store.Run(ctx, func(tx Tx) error {
		if to, err := RecordSuspended.Find(tx, session); to != agent || err != nil {
			return err
		}
		known, err := tx.Session(session)
		if IgnoreMissing(err) != nil {
			return err
		}
		return errors.Join(noteIdle(tx, known, p.Now()), setState(tx, session, core.SessionActive), RecordSuspended.Delete(tx, session))
	})
}

// setState sets the state of a session, unless it is unknown or has ended.
func setState(tx Tx, id string, state core.SessionState) error {
	session, err := tx.Session(id)
	if err != nil || session.State == core.SessionEnded {
		return IgnoreMissing(err)
	}
	session.State = state
	return tx.SaveSession(session)
}

// mayChange refuses changes by the agent of a suspended session, including those from a
// shell in that session. It accepts events of the host and of flame itself.
func mayChange(s *Op) error {
	if s.Session.State != core.SessionSuspended || s.Caller.Event != "" || s.Caller.Trust == TrustFlame {
		return nil
	}
	agent, err := RecordSuspended.Find(s.Tx, s.Session.ID)
	if err != nil {
		return err
	}
	return core.Invalidf("this session handed control to %s, so it cannot change frames until that agent ends", agent).
		WithHint("%s waits for it, %s shows how far it is, %s stops it", op.AgentWait, op.AgentStatus, op.AgentCancel)
}
