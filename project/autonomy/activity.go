package autonomy

import (
	"cmp"
	"slices"
	"strings"

	"flame/core"
	"flame/core/evidence"
	"flame/project"
	"flame/transcripts"
)

// recordScene, by session, is the last part of its conversation. Flame deletes it when the
// session ends.
const recordScene project.RecordKind[SessionActivity] = "session.scene"

// A SessionActivity is the last part of a session's conversation: as much as a judgement needs.
type SessionActivity struct {
	Recent          []evidence.Message `json:"recent,omitempty"` // the last ones, oldest first
	Frame           string             `json:"frame,omitempty"`  // in which the turn began; empty: unknown
	Calls           []evidence.Call    `json:"calls,omitempty"`  // of the turn that ended last, since the agent works in its frame; none while one goes on
	Model           string             `json:"model,omitempty"`  // that answered last, by its host's name for it
	Window          int                `json:"window,omitempty"` // tokens that the model takes, by its host; 0: unknown
	RequestWindow   int                `json:"told,omitempty"`   // likewise, by its requests and their answers; used if its host says nothing
	FailingCommands []string           `json:"red,omitempty"`    // commands that failed and have not passed since
	Known           bool               `json:"known,omitempty"`  // Calls and Recent show everything of the turn that ended last
}

// Limits of a SessionActivity, in characters where it is text.
const (
	maxRecent  = 4
	maxMessage = 2000 // its beginning and its end
	maxSeen    = 20   // calls
	maxInput   = 200  // its beginning
	maxOutput  = 300  // its end
	maxRed     = 20
)

// UpdateScene applies change to the SessionActivity of the caller's session.
func UpdateScene(s *project.Op, change func(*SessionActivity)) error {
	return recordScene.Change(s.Tx, s.Session.ID, change)
}

// SceneKnown reports whether flame saw everything of the last ended turn of the caller's
// session.
func SceneKnown(s *project.Op) (bool, error) {
	scene, err := recordScene.Find(s.Tx, s.Session.ID)
	return scene.Known, err
}

// Begin records that a turn begins in a frame, with the user's prompt if there is one.
func (c *SessionActivity) Begin(frame, prompt string) {
	c.Frame, c.Calls, c.Known = frame, nil, false
	c.say(core.RoleUser, prompt)
}

// Answered reports whether the last message is the agent's.
func (c *SessionActivity) Answered() bool {
	return len(c.Recent) > 0 && c.Recent[len(c.Recent)-1].Role == core.RoleAssistant
}

// End records how the turn ended, and reports whether it brought a result: a command that
// passes and failed before. The agent now works in frame.
func (c *SessionActivity) End(frame, last string, seen transcripts.TurnSummary) (result bool) {
	c.say(core.RoleAssistant, last)
	return c.AddTurn(frame, seen)
}

// AddTurn records what a host shows of the ended turn, and reports whether the turn brought a
// result. Calls before the agent's last move to another frame say nothing about its frame.
func (c *SessionActivity) AddTurn(frame string, seen transcripts.TurnSummary) (result bool) {
	c.say(core.RoleUser, seen.Stopped)
	c.Calls, c.Known = nil, seen.Whole
	c.name(seen.Model)
	c.Window = cmp.Or(seen.Window, c.Window)
	for _, call := range seen.Calls[max(0, len(seen.Calls)-maxSeen):] {
		call.Input, call.Output = core.Head(call.Input, maxInput), core.Tail(call.Output, maxOutput)
		c.Calls = append(c.Calls, call)
		result = c.ran(call) || result
	}
	after, moved := evidence.SinceMove(c.Calls)
	if c.Calls = after; !moved && c.Frame != "" && c.Frame != frame { // it moved in a way that the calls do not show
		c.Calls = nil
	}
	return result
}

// name records which model answered; empty: unknown.
func (c *SessionActivity) name(model string) {
	if model == "" || model == c.Model {
		return
	}
	if c.Model != "" && core.ModelName(model) != core.ModelName(c.Model) {
		c.RequestWindow = 0
	}
	c.Model, c.Window = model, 0
}

