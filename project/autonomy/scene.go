package autonomy

import (
	"cmp"
	"slices"
	"strings"

	"flame/core"
	"flame/core/judge"
	"flame/core/models"
	"flame/project"
)

// recordScene, by session, is what was seen of its conversation last. It goes when the
// session ends.
const recordScene project.Kind[Scene] = "scene"

// A Scene is what was seen of a session's conversation last: as much as a judgement takes,
// and no more.
type Scene struct {
	Recent []judge.Message `json:"recent,omitempty"` // the last ones, oldest first
	Calls  []judge.Call    `json:"calls,omitempty"`  // of the turn that ended last, oldest first; none while one goes on
	Files  []string        `json:"files,omitempty"`  // changed in the turn, without repeats
	Errors int             `json:"errors,omitempty"` // calls of the turn that failed
	Model  string          `json:"model,omitempty"`  // that answered last, by its host's name for it
	Window int             `json:"window,omitempty"` // tokens that the model takes, by its host; 0: unknown
	Told   int             `json:"told,omitempty"`   // likewise, by its requests and their answers; for where its host says nothing
	Red    []string        `json:"red,omitempty"`    // commands that failed, and did not pass since
	Known  bool            `json:"known,omitempty"`  // Calls and Recent are all there was to see of the turn that ended last
}

// Limits of what is kept, in characters where it is text.
const (
	maxRecent  = 4
	maxMessage = 2000 // its beginning and its end
	maxSeen    = 20   // calls
	maxInput   = 200  // its beginning
	maxOutput  = 300  // its end
	maxRed     = 20
)

// Seen is what a host shows of a turn beside the agent's last message.
type Seen struct {
	Calls   []judge.Call // the last ones, oldest first
	Stopped string       // the host's own words in the conversation where the turn was stopped; empty: it was not
	Tokens  int          // in the context; 0: not shown
	Model   string       // that answered, by the host's name for it; may be empty
	Window  int          // tokens that the model takes; 0: not shown
	Whole   bool         // it is all there is: a log may lag behind
}

// UpdateScene applies change to the Scene of the caller's session.
func UpdateScene(s *project.Step, change func(*Scene)) error {
	scene, err := sceneOf(s, s.Session.ID)
	if err != nil {
		return err
	}
	change(&scene)
	return recordScene.Save(s.Tx, s.Session.ID, scene)
}

func sceneOf(s *project.Step, session string) (scene Scene, err error) {
	_, err = recordScene.Load(s.Tx, session, &scene)
	return scene, err
}

// SceneKnown reports whether all was seen of the turn of the caller's session that ended
// last.
func SceneKnown(s *project.Step) (bool, error) {
	scene, err := sceneOf(s, s.Session.ID)
	return scene.Known, err
}

// Begin notes that a turn begins, with a prompt of the user's if there is one.
func (c *Scene) Begin(prompt string) {
	c.Calls, c.Files, c.Errors, c.Known = nil, nil, 0, false
	c.say(core.RoleUser, prompt)
}

// Answered reports whether what was said last is the agent's.
func (c *Scene) Answered() bool {
	return len(c.Recent) > 0 && c.Recent[len(c.Recent)-1].Role == core.RoleAssistant
}

// End notes how the turn ended, and reports whether it brought a result: a command that
// passes and did not before.
func (c *Scene) End(last string, seen Seen) (result bool) {
	c.say(core.RoleAssistant, last)
	return c.Look(seen)
}

// Look notes what a host shows of the turn that ended, and reports whether it brought a
// result.
func (c *Scene) Look(seen Seen) (result bool) {
	c.say(core.RoleUser, seen.Stopped)
	c.Calls, c.Known = nil, seen.Whole
	c.name(seen.Model)
	c.Window = cmp.Or(seen.Window, c.Window)
	for _, call := range seen.Calls[max(0, len(seen.Calls)-maxSeen):] {
		call.Input, call.Output = core.Head(call.Input, maxInput), core.Tail(call.Output, maxOutput)
		c.Calls = append(c.Calls, call)
		result = c.ran(call) || result
	}
	return result
}

// name notes which model answered; empty: unknown.
func (c *Scene) name(model string) {
	if model == "" || model == c.Model {
		return
	}
	if c.Model != "" && models.Name(model) != models.Name(c.Model) {
		c.Told = 0
	}
	c.Model, c.Window = model, 0
}

// Ask notes a request of the conversation: the model that answered, empty if none did, and
// the tokens that it takes, as the request or its refusal says; 0 if they say nothing. The
// host's name for the model, which may say more, is kept.
func (c *Scene) Ask(model string, window int) {
	if c.Model == "" || models.Name(model) != models.Name(c.Model) {
		c.name(model)
	}
	switch published, known := models.Window(model); {
	case window > 0:
		c.Told = window
	case known && c.Told > published: // only a request that asks for more gets it
		c.Told = 0
	}
}

// NoteModel is Ask for the Scene of the step's session, unless that has ended.
func NoteModel(s *project.Step, model string, window int) error {
	if s.Fresh || s.Session.State == core.SessionEnded {
		return nil
	}
	scene, err := sceneOf(s, s.Session.ID)
	if err != nil {
		return err
	}
	name, known, told := scene.Model, scene.Window, scene.Told
	if scene.Ask(model, window); scene.Model == name && scene.Window == known && scene.Told == told {
		return nil
	}
	return recordScene.Save(s.Tx, s.Session.ID, scene)
}

// ran keeps whether a command fails, and reports whether it no longer does.
func (c *Scene) ran(call judge.Call) (passes bool) {
	if call.Exit == nil {
		return false
	}
	i := slices.Index(c.Red, call.Input)
	if i >= 0 {
		c.Red = slices.Delete(c.Red, i, i+1)
	}
	if *call.Exit != 0 {
		c.Red = append(c.Red[max(0, len(c.Red)+1-maxRed):], call.Input)
	}
	return i >= 0 && *call.Exit == 0
}

// say adds a message, unless it is empty.
func (c *Scene) say(role core.Role, text string) {
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	if half := maxMessage / 2; len(text) > maxMessage {
		if begin, end := core.Head(text, half), core.Tail(text, half); len(begin)+len(end) < len(text) {
			text = begin + "\n…\n" + end
		}
	}
	c.Recent = append(c.Recent[max(0, len(c.Recent)+1-maxRecent):], judge.Message{Role: role, Text: text})
}

// addFile counts a file that was changed in the turn, once.
func (c *Scene) addFile(file string) { c.Files = addOnce(c.Files, file) }
