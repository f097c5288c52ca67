package children

import (
	"cmp"
	"context"
	"errors"

	"flame/core"
	"flame/project"
	"flame/project/briefing"
	"flame/project/learned"
	"flame/project/stack"
)

// recordSpawn, by the host's id of the call, is a child that a session asked for.
const recordSpawn project.Kind[spawn] = "spawn"

// A spawn is a child that was asked for. Its frame is made at once; the id of its session
// is known only later.
type spawn struct {
	Parent string `json:"parent"` // session that asked
	Host   string `json:"host,omitempty"`
	Title  string `json:"title"`           // of the child's session
	Frame  string `json:"frame,omitempty"` // made for it; empty until the heuristics pass
	Child  string `json:"child,omitempty"` // its session, once known

	At         core.Millis `json:"at,omitempty"`         // when it was asked for
	Watched    bool        `json:"watched,omitempty"`    // it counts as detected
	Background bool        `json:"background,omitempty"` // it runs on when its parent's turn ends
	Over       bool        `json:"over,omitempty"`       // its parent's turn is known to have ended, so it has as well
}

// A Call is a call by which an agent asks its host for a child.
type Call struct {
	ID          string // the host's, unique
	Description string // what the child is to do, in a few words
	AgentType   string
	Prompt      string
}

// maxPrompt is the length in tokens to which the prompt of a child is cut in its event.
const maxPrompt = 500

// Spawn records that the caller asks for a child. If the child's title is that of a
// subagent, its frame is made below the caller's current one. Spawn returns the context
// for the child to begin with, which may be empty. The same call again changes nothing.
func Spawn(ctx context.Context, p *project.Project, by project.Caller, call Call) (context string, err error) {
	err = p.Update(ctx, by, func(s *project.Step) error {
		var known spawn
		there, err := recordSpawn.Load(s.Tx, call.ID, &known)
		if err != nil {
			return err
		}
		if !there {
			if known, err = ask(s, call); err != nil {
				return err
			}
		}
		context, err = childContext(s, known.Frame, 0)
		return err
	})
	return context, err
}

func ask(s *project.Step, call Call) (made spawn, err error) {
	parent, err := spawnParent(s)
	if err != nil {
		return made, err
	}
	config, err := s.SubagentConfig()
	if err != nil {
		return made, err
	}
	made = spawn{
		Parent: s.Session.ID, Host: s.Session.Host, At: s.Now, Watched: config.Enabled,
		Title: core.SubagentTitle(core.OneLine(call.Description, project.MaxTitle), call.AgentType),
	}
	if made.Watched {
		if err := detect(s, &made, call, parent, config); err != nil {
			return made, err
		}
	}
	return made, recordSpawn.Save(s.Tx, call.ID, made)
}

// detect counts a child that was asked for, tells of it, and makes its frame if its title
// is that of a subagent.
func detect(s *project.Step, made *spawn, call Call, parent string, config core.SubagentConfig) error {
	matched, err := learned.MatchesTitle(s, config, made.Title)
	if err != nil {
		return err
	}
	if matched {
		frame, err := s.Create(core.Frame{Parent: parent, Goal: core.SubagentGoal(made.Title), Status: core.InProgress})
		if err != nil {
			return err
		}
		made.Frame = frame.ID
	}
	if err := countDetected(s, matched); err != nil {
		return err
	}
	prompt, _ := core.Truncate(call.Prompt, maxPrompt, "...")
	return s.Emit(core.SubagentDetected, made.Frame, map[string]any{
		"title": made.Title, "matched": matched, "agentType": call.AgentType, "prompt": prompt, "toolUseId": call.ID,
	})
}

// An Asked is a child that a session asked its host for.
type Asked struct {
	Parent  string // session that asked
	Title   string // of the child's session
	Frame   string // made for it; may be empty
	Session string // of the child, once known
}

// AllAsked returns the children that sessions asked their hosts for.
func AllAsked(tx project.Tx) (all []Asked, err error) {
	err = recordSpawn.Each(tx, func(_ string, s spawn) error {
		all = append(all, Asked{Parent: s.Parent, Title: s.Title, Frame: s.Frame, Session: s.Child})
		return nil
	})
	return all, err
}

// spawnParent returns the id of the frame below which the caller's children get theirs.
// The children of a child that is not worth a frame get theirs beside it.
func spawnParent(s *project.Step) (string, error) {
	frameless, err := s.Frameless()
	if err != nil {
		return "", err
	}
	if frameless {
		return s.ParentFrame()
	}
	return stack.PushParent(s)
}

// childContext returns the context that a child in frame begins with; empty if the
// settings give children none.
func childContext(s *project.Step, frame string, maxChars int) (string, error) {
	config, err := s.SubagentConfig()
	if err != nil || frame == "" || !config.InjectParentContext {
		return "", err
	}
	f, err := s.Tx.Frame(frame)
	if err != nil {
		return "", project.IgnoreMissing(err)
	}
	return briefing.ContextOf(s, f, maxChars)
}

