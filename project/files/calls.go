package files

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/samber/lo"

	"flame/core"
	"flame/project"
)

// A Call is what a host tells of one call of a tool.
type Call struct {
	ID     string
	At     core.Millis
	Files  []core.FileChange
	Below  bool // a subagent of the session made it
	Asked  bool // it was made; how it ended is told later
	Failed bool // it changed nothing
}

// CallsOf returns what a message tells of calls that change files.
func CallsOf(m core.Message) (calls []Call) {
	below := m.Agent != "" || m.SpawnCall != "" // of these, hosts tell of a result only how it ended
	for _, p := range m.Parts {
		call := Call{ID: p.CallID, At: m.Time, Files: p.Files, Below: below, Failed: p.Failed}
		switch {
		case p.CallID == "":
		case p.Type == core.PartToolCall && len(p.Files) > 0:
			call.Asked = true
			calls = append(calls, call)
		case p.Type == core.PartToolResult && (below || len(p.Files) > 0):
			calls = append(calls, call)
		}
	}
	return calls
}

// known is what is known of the calls of a session.
type known struct {
	Noted []string `json:"noted,omitempty"` // ids of those that were taken in, the newest last
	Asked []asked  `json:"asked,omitempty"` // those whose end is not known, the newest last
}

// asked is a call whose end is not known.
type asked struct {
	ID    string            `json:"id"`
	Files []core.FileChange `json:"files"`
}

const (
	recordCalls project.Kind[known] = "files_calls" // by session

	maxNoted = 2000
	maxAsked = 20
)

// Add takes in what is told of calls of a session, each of them once: their changes are
// those of the frame that the session worked in at the time, by default of home. A frame
// that was deleted takes them with it.
func Add(s *project.Step, session, home string, calls []Call) error {
	if len(calls) == 0 {
		return nil
	}
	worked, err := project.TimelineOf(s.Tx, session)
	if err != nil {
		return err
	}
	return add(s, session, calls, func(at core.Millis) string { return worked.At(at, home) })
}

// Note takes in what a host tells of a call of the caller's that ended just now, once: it
// was made in the caller's frame. Without a frame nothing is kept.
func Note(ctx context.Context, p *project.Project, by project.Caller, call Call) error {
	if call.ID == "" || len(call.Files) == 0 {
		return nil
	}
	return p.Update(ctx, by, func(s *project.Step) error {
		frame, ok, err := s.Current()
		if err != nil || !ok {
			return err
		}
		return add(s, s.Session.ID, []Call{call}, func(core.Millis) string { return frame.ID })
	})
}

// add takes in calls, by the frames they were made in.
func add(s *project.Step, session string, calls []Call, frameAt func(core.Millis) string) error {
	var k known
	if _, err := recordCalls.Load(s.Tx, session, &k); err != nil {
		return err
	}
	byFrame, told := k.settle(calls, frameAt)
	if !told {
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(byFrame)) {
		frame, err := s.Tx.Frame(id)
		if errors.Is(err, core.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if err := errors.Join(note(s.Tx, id, byFrame[id]), artifacts(s, frame, byFrame[id])); err != nil {
			return err
		}
	}
	return recordCalls.Save(s.Tx, session, k)
}

// artifacts records what was written as artifacts of the frame, which a host's event does
// before, if it comes. Artifacts of a frame that another machine writes are up to that.
func artifacts(s *project.Step, frame core.Frame, changes []core.FileChange) error {
	if frame.Foreign() || frame.Status == core.Invalidated {
		return nil
	}
	written := lo.FilterMap(changes, func(c core.FileChange, _ int) (string, bool) { return c.Path, c.Kind != core.FileDeleted })
	return s.AddArtifacts(&frame, written)
}

// settle returns what calls that were not known changed, by the frames they were made in,
// and reports whether it learned anything.
func (k *known) settle(calls []Call, frameAt func(core.Millis) string) (byFrame map[string][]core.FileChange, told bool) {
	byFrame, noted := map[string][]core.FileChange{}, map[string]bool{}
	for _, id := range k.Noted {
		noted[id] = true
	}
	for _, c := range calls {
		if noted[c.ID] {
			continue
		}
		i := slices.IndexFunc(k.Asked, func(a asked) bool { return a.ID == c.ID })
		switch {
		case c.Asked && i < 0:
			k.Asked, told = newest(append(k.Asked, asked{c.ID, c.Files}), maxAsked), true
		case c.Asked, i < 0 && len(c.Files) == 0:
		default:
			files := c.Files
			if i >= 0 {
				files = k.Asked[i].with(c.Files)
				k.Asked = slices.Delete(k.Asked, i, i+1)
			}
			if !c.Failed {
				frame := frameAt(c.At)
				byFrame[frame] = append(byFrame[frame], files...)
			}
			k.Noted, noted[c.ID], told = append(k.Noted, c.ID), true, true
		}
	}
	k.Noted = newest(k.Noted, maxNoted)
	return byFrame, told
}

// newest returns the last of all, at most this many.
func newest[T any](all []T, most int) []T { return all[max(0, len(all)-most):] }

// with returns what a call did, by what it asked for and what its result says. That may be
// no more than that there was no such file.
func (a asked) with(told []core.FileChange) []core.FileChange {
	if len(told) == 0 {
		return a.Files
	}
	if len(told) > 1 || len(a.Files) != 1 || told[0].Patch != "" {
		return told
	}
	one := a.Files[0]
	one.Kind, one.Inexact = told[0].Kind, told[0].Inexact
	return []core.FileChange{one}
}

// Forget drops what is known of a session's calls. What they changed stays with their
// frames.
func Forget(tx project.Tx, session string) error { return recordCalls.Delete(tx, session) }
