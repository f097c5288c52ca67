package stack

import (
	"errors"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/evidence"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/usage"
)

// recordTurns, by session, is what the user's prompts led to.
const recordTurns project.RecordKind[userTurns] = "session.turns"

// userTurns are the turns of a session below its root.
type userTurns struct {
	Root   string      `json:"root"`             // whose turns they are
	Asked  *turnPrompt `json:"asked,omitempty"`  // the last prompt, as long as it led to no work
	State  core.Status `json:"state,omitempty"`  // how the turn of the last prompt ended, or its session in it; empty: it goes on
	First  *firstTurn  `json:"first,omitempty"`  // the first turn that led to work, as long as no other did: it is the root's own
	Last   string      `json:"last,omitempty"`   // id of the frame of the last turn; empty before it
	Prompt string      `json:"prompt,omitempty"` // of that turn, the host's id
	Pushes bool        `json:"pushes,omitempty"` // the agent made frames directly below the root
	Seen   string      `json:"seen,omitempty"`   // the last call that the host showed when a turn had ended, and what the agent said then
}

// asked reports whether the turn of the last prompt goes on and has led to no work yet.
func (t userTurns) asked() bool { return t.Asked != nil && t.State != core.Completed }

// A turnPrompt is a prompt of the user's.
type turnPrompt struct {
	Prompt string      `json:"prompt"` // the host's id
	Text   string      `json:"text"`
	At     core.Millis `json:"at"`
}

// A firstTurn is the prompt of a session's first turn, and how it ended.
type firstTurn struct {
	turnPrompt
	Until core.Millis `json:"until,omitempty"` // 0: it goes on
	End   TurnEnd     `json:"end,omitzero"`
}

// A TurnEnd is how a turn of the session itself ended.
type TurnEnd struct {
	Prompt string          `json:"-"` // the host's id of the prompt that began it; empty: the last one
	Status core.Status     // completed, failed by an error, or blocked because the user stopped it
	Said   string          // the agent's last words, and what stopped it
	Facts  string          // the checks that it made
	Calls  []evidence.Call `json:"-"`
	More   bool            `json:"-"` // perhaps the host does not show all calls yet
}

// isOf reports whether e is the end of the turn that a prompt began, by the host's id.
func (e TurnEnd) isOf(prompt string) bool { return e.Prompt == "" || e.Prompt == prompt }

// seen returns what identifies the turn among the last ones; empty without calls.
func (e TurnEnd) seen() string {
	if len(e.Calls) == 0 {
		return ""
	}
	last := e.Calls[len(e.Calls)-1]
	return core.Head(last.Tool+last.Input+last.Output+e.Said, maxSaid)
}

// leftTurn is the summary of a turn that the user or the end of its session broke off.
const leftTurn = "(interrupted)"

// IsTurn reports whether a frame is that of a turn of the user's.
func IsTurn(s *project.Op, frame string) (bool, error) {
	_, known, err := project.RecordTurn.Get(s.Tx, frame)
	return known, err
}

// turnsOf returns the turns of the caller's session.
func turnsOf(s *project.Op) (t userTurns, err error) {
	if s.Session.Parent != "" || s.Session.Root == "" || s.Caller.Anonymous() || !s.Project.Turns {
		return t, nil
	}
	if t, err = recordTurns.Find(s.Tx, s.Session.ID); t.Root != s.Session.Root {
		t = userTurns{Root: s.Session.Root}
	}
	return t, err
}

// save stores the turns of the caller's session.
func (t userTurns) save(s *project.Op) error { return recordTurns.Save(s.Tx, s.Session.ID, t) }

