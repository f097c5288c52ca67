package transfer

import (
	"cmp"
	"slices"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/merge"
)

// A remoteEvents writes the events about another machine's changes of a frame, like the operations
// of this machine.
type remoteEvents struct {
	b        *batch // that writes them
	doc      merge.Doc
	was, is  core.Frame
	here     string            // id of this machine
	previous map[string]string // our texts that are gone; the next event contains them
	err      error
}

// tell writes the events. there says whether the frame existed.
func (t *remoteEvents) tell(there bool) error {
	by := t.doc.Work.Machine
	if !there {
		t.begin(by)
	}
	if there {
		t.added("artifacts", t.was.Artifacts, t.doc.Artifacts)
	}
	t.added("decisions", t.was.Decisions, t.doc.Decisions)
	t.note()
	if there && t.is.Goal != t.was.Goal {
		t.event(core.FrameUpdated, by, map[string]any{"fields": []string{"goal"}, "goal": t.is.Goal})
	}
	summed := t.move(by, there)
	if there {
		t.others(by, summed)
	}
	return t.err
}

// event writes an event about a change by a machine.
func (t *remoteEvents) event(kind, machine string, data map[string]any) {
	if machine != "" {
		data["machine"] = machine
	}
	if len(t.previous) > 0 {
		data["previous"], t.previous = t.previous, nil
	}
	e, err := t.b.s.Event(kind, t.is.ID, data)
	t.b.events = append(t.b.events, e)
	if t.err == nil {
		t.err = err
	}
}

// begin writes the event of a new frame.
func (t *remoteEvents) begin(by string) {
	kind := core.FrameCreated
	if t.was.Status = core.InProgress; t.is.Status == core.Planned || t.doc.Work.Status == core.Planned {
		kind, t.was.Status = core.FramePlanned, core.Planned
	}
	t.was.Machine, t.was.Summary = t.is.Machine, t.is.Summary
	t.event(kind, by, map[string]any{"goal": t.is.Goal, "parent": t.is.Parent})
}

// note keeps the old texts of a frame of ours that another machine took over and changed, or
// changed in our name.
func (t *remoteEvents) note() {
	if t.was.IsRemote() {
		return
	}
	t.previous = map[string]string{}
	for name, texts := range map[string][2]string{
		"goal": {t.was.Goal, t.is.Goal}, "summary": {t.was.Summary, t.is.Summary}, "results": {t.was.Results, t.is.Results},
		"successCriteria": {t.was.SuccessCriteria, t.is.SuccessCriteria},
	} {
		if texts[0] != "" && texts[0] != texts[1] {
			t.previous[name] = texts[0]
		}
	}
}

// maxTold limits the new elements of a set that get separate events; one event counts the
// others.
const maxTold = 20

// added writes events about the new elements of a set.
func (t *remoteEvents) added(field string, was []string, all []merge.Entry) {
	if len(was) == len(all) {
		return
	}
	known := lo.SliceToMap(was, func(text string) (string, bool) { return text, true })
	told, more := 0, 0
	for _, e := range all {
		switch {
		case known[e.Text]:
		case told < maxTold:
			told++
			t.event(core.FrameUpdated, e.Stamp.Machine, map[string]any{"fields": []string{field}, field: e.Text})
		default:
			more++
		}
	}
	if more > 0 {
		t.event(core.FrameUpdated, t.doc.Work.Machine, map[string]any{"fields": []string{field}, "more": more})
	}
}

// move writes the event about a new status or machine, and reports whether that event also
// covers the summary.
func (t *remoteEvents) move(by string, there bool) (summed bool) {
	from, to := t.was.Status, t.is.Status
	switch {
	case to == core.Invalidated:
		if from != to || t.was.InvalidationReason != t.is.InvalidationReason {
			t.event(core.FrameInvalidated, t.doc.Invalid.Stamp.Machine, map[string]any{"reason": t.is.InvalidationReason})
		}
	case to.Ended() && (from != to || there && t.was.EndedAt != t.is.EndedAt):
		data := map[string]any{"status": to}
		if t.was.Summary != "" && t.was.Summary != t.is.Summary {
			data["replacedSummary"] = t.was.Summary
		}
		t.event(core.FrameCompleted, by, data)
		return true
	case to == core.InProgress && (from == core.Completed || from == core.Failed):
		t.event(core.FrameReopened, by, t.taken(from))
	case to == core.InProgress && (from != to || t.was.Machine != t.is.Machine):
		t.event(core.FrameActivated, by, t.taken(from))
	}
	return false
}

// taken returns the data of the event about a frame that a session took up, perhaps from
// another machine.
func (t *remoteEvents) taken(from core.Status) map[string]any {
	data := map[string]any{"from": from}
	if t.was.Machine != t.is.Machine {
		data["fromMachine"] = cmp.Or(t.was.Machine, t.here)
	}
	if from == core.InProgress && t.was.Session != "" {
		data["takenFrom"] = t.was.Session
	}
	return data
}

// others writes events about all other changes.
func (t *remoteEvents) others(by string, summed bool) {
	if !summed && t.was.Summary != t.is.Summary {
		data := map[string]any{}
		if t.was.Summary != "" {
			data["replacedSummary"] = t.was.Summary
		}
		t.event(core.SummaryStored, by, data)
	}
	var fields []string
	for field, changed := range map[string]bool{
		"successCriteria": t.was.SuccessCriteria != t.is.SuccessCriteria, "results": !summed && t.was.Results != t.is.Results,
		"parent": t.was.Parent != t.is.Parent,
	} {
		if changed {
			fields = append(fields, field)
		}
	}
	if slices.Sort(fields); len(fields) > 0 || len(t.previous) > 0 {
		t.event(core.FrameUpdated, by, map[string]any{"fields": fields})
	}
}
