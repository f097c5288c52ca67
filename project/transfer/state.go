// Package transfer takes frames from one project to another: it exports and imports a whole
// project, in the first description's format, and is a project's part in a tree that several machines share.
package transfer

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"strings"

	"flame/core"
	"flame/core/op"
	"flame/project"
	"flame/project/usage"
	"flame/project/view"
)

// StateVersion is the version of the first description's state format.
const StateVersion = 1

// A State is a whole project in the first description's format: frames by id, under its names.
type State struct {
	Version       int                   `json:"version"`
	Frames        map[string]StateFrame `json:"frames"`
	ActiveFrameID string                `json:"activeFrameID,omitempty"`
	RootFrameIDs  []string              `json:"rootFrameIDs"`
	UpdatedAt     core.Millis           `json:"updatedAt"`

	// Requests are the requests to models, by host, and what they left out; not in exports.
	Requests []usage.HostMeter `json:"requests,omitempty"`
	// Metered are the requests that gateways measured, by host and class; not in exports.
	Metered []usage.ClassTotals `json:"metered,omitempty"`
}

// A StateFrame is a frame of a State. Extra holds members that neither the first description nor flame has;
// import and export keep these.
type StateFrame struct {
	core.Frame
	Extra map[string]json.RawMessage
}

// A stateJSON is a frame in JSON: under the first description's names where these differ from flame's, and
// without usage that is zero.
type stateJSON struct {
	SessionID         string `json:"sessionID"`
	ParentSessionID   string `json:"parentSessionID,omitempty"`
	CompactionSummary string `json:"compactionSummary,omitempty"`
	core.Frame
	Usage core.Usage `json:"usage,omitzero"`

	// These hide flame's names of the first three: in a file they are extra members.
	ID      json.RawMessage `json:"id,omitempty"`
	Parent  json.RawMessage `json:"parent,omitempty"`
	Summary json.RawMessage `json:"summary,omitempty"`
}

// MarshalJSON writes the frame with its extra members.
func (f StateFrame) MarshalJSON() ([]byte, error) {
	f.Artifacts, f.Decisions = append([]string{}, f.Artifacts...), append([]string{}, f.Decisions...) // never null
	own, err := json.Marshal(stateJSON{SessionID: f.ID, ParentSessionID: f.Parent, CompactionSummary: f.Summary, Frame: f.Frame, Usage: f.Usage})
	if err != nil || len(f.Extra) == 0 {
		return own, err
	}
	members := map[string]json.RawMessage{}
	maps.Copy(members, f.Extra)
	if err := json.Unmarshal(own, &members); err != nil {
		return nil, err
	}
	return json.Marshal(members)
}

// UnmarshalJSON reads a frame and keeps unknown members in Extra. Frames of the later
// reference have title and resultsCompacted in place of the first description's goal and
// compactionSummary; UnmarshalJSON uses these if the others are empty.
func (f *StateFrame) UnmarshalJSON(raw []byte) error {
	var in struct {
		stateJSON
		Title            string `json:"title"`
		ResultsCompacted string `json:"resultsCompacted"`
	}
	members := map[string]json.RawMessage{}
	if err := cmp.Or(json.Unmarshal(raw, &in), json.Unmarshal(raw, &members)); err != nil {
		return err
	}
	for _, known := range reflect.VisibleFields(reflect.TypeFor[stateJSON]()) {
		if name, _, _ := strings.Cut(known.Tag.Get("json"), ","); known.Type != reflect.TypeFor[json.RawMessage]() {
			delete(members, name)
		}
	}
	*f = StateFrame{Frame: in.Frame}
	f.ID, f.Parent, f.Usage = in.SessionID, in.ParentSessionID, in.Usage
	f.Goal, f.Summary = cmp.Or(f.Goal, in.Title), cmp.Or(in.CompactionSummary, in.ResultsCompacted)
	if len(members) > 0 {
		f.Extra = members
	}
	return nil
}

// recordImported, by frame, holds the members of an imported frame for which flame has no
// field.
const recordImported project.RecordKind[map[string]json.RawMessage] = "frame.imported"

// Snapshot returns the whole project; the active frame is the caller's current one. It
// refuses more than view.MaxWhole frames. It leaves out frames without an id, which the
// format cannot represent.
func Snapshot(ctx context.Context, p *project.Project, by project.Caller) (state State, err error) {
	err = p.View(ctx, by, func(s *project.Op) error {
		if state, err = empty(s); err != nil {
			return err
		}
		frames, err := s.Tx.FindFrames(project.FrameQuery{Archived: true, Limit: view.MaxWhole + 1})
		if err != nil {
			return err
		}
		if len(frames) > view.MaxWhole {
			return core.Invalidf("the project has more than %d frames, too many for one answer", view.MaxWhole).
				WithHint("`flame export FOLDER` writes them all; %s shows a part, %s finds some", op.Tree, op.Search)
		}
		for _, f := range frames {
			if f.ID == "" {
				continue
			}
			if state.Frames[f.ID], err = stateOf(s.Tx, f); err != nil {
				return err
			}
			if f.Parent == "" {
				state.RootFrameIDs = append(state.RootFrameIDs, f.ID)
			}
		}
		sessions, err := s.Tx.FindSessions(project.SessionQuery{})
		if err != nil {
			return err
		}
		if state.Requests, err = usage.RequestsByHost(s.Tx, sessions); err != nil {
			return err
		}
		state.Metered, err = usage.ByClass(s.Tx)
		return err
	})
	return state, err
}

// empty returns the state without its frames.
func empty(s *project.Op) (state State, err error) {
	state = State{Version: StateVersion, Frames: map[string]StateFrame{}, RootFrameIDs: []string{}}
	current, _, err := s.Current()
	if err != nil {
		return state, err
	}
	state.ActiveFrameID = current.ID
	_, state.UpdatedAt, err = s.Tx.Revision()
	return state, err
}

// stateOf returns a frame with the extra members that it was imported with.
func stateOf(tx project.Tx, f core.Frame) (StateFrame, error) {
	extra, err := recordImported.Find(tx, f.ID)
	return StateFrame{f, extra}, err
}
