package usage

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/samber/lo"

	"flame/core"
	"flame/project"
)

// A FileCall is what a host reports about one call of a tool.
type FileCall struct {
	ID     string
	At     core.Millis
	Files  []core.FileChange
	Below  bool // a subagent of the session made it
	Asked  bool // it began; the host reports its end later
	Failed bool // it changed nothing
}

// FileCallsOf returns the calls in a message that change files.
func FileCallsOf(m core.Message) (calls []FileCall) {
	below := m.Agent != "" || m.SpawnCall != "" // for results of these, hosts report only how the call ended
	for _, p := range m.Parts {
		call := FileCall{ID: p.CallID, At: m.Time, Files: p.Files, Below: below, Failed: p.Failed}
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

// known is the record of a session's calls.
type known struct {
	Noted []string `json:"noted,omitempty"` // ids of calls that flame has recorded, the newest last
	Asked []asked  `json:"asked,omitempty"` // calls whose end is unknown, the newest last
}

// asked is a call whose end is unknown.
type asked struct {
	ID    string            `json:"id"`
	Files []core.FileChange `json:"files"`
}

const (
	recordCalls project.RecordKind[known] = "calls.files" // by session

	maxNoted = 2000
	maxAsked = 20
)

// AddFiles records reported calls of a session, each of them once: their changes belong to the
// frame in which the session worked at the time, by default to home. It drops changes in a
// deleted frame.
func AddFiles(s *project.Op, session, home string, calls []FileCall) error {
	if len(calls) == 0 {
		return nil
	}
	worked, err := project.RecordWorked.Find(s.Tx, session)
	if err != nil {
		return err
	}
	return addCalls(s, session, calls, func(at core.Millis) string { return worked.At(at, home) })
}

// NoteFileCall records a call of the caller that a host reports as just ended, once. The call belongs
// to the caller's frame; without a frame Note records nothing.
func NoteFileCall(ctx context.Context, p *project.Project, by project.Caller, call FileCall) error {
	if call.ID == "" || len(call.Files) == 0 {
		return nil
	}
	return p.Update(ctx, by, func(s *project.Op) error {
		frame, ok, err := s.Current()
		if err != nil || !ok {
			return err
		}
		return addCalls(s, s.Session.ID, []FileCall{call}, func(core.Millis) string { return frame.ID })
	})
}

// addCalls records calls in the frames that frameAt returns.
func addCalls(s *project.Op, session string, calls []FileCall, frameAt func(core.Millis) string) error {
	k, err := recordCalls.Find(s.Tx, session)
	if err != nil {
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
		if err := errors.Join(noteFiles(s.Tx, id, byFrame[id]), artifacts(s, frame, byFrame[id])); err != nil {
			return err
		}
	}
	return recordCalls.Save(s.Tx, session, k)
}

// artifacts records written files as artifacts of the frame, in case no event of the host did
// so before. It leaves a frame of another machine to that machine.
func artifacts(s *project.Op, frame core.Frame, changes []core.FileChange) error {
	if frame.IsRemote() || frame.Status == core.Invalidated {
		return nil
	}
	written := lo.FilterMap(changes, func(c core.FileChange, _ int) (string, bool) { return c.Path, c.Kind != core.FileDeleted })
	return s.AddArtifacts(&frame, written)
}

// settle returns the changes by new calls, by the frames in which they were made, and reports
// whether it learned anything.
func (k *known) settle(calls []FileCall, frameAt func(core.Millis) string) (byFrame map[string][]core.FileChange, told bool) {
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

// newest returns the last items of a list, at most this many.
func newest[T any](all []T, most int) []T { return all[max(0, len(all)-most):] }

// with returns the changes of a call, from its arguments and its result. The result may only
// say that the file did not exist before.
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
