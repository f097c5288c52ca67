package merge

import (
	"maps"
	"reflect"
	"slices"

	"flame/core"
)

// Version is the version of documents written today.
const Version = 1

// A Doc holds everything known about one frame, and which machine wrote what.
type Doc struct {
	V         int                     `json:"v"`
	ID        string                  `json:"id"` // of the frame
	CreatedAt core.Millis             `json:"createdAt"`
	UpdatedAt core.Millis             `json:"updatedAt"` // the newest time that any machine saw
	Work      OwnerFields             `json:"work"`
	Artifacts []Entry                 `json:"artifacts,omitempty"` // by stamp
	Decisions []Entry                 `json:"decisions,omitempty"`
	Planned   []Entry                 `json:"plannedChildren,omitempty"` // ids
	Invalid   *Invalidation           `json:"invalid,omitempty"`
	Archived  ArchivedState           `json:"archived,omitzero"`
	Deleted   Timestamp               `json:"deleted,omitzero"` // see Gone
	Usage     map[string]MachineUsage `json:"usage,omitempty"`  // by machine
}

// OwnerFields holds the fields that only one machine writes: the machine whose session works in the
// frame, or that planned it.
type OwnerFields struct {
	Machine         string      `json:"machine"`
	Term            int64       `json:"term,omitempty"` // how often another machine took it over
	Stamp           Timestamp   `json:"stamp"`
	Parent          string      `json:"parent,omitempty"`
	Session         string      `json:"session,omitempty"` // of the host on that machine
	Status          core.Status `json:"status"`            // without regard to invalidations
	Goal            string      `json:"goal"`
	GoalIsDefault   bool        `json:"goalIsDefault,omitempty"`
	SuccessCriteria string      `json:"successCriteria,omitempty"`
	Summary         string      `json:"summary,omitempty"`
	Results         string      `json:"results,omitempty"`
	Confidence      *float64    `json:"confidence,omitempty"`
	StartedAt       core.Millis `json:"startedAt,omitempty"`
	EndedAt         core.Millis `json:"endedAt,omitempty"`
}

// An Entry is an element of a set.
type Entry struct {
	Text  string    `json:"text"`
	Stamp Timestamp `json:"stamp"` // of the first machine that added it
}

// An Invalidation says that a frame is no longer valid.
type Invalidation struct {
	Reason string      `json:"reason"`
	At     core.Millis `json:"at"`
	Stamp  Timestamp   `json:"stamp"`
}

// ArchivedState says since when a frame is shown only on demand.
type ArchivedState struct {
	At    core.Millis `json:"at"` // 0: not archived
	Stamp Timestamp   `json:"stamp"`
}

// MachineUsage is the usage of one machine in a frame.
type MachineUsage struct {
	Usage core.Usage `json:"usage"`
	Stamp Timestamp  `json:"stamp"`
}

// Equal reports whether two documents say the same. Both come from UpdateLocal, Merge, ApplyRemote or Parse,
// which return no empty lists.
func (d Doc) Equal(e Doc) bool { return reflect.DeepEqual(d, e) }

// Stamps returns all stamps of the document, in any order.
func (d Doc) Stamps() []Timestamp {
	all := []Timestamp{d.Work.Stamp, d.Archived.Stamp, d.Deleted}
	for _, e := range slices.Concat(d.Artifacts, d.Decisions, d.Planned) {
		all = append(all, e.Stamp)
	}
	if d.Invalid != nil {
		all = append(all, d.Invalid.Stamp)
	}
	for _, spent := range d.Usage {
		all = append(all, spent.Stamp)
	}
	return slices.DeleteFunc(all, Timestamp.IsZero)
}

// Frame returns the frame that a document describes, as machine stores it: the field Machine is
// empty if the frame is its own.
func (d Doc) Frame(machine string) core.Frame {
	w := d.Work
	f := core.Frame{
		ID: d.ID, Parent: w.Parent, Status: w.Status, Goal: w.Goal, GoalIsDefault: w.GoalIsDefault,
		SuccessCriteria: w.SuccessCriteria, Summary: w.Summary, Results: w.Results, Confidence: w.Confidence,
		Artifacts: texts(d.Artifacts), Decisions: texts(d.Decisions), PlannedChildren: texts(d.Planned),
		CreatedAt: d.CreatedAt, StartedAt: w.StartedAt, EndedAt: w.EndedAt, UpdatedAt: d.UpdatedAt, ArchivedAt: d.Archived.At,
		Usage: d.used(""),
	}
	if w.Machine == machine {
		f.Session = w.Session
	} else {
		f.Machine = w.Machine
	}
	if d.Invalid != nil {
		f.Status, f.EndedAt = core.Invalidated, d.Invalid.At
		f.InvalidationReason, f.InvalidatedAt = d.Invalid.Reason, d.Invalid.At
	}
	return f
}

// used adds up the usage of all machines but one.
func (d Doc) used(but string) (u core.Usage) {
	for _, machine := range slices.Sorted(maps.Keys(d.Usage)) { // a sum of fractions depends on the order
		if machine != but {
			u = u.Add(d.Usage[machine].Usage)
		}
	}
	return u
}

func texts(set []Entry) []string {
	var list []string
	for _, e := range set {
		list = append(list, e.Text)
	}
	return list
}