// A Start says which session is the child that a call asked for.
type Start struct {
	Call       string // the host's id of the call
	Session    string // of the child
	Transcript string // path of the host's log of the child; empty without one
}

// Bind records the session of the child that a call asked for, and reports whether the
// call is known. The log of a child without a frame is counted, to see what it is worth.
// A repeated call changes nothing.
func Bind(ctx context.Context, p *project.Project, by project.Caller, child Start) (known bool, err error) {
	err = p.Update(ctx, by, func(s *project.Step) error {
		known, err = bind(s, child)
		return err
	})
	return known, err
}

// BindOnly is Bind for a child of which only the type is known: it does nothing unless
// exactly one child of that type was asked for, in the caller's session or below it, and
// has no session yet.
func BindOnly(ctx context.Context, p *project.Project, by project.Caller, agentType string, child Start) error {
	return p.Consider(ctx, by, func(s *project.Step) (func(*project.Step) error, error) {
		var calls []string
		err := recordSpawn.Each(s.Tx, func(call string, asked spawn) error {
			if asked.Child != "" || asked.Over || core.SubagentType(asked.Title) != agentType {
				return nil
			}
			mine, err := isBelow(s, asked.Parent)
			if mine {
				calls = append(calls, call)
			}
			return err
		})
		if err != nil || len(calls) != 1 {
			return nil, err
		}
		child.Call = calls[0]
		return func(s *project.Step) error {
			_, err := bind(s, child)
			return err
		}, nil
	})
}

// maxNested is how deep children are nested at most.
const maxNested = 32

// isBelow reports whether a session is the caller's, or below it.
func isBelow(s *project.Step, id string) (bool, error) {
	for range maxNested {
		if id == s.Session.ID || id == "" {
			return id != "", nil
		}
		session, err := s.Tx.Session(id)
		if err != nil {
			return false, project.IgnoreMissing(err)
		}
		id = session.Parent
	}
	return false, nil
}

// Launched is Bind for a child that runs in the background: it runs on when the turn of
// its parent ends, or is interrupted.
func Launched(ctx context.Context, p *project.Project, by project.Caller, child Start) error {
	return p.Update(ctx, by, func(s *project.Step) error {
		if _, err := bind(s, child); err != nil {
			return err
		}
		var asked spawn
		there, err := recordSpawn.Load(s.Tx, child.Call, &asked)
		if err != nil || !there || asked.Background {
			return err
		}
		asked.Background = true
		return recordSpawn.Save(s.Tx, child.Call, asked)
	})
}

// Bound reports whether the session of a child is known, and whether it has a
// frame.
func Bound(ctx context.Context, p *project.Project, child string) (bound, framed bool, err error) {
	err = p.Store.View(ctx, func(tx project.Tx) error {
		session, err := tx.Session(child)
		framed = session.HasFrame()
		bound = session.Tracked || framed
		return project.IgnoreMissing(err)
	})
	return bound, framed, err
}

func bind(s *project.Step, child Start) (bool, error) {
	var asked spawn
	there, err := recordSpawn.Load(s.Tx, child.Call, &asked)
	if err != nil || !there || asked.Child != "" || child.Session == "" {
		return there, err
	}
	asked.Child = child.Session
	if err := recordSpawn.Save(s.Tx, child.Call, asked); err != nil {
		return true, err
	}
	session, err := s.Tx.Session(child.Session)
	if errors.Is(err, core.ErrNotFound) {
		session, err = core.Session{ID: child.Session, CreatedAt: cmp.Or(asked.At, s.Now), State: core.SessionActive}, nil
	}
	if err != nil {
		return true, err
	}
	session.Parent, session.Host, session.Title, session.LastActivityAt = asked.Parent, asked.Host, asked.Title, s.Now
	own := session.Root
	if err := adoptFrame(s, &session, asked); err != nil {
		return true, err
	}
	return true, s.As(session, func(s *project.Step) error {
		if err := watch(s, asked.Watched); err != nil {
			return err
		}
		return errors.Join(countedByCall(s, asked), s.MoveBelow(own, asked.Frame), lookLater(s, child.Transcript))
	})
}

// countedByCall notes of the caller's session what was counted of it by the call that
// asked for it.
func countedByCall(s *project.Step, asked spawn) error {
	if !asked.Watched {
		return nil
	}
	framed := asked.Frame != ""
	s.Session.Skipped = s.Session.Skipped || asked.Over && !framed
	return errors.Join(noteCounted(s, framed, asked.Over && framed), countFramed(s))
}

// adoptFrame gives the child's session the frame that was made for it.
func adoptFrame(s *project.Step, session *core.Session, asked spawn) error {
	if asked.Frame == "" {
		return nil
	}
	frame, err := s.Tx.Frame(asked.Frame)
	if err != nil || frame.Foreign() {
		return project.IgnoreMissing(err)
	}
	if session.Current == "" {
		session.Current = frame.ID
	}
	session.Root, frame.Session = frame.ID, session.ID
	return s.Tx.SaveFrame(frame)
}