// AddRequest records a request of the conversation: the model that answered, empty if none did, and
// the tokens that the model takes by the request or its refusal; 0 if unknown. It keeps the
// host's name for the model, which may contain more.
func (c *SessionActivity) AddRequest(model string, window int) {
	if c.Model == "" || core.ModelName(model) != core.ModelName(c.Model) {
		c.name(model)
	}
	switch published, known := core.ModelWindow(model); {
	case window > 0:
		c.RequestWindow = window
	case known && c.RequestWindow > published: // only a request that asks for more gets it
		c.RequestWindow = 0
	}
}

// window returns the size of the model's context window in tokens; 0: unknown.
func (c *SessionActivity) window() int {
	published, _ := core.ModelWindow(c.Model)
	return cmp.Or(c.Window, c.RequestWindow, published)
}

// NoteModel is AddRequest for the SessionActivity of the step's session, unless the session has ended.
func NoteModel(s *project.Op, model string, window int) error {
	if s.NewSession || s.Session.State == core.SessionEnded {
		return nil
	}
	return UpdateScene(s, func(c *SessionActivity) { c.AddRequest(model, window) })
}

// ran records whether a command fails, and reports whether it passes after a failure.
func (c *SessionActivity) ran(call evidence.Call) (passes bool) {
	if call.Exit == nil {
		return false
	}
	i := slices.Index(c.FailingCommands, call.Input)
	if i >= 0 {
		c.FailingCommands = slices.Delete(c.FailingCommands, i, i+1)
	}
	if *call.Exit != 0 {
		c.FailingCommands = append(c.FailingCommands[max(0, len(c.FailingCommands)+1-maxRed):], call.Input)
	}
	return i >= 0 && *call.Exit == 0
}

// say adds a message, unless it is empty.
func (c *SessionActivity) say(role core.Role, text string) {
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	if half := maxMessage / 2; len(text) > maxMessage {
		if begin, end := core.Head(text, half), core.Tail(text, half); len(begin)+len(end) < len(text) {
			text = begin + "\n…\n" + end
		}
	}
	c.Recent = append(c.Recent[max(0, len(c.Recent)+1-maxRecent):], evidence.Message{Role: role, Text: text})
}

const recordActivity project.RecordKind[FrameActivity] = "frame.activity" // by frame

// FrameActivity is the observed work in one frame since its session moved there. The heuristics
// use it where the caller passes nothing.
type FrameActivity struct {
	Messages        int      `json:"messages"`
	Files           []string `json:"files,omitempty"` // changed, without repeats
	Errors          int      `json:"errors"`          // failed tool calls
	Tokens          int      `json:"tokens"`          // in the session's context now
	NoProgressTurns int      `json:"noProgressTurns"` // turns in a row that changed nothing
}

// Idle reports whether nothing has happened in the frame. The size of the context does not count.
func (a FrameActivity) Idle() bool { return a.Messages+a.Errors+a.NoProgressTurns+len(a.Files) == 0 }

// Enter has the caller's session work in a frame; empty: in none. What flame observed before
// in that frame speaks for nothing any more.
func Enter(s *project.Op, frame string) error {
	if frame == s.Session.Current {
		return nil
	}
	s.Session.Current = frame
	return recordActivity.Delete(s.Tx, frame)
}

// maxFiles limits the changed files recorded for one frame; the scores distinguish
// counts up to 6.
const maxFiles = 100

// UpdateActivity applies change to the FrameActivity of a frame.
func UpdateActivity(s *project.Op, frame string, change func(*FrameActivity)) error {
	return recordActivity.Change(s.Tx, frame, change)
}

// Touch adds changed files, except those that are known, until there are enough.
func (a *FrameActivity) Touch(changed []string) {
	for _, file := range changed {
		if file != "" && !slices.Contains(a.Files, file) && len(a.Files) < maxFiles {
			a.Files = append(a.Files, file)
		}
	}
}
