// Package transfer exports and imports a whole project, in the seeds' format.
package transfer

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"strings"

	"flame/core"
	"flame/core/op"
	"flame/project"
	"flame/project/conversation"
	"flame/project/usage"
	"flame/project/view"
)

// StateVersion is the version of the seeds' state format.
const StateVersion = 1

// A State is a whole project in the seeds' format (seeds, plugin
// documentation): frames by id, under the seeds' names.
type State struct {
	Version       int                   `json:"version"`
	Frames        map[string]StateFrame `json:"frames"`
	ActiveFrameID string                `json:"activeFrameID,omitempty"`
	RootFrameIDs  []string              `json:"rootFrameIDs"`
	UpdatedAt     core.Millis           `json:"updatedAt"`

	// Requests are the requests to models, by host, and what they left out; not in exports.
	Requests []conversation.HostMeter `json:"requests,omitempty"`
	// Metered are the requests that gateways measured, by host and class; not in exports.
	Metered []usage.ClassTotals `json:"metered,omitempty"`
}

// A StateFrame is a frame under the seeds' names. Fields that the seeds lack have flame's
// names. Extra holds members that neither of them has; import and export keep these.
type StateFrame struct {
	SessionID          string      `json:"sessionID"`
	ParentSessionID    string      `json:"parentSessionID,omitempty"`
	Status             core.Status `json:"status"`
	Goal               string      `json:"goal"`
	CreatedAt          core.Millis `json:"createdAt"`
	UpdatedAt          core.Millis `json:"updatedAt"`
	Artifacts          []string    `json:"artifacts"`
	Decisions          []string    `json:"decisions"`
	CompactionSummary  string      `json:"compactionSummary,omitempty"`
	LogPath            string      `json:"logPath,omitempty"`
	InvalidationReason string      `json:"invalidationReason,omitempty"`
	InvalidatedAt      core.Millis `json:"invalidatedAt,omitempty"`
	PlannedChildren    []string    `json:"plannedChildren,omitempty"`

	Machine         string      `json:"machine,omitempty"` // not imported: a frame belongs to the machine that works in it
	Session         string      `json:"session,omitempty"`
	GoalIsDefault   bool        `json:"goalIsDefault,omitempty"`
	SuccessCriteria string      `json:"successCriteria,omitempty"`
	Results         string      `json:"results,omitempty"`
	Confidence      *float64    `json:"confidence,omitempty"`
	StartedAt       core.Millis `json:"startedAt,omitempty"`
	EndedAt         core.Millis `json:"endedAt,omitempty"`
	ArchivedAt      core.Millis `json:"archivedAt,omitempty"`
	Usage           *core.Usage `json:"usage,omitempty"`

	Extra map[string]json.RawMessage `json:"-"`
}

// plainStateFrame is StateFrame without its JSON methods.
type plainStateFrame StateFrame

// MarshalJSON writes the frame with its extra members.
func (f StateFrame) MarshalJSON() ([]byte, error) {
	own, err := json.Marshal(plainStateFrame(f))
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
// reference have title and resultsCompacted in place of the seeds' goal and
// compactionSummary; UnmarshalJSON uses these if the others are empty.
func (f *StateFrame) UnmarshalJSON(raw []byte) error {
	var plain plainStateFrame
	if err := json.Unmarshal(raw, &plain); err != nil {
		return err
	}
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &members); err != nil {
		return err
	}
	var later struct {
		Title            string `json:"title"`
		ResultsCompacted string `json:"resultsCompacted"`
	}
	if err := json.Unmarshal(raw, &later); err != nil {
		return err
	}
	*f = StateFrame(plain)
	if f.Goal == "" {
		f.Goal = later.Title
	}
	if f.CompactionSummary == "" {
		f.CompactionSummary = later.ResultsCompacted
	}
	for _, known := range reflect.VisibleFields(reflect.TypeFor[StateFrame]()) {
		name, _, _ := strings.Cut(known.Tag.Get("json"), ",")
		delete(members, name)
	}
	if len(members) > 0 {
		f.Extra = members
	}
	return nil
}

// recordImported, by frame, holds the members of an imported frame for which flame has no
// field.
const recordImported project.RecordKind[map[string]json.RawMessage] = "frame.imported"

func toState(f core.Frame) StateFrame {
	state := StateFrame{
		SessionID: f.ID, ParentSessionID: f.Parent, Status: f.Status, Goal: f.Goal,
		CreatedAt: f.CreatedAt, UpdatedAt: f.UpdatedAt, Artifacts: f.Artifacts, Decisions: f.Decisions,
		CompactionSummary: f.Summary, LogPath: f.LogPath, InvalidationReason: f.InvalidationReason,
		InvalidatedAt: f.InvalidatedAt, PlannedChildren: f.PlannedChildren, Machine: f.Machine, Session: f.Session,
		GoalIsDefault: f.GoalIsDefault, SuccessCriteria: f.SuccessCriteria, Results: f.Results,
		Confidence: f.Confidence, StartedAt: f.StartedAt, EndedAt: f.EndedAt, ArchivedAt: f.ArchivedAt,
	}
	if f.Usage != (core.Usage{}) {
		state.Usage = &f.Usage
	}
	if state.Artifacts == nil {
		state.Artifacts = []string{}
	}
	if state.Decisions == nil {
		state.Decisions = []string{}
	}
	return state
}

func fromState(s StateFrame) core.Frame {
	f := core.Frame{
		ID: s.SessionID, Parent: s.ParentSessionID, Status: s.Status, Goal: s.Goal,
		CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt, Artifacts: s.Artifacts, Decisions: s.Decisions,
		Summary: s.CompactionSummary, LogPath: s.LogPath, InvalidationReason: s.InvalidationReason,
		InvalidatedAt: s.InvalidatedAt, PlannedChildren: s.PlannedChildren, Session: s.Session,
		GoalIsDefault: s.GoalIsDefault, SuccessCriteria: s.SuccessCriteria, Results: s.Results,
		Confidence: s.Confidence, StartedAt: s.StartedAt, EndedAt: s.EndedAt, ArchivedAt: s.ArchivedAt,
	}
	if s.Usage != nil {
		f.Usage = *s.Usage
	}
	return f
}

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
		if state.Requests, err = conversation.ByHost(s.Tx, sessions); err != nil {
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
	state := toState(f)
	_, err := recordImported.Load(tx, f.ID, &state.Extra)
	return state, err
}