// AskTurn records a prompt of the user's. Work that follows makes it a turn, unless the session works in a
// frame that somebody made.
func AskTurn(s *project.Op, prompt, text string) error {
	t, err := turnsOf(s)
	if err != nil || t.Root == "" {
		return err
	}
	at, err := outside(s, s.Session.Current, "")
	if err != nil {
		return err
	}
	root, err := s.Tx.Frame(t.Root)
	switch {
	case err != nil:
		return project.IgnoreMissing(err)
	case at == t.Root && root.Parent == "" && text != "":
		t.Asked, t.State = &turnPrompt{prompt, text, s.Now}, ""
		return t.save(s)
	}
	inside, err := s.IsInside(at, t.Last)
	if inside {
		t.Prompt = prompt // it goes on in a frame below that of the turn
	} else if t.Asked == nil {
		return err
	}
	t.Asked, t.State = nil, ""
	return errors.Join(err, t.save(s))
}

// takeUpTurn has the caller work in the frame of its turn, because the turn leads to work. The first turn
// that does is the root's own, until a second one does.
func takeUpTurn(s *project.Op) error {
	t, err := turnsOf(s)
	if err == nil {
		err = t.resume(s, TurnEnd{})
	}
	if err != nil || !t.asked() {
		return err
	}
	at, err := outside(s, s.Session.Current, "")
	if err != nil {
		return err
	}
	if at != t.Root {
		t.Asked = nil // it activated another frame
	} else if err := t.takeUp(s); err != nil {
		return err
	}
	return t.save(s)
}

// resume has the turn go on that ended last, if no prompt came since: a hook of the user's sent the agent back
// to work. It ends again as e says, which is zero as long as it works.
func (t *userTurns) resume(s *project.Op, e TurnEnd) error {
	if t.State != core.Completed || !e.isOf(*t.last()) {
		return nil
	}
	at, err := outside(s, s.Session.Current, "")
	if err != nil || at != t.Root {
		return err
	}
	mine, err := project.RecordHookState.Find(s.Tx, s.Session.ID)
	if err != nil || *t.last() != mine.Prompt || e.Said != "" && e.Said == mine.LastMessage {
		return err
	}
	if t.State = ""; t.Asked == nil {
		err = t.goOn(s, turnPrompt{Prompt: mine.Prompt, At: s.Now})
	}
	return errors.Join(err, t.save(s))
}

// last returns where the host's id of the prompt of the last turn stands.
func (t *userTurns) last() *string {
	switch {
	case t.Asked != nil:
		return &t.Asked.Prompt
	case t.First != nil:
		return &t.First.Prompt
	}
	return &t.Prompt
}

func (t *userTurns) takeUp(s *project.Op) error {
	prompt := *t.Asked
	t.Asked = nil
	switch {
	case core.IsContinuePrompt(prompt.Text) && (t.Last != "" || t.First != nil):
		return t.goOn(s, prompt)
	case t.First == nil && t.Last == "" && !t.Pushes:
		t.First = &firstTurn{turnPrompt: prompt}
		return nil
	}
	if err := t.split(s); err != nil {
		return err
	}
	frame, err := createTurn(s, t.Root, prompt)
	if err != nil {
		return err
	}
	t.Last, t.Prompt = frame.ID, prompt.Prompt
	return errors.Join(project.WorksSince(s, prompt.At, frame.ID), autonomy.Enter(s, frame.ID))
}

// goOn has the caller work in the last turn again.
func (t *userTurns) goOn(s *project.Op, prompt turnPrompt) error {
	if t.First != nil {
		t.First.Until, t.First.Prompt = 0, prompt.Prompt
		return nil
	}
	frame, err := s.Tx.Frame(t.Last)
	if err != nil || frame.IsRemote() || !frame.Status.Ended() {
		return project.IgnoreMissing(err)
	}
	from := frame.Status
	if err := frame.Reopen(s.Now); err != nil {
		return err
	}
	t.Prompt = prompt.Prompt
	inside, err := s.IsInside(s.Session.Current, frame.ID)
	err = errors.Join(err, s.Tx.SaveFrame(frame), s.Emit(core.FrameReopened, frame.ID, map[string]any{"from": from}))
	if inside {
		return err
	}
	return errors.Join(err, project.WorksSince(s, prompt.At, frame.ID), autonomy.Enter(s, frame.ID))
}

