package children

import (
	"cmp"
	"context"
	"errors"

	"flame/core"
	"flame/project"
	"flame/project/briefing"
	"flame/project/stack"
)

// recordSpawn, by the host's id of the call, is a child that a session asked for.
const recordSpawn project.RecordKind[RequestedChild] = "spawn"

// A RequestedChild is a child that a session asked its host for. Flame makes its frame at once, and
// learns the id of its session later.
type RequestedChild struct {
	Parent string `json:"parent"` // session that asked
	Host   string `json:"host,omitempty"`
	Title  string `json:"title"`           // of the child's session
	Frame  string `json:"frame,omitempty"` // of the child; empty until the heuristics pass
	Child  string `json:"child,omitempty"` // its session, once known

	At         core.Millis `json:"at,omitempty"`         // when the session asked for it
	Watched    bool        `json:"watched,omitempty"`    // it counts as detected
	Background bool        `json:"background,omitempty"` // it continues when its parent's turn ends
	Over       bool        `json:"over,omitempty"`       // it has ended: its parent's turn is known to have ended
}

// A SpawnCall is a call by which an agent asks its host for a child.
type SpawnCall struct {
	ID          string // the host's, unique
	Description string // the child's task, in a few words
	AgentType   string
	Prompt      string
}

// maxPrompt is the length in tokens to which flame cuts the prompt of a child in its event.
const maxPrompt = 500

// Spawn records that the caller asks for a child. If the child's title is that of a
// subagent, Spawn makes its frame below the caller's current frame. Spawn returns the first
// context of the child, which may be empty. A repeated call changes nothing.
func Spawn(ctx context.Context, p *project.Project, by project.Caller, call SpawnCall) (first string, err error) {
	err = p.Update(ctx, by, func(s *project.Op) error {
		known, there, err := recordSpawn.Get(s.Tx, call.ID)
		if err == nil && !there {
			known, err = ask(s, call)
		}
		if err == nil {
			first, err = childContext(s, known.Frame, 0)
		}
		return err
	})
	return first, err
}

func ask(s *project.Op, call SpawnCall) (made RequestedChild, err error) {
	parent, err := spawnParent(s)
	if err != nil {
		return made, err
	}
	config, err := s.SubagentConfig()
	if err != nil {
		return made, err
	}
	made = RequestedChild{
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

// detect counts a child that a session asked for, writes its event, and makes its frame if
// its title is that of a subagent.
func detect(s *project.Op, made *RequestedChild, call SpawnCall, parent string, config core.SubagentConfig) error {
	patterns, _ := core.CompilePatterns(config.SubagentPatterns) // invalid ones match nothing
	matched := patterns.Match(made.Title)
	if matched {
		frame, err := s.Create(core.Frame{Parent: parent, Goal: core.SubagentGoal(made.Title), Status: core.InProgress})
		if err != nil {
			return err
		}
		made.Frame = frame.ID
	}
	if err := countDetected(s, made.Title, matched); err != nil {
		return err
	}
	prompt, _ := core.Truncate(call.Prompt, maxPrompt, "...")
	return s.Emit(core.SubagentDetected, made.Frame, map[string]any{
		"title": made.Title, "matched": matched, "agentType": call.AgentType, "prompt": prompt, "toolUseId": call.ID,
	})
}

// RequestedChildren returns the children that sessions asked their hosts for.
func RequestedChildren(tx project.Tx) ([]RequestedChild, error) { return recordSpawn.All(tx) }

// spawnParent returns the id of the frame below which the caller's children get their
// frames. If the caller is a child that is not worth a frame, that is its parent's frame.
func spawnParent(s *project.Op) (string, error) {
	frameless, err := s.HasNoFrame()
	if err != nil {
		return "", err
	}
	if frameless {
		return s.ParentFrame()
	}
	return stack.PushParent(s)
}

// childContext returns the first context of a child in frame; empty if the settings give
// children none.
func childContext(s *project.Op, frame string, maxChars int) (string, error) {
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

// A ChildStart says which session is the child that a call asked for.
type ChildStart struct {
	Call       string // the host's id of the call
	Session    string // of the child
	Transcript string // path of the host's log of the child; empty without one
}

// BindSession records the session of the child that a call asked for, and reports whether the call
// is known. It has flame count the log of a child without a frame, to see whether the child
// is worth one. A repeated call changes nothing.
func BindSession(ctx context.Context, p *project.Project, by project.Caller, child ChildStart) (known bool, err error) {
	err = p.Update(ctx, by, func(s *project.Op) error {
		known, err = bind(s, child)
		return err
	})
	return known, err
}

// BindByType is Bind for a child of which flame knows only the type. It does nothing unless
// exactly one such child, asked for in the caller's session or below it, has no session yet.
func BindByType(ctx context.Context, p *project.Project, by project.Caller, agentType string, child ChildStart) error {
	return p.Run(ctx, by, func(s *project.Op) error {
		var calls []string
		err := recordSpawn.Each(s.Tx, func(call string, asked RequestedChild) error {
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
			return err
		}
		child.Call = calls[0]
		return s.Change(func(s *project.Op) error {
			_, err := bind(s, child)
			return err
		})
	})
}

// isBelow reports whether a session is the caller's, or below it or the session that the caller is
// a subagent of.
func isBelow(s *project.Op, id string) (bool, error) {
	below, _, err := s.IsBelow(id, s.Session.ID, s.Caller.Parent)
	return below, err
}

// BindBackground is Bind for a child that runs in the background: it continues when the turn of its
// parent ends or is interrupted.
func BindBackground(ctx context.Context, p *project.Project, by project.Caller, child ChildStart) error {
	return p.Update(ctx, by, func(s *project.Op) error {
		if _, err := bind(s, child); err != nil {
			return err
		}
		asked, there, err := recordSpawn.Get(s.Tx, child.Call)
		if err != nil || !there || asked.Background {
			return err
		}
		asked.Background = true
		return recordSpawn.Save(s.Tx, child.Call, asked)
	})
}

func bind(s *project.Op, child ChildStart) (bool, error) {
	asked, there, err := recordSpawn.Get(s.Tx, child.Call)
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
	return true, s.AsSession(session, func(s *project.Op) error {
		if err := watch(s, asked.Watched); err != nil {
			return err
		}
		return errors.Join(countedByCall(s, asked), s.ReparentRoot(own, asked.Frame), lookLater(s, child.Transcript))
	})
}

// countedByCall records in the caller's session how flame counted it while it knew only the
// call that asked for it.
func countedByCall(s *project.Op, asked RequestedChild) error {
	if !asked.Watched {
		return nil
	}
	framed := asked.Frame != ""
	s.Session.Skipped = s.Session.Skipped || asked.Over && !framed
	return errors.Join(noteCounted(s, framed, asked.Over && framed), countFramed(s))
}

// adoptFrame gives the child's session the frame that flame made for it.
func adoptFrame(s *project.Op, session *core.Session, asked RequestedChild) error {
	if asked.Frame == "" {
		return nil
	}
	frame, err := s.Tx.Frame(asked.Frame)
	if err != nil || frame.IsRemote() {
		return project.IgnoreMissing(err)
	}
	if session.Current == "" {
		session.Current = frame.ID
	}
	session.Root, frame.Session = frame.ID, session.ID
	return s.Tx.SaveFrame(frame)
}