// createTurn makes the frame of a turn as of the time of its prompt.
func createTurn(s *project.Op, root string, prompt turnPrompt) (core.Frame, error) {
	now := s.Now
	s.Now = prompt.At
	defer func() { s.Now = now }()
	frame, err := s.Create(core.Frame{Parent: root, Goal: prompt.Text, Status: core.InProgress})
	return frame, errors.Join(err, project.RecordTurn.Save(s.Tx, frame.ID, prompt.Prompt))
}

// split gives the first turn, which so far is the root's own, a frame: what the root has is its work.
func (t *userTurns) split(s *project.Op) error {
	first := t.First
	if t.First = nil; first == nil {
		return nil
	}
	root, err := s.Tx.Frame(t.Root)
	if err != nil {
		return err
	}
	frame, err := createTurn(s, t.Root, first.turnPrompt)
	if err != nil {
		return err
	}
	if title := core.OneLine(s.Session.Title, project.MaxTitle); title != "" && root.Goal == first.Text {
		root.Goal = title
	}
	root.Artifacts, frame.Artifacts = frame.Artifacts, root.Artifacts
	root.Usage, frame.Usage = frame.Usage, root.Usage
	if err := t.takeBelow(s, &root, &frame); err != nil {
		return err
	}
	root.UpdatedAt = s.Now
	err = errors.Join(s.Tx.SaveFrame(root), s.Tx.SaveFrame(frame), usage.MoveWork(s, root.ID, frame.ID))
	if err != nil || first.Until == 0 {
		return err
	}
	now := s.Now
	s.Now = first.Until
	defer func() { s.Now = now }()
	return first.End.end(s, frame)
}

// takeBelow moves the subagents and the items of lists below the root to the frame of the first turn.
func (t *userTurns) takeBelow(s *project.Op, root, frame *core.Frame) error {
	below, err := s.Tx.FindFrames(project.FrameQuery{Parent: root.ID, Archived: true, Limit: maxItems})
	if err != nil {
		return err
	}
	for _, child := range below {
		item, known, err := recordItem.Get(s.Tx, child.ID)
		if err != nil {
			return err
		}
		if child.ID == frame.ID || child.IsRemote() || !known && (child.Status == core.Planned || child.Session == project.CommandLine) {
			continue
		}
		child.Parent, child.UpdatedAt = frame.ID, s.Now
		err = errors.Join(s.Tx.SaveFrame(child), s.Emit(core.FrameUpdated, child.ID, updated(edits{"parent": frame.ID})))
		if known {
			err = errors.Join(err, recordLists.Change(s.Tx, item.Owner, func(l *evidence.Lists) {
				for _, list := range l.All {
					if list.Home == root.ID {
						list.Home = frame.ID
					}
				}
			}))
			root.PlannedChildren = lo.Without(root.PlannedChildren, child.ID)
			frame.PlannedChildren = append(frame.PlannedChildren, child.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pushesBelowRoot records that the agent makes frames of its own below the root, if no turn has a frame:
// the turns before need none then, and this one has the agent's.
func pushesBelowRoot(s *project.Op) error {
	t, err := turnsOf(s)
	if err != nil || t.asked() == (t.First != nil) || s.Session.Current != t.Root || t.Last != "" && !t.Pushes {
		return err
	}
	t.Pushes, t.First, t.Asked = true, nil, nil
	return t.save(s)
}

// pushedBelow records that the agent followed the suggestion to push below a frame: one for a turn was made
// at its prompt, for the root.
func pushedBelow(s *project.Op, frame string) error {
	turn, err := IsTurn(s, frame)
	if turn {
		err = autonomy.ActOn(s, s.Session.Root, core.SuggestPush)
	}
	return errors.Join(err, autonomy.ActOn(s, frame, core.SuggestPush))
}

// end ends the frame of a turn.
func (e TurnEnd) end(s *project.Op, frame core.Frame) error {
	if e.Facts != "" {
		frame.Results = e.Facts
	}
	return End(s, &frame, e.Status, e.Said)
}
