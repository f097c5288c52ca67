package shared

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/merge"
	"flame/project"
	"flame/project/files"
)

// Take merges documents of other machines into the tree, in transactions of at most some
// 50 ms, and writes the events of what changed, with the machine in their data. It returns
// the documents that say more than those that came, which their senders do not have yet.
func Take(ctx context.Context, p *project.Project, machine string, docs []merge.Doc) (owed []merge.Doc, err error) {
	taken := 0
	err = inBatches(ctx, p, machine, docs, take, func(t *taking) {
		owed, taken = append(owed, t.owed...), taken+t.changed
	})
	if taken > 0 {
		p.Log.Info("frames of other machines changed", "frames", taken)
	}
	return owed, err
}

// A taking is some documents on their way into the tree.
type taking struct {
	*batch
	frames  map[string]core.Frame // those that are there, by id
	agreed  map[string]merge.Doc  // what was agreed on before, by id
	above   map[string]bool       // ids of frames that have children, if they are new
	parents []string              // of frames that are new
	void    []core.Frame          // that were invalidated elsewhere
	owed    []merge.Doc
	changed int
}

// take takes in some documents and returns their number.
func take(b *batch, docs []merge.Doc) (t *taking, n int, err error) {
	ids := make([]string, len(docs))
	for i, d := range docs {
		ids[i] = d.ID
	}
	if t, err = b.taking(ids); err != nil {
		return nil, 0, err
	}
	for n == 0 || n < len(docs) && !b.late() {
		if err := t.one(docs[n]); err != nil {
			return nil, 0, err
		}
		n++
	}
	return t, n, errors.Join(t.bringBack(), t.voidBelow(), t.tell())
}

// taking reads what the documents of frames with these ids are joined with.
func (b *batch) taking(ids []string) (t *taking, err error) {
	t = &taking{batch: b, above: map[string]bool{}}
	if t.agreed, err = recordDoc.At(b.tx, ids); err != nil {
		return nil, err
	}
	fresh, known := lo.FilterReject(ids, func(id string, _ int) bool { return t.agreed[id].ID == "" })
	if err = t.findParents(fresh); err != nil { // before their frames: it learns which ids there are at all
		return nil, err
	}
	if t.frames, err = b.frames(ids); err != nil {
		return nil, err
	}
	return t, t.findParents(lo.Filter(known, func(id string, _ int) bool { return t.frames[id].ID == "" }))
}

// findParents notes which of these ids have children.
func (t *taking) findParents(ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	parents, err := t.tx.WithChildren(ids)
	for _, id := range parents {
		t.above[id] = true
	}
	return err
}

// one takes in a document.
func (t *taking) one(came merge.Doc) error {
	was, known := t.agreed[came.ID]
	f, there := t.frames[came.ID]
	parent, err := t.parent(f, was)
	if err != nil {
		return err
	}
	named := f
	named.Parent = parent
	d := merge.Join(was, named, came, &t.clock, t.s.Now)
	if !d.Equal(came) {
		t.owed = append(t.owed, d)
	}
	if !known || !d.Equal(was) {
		if err := recordDoc.Save(t.tx, d.ID, d); err != nil {
			return err
		}
		t.agreed[d.ID] = d
	}
	stays := !d.Gone()
	if !stays {
		below, err := t.tx.CountFrames(project.FrameQuery{Parent: d.ID, Archived: true})
		if err != nil {
			return err
		}
		stays = project.Total(below) > 0
	}
	switch {
	case stays:
		return errors.Join(t.count(d.ID, known, known && there, true), t.keep(d, f, parent, there))
	case there:
		delete(t.frames, d.ID)
		t.changed++
		return errors.Join(t.count(d.ID, known, known, false), t.tx.DeleteFrame(d.ID), files.Delete(t.tx, d.ID))
	}
	return t.count(d.ID, known, false, false)
}

// count notes whether a frame is there. known says that it had a document, and counted that
// it was there too.
func (b *batch) count(id string, known, counted, is bool) error {
	if counted && is {
		return nil
	}
	gone := false
	if known {
		if _, err := recordGone.Load(b.tx, id, &gone); err != nil {
			return err
		}
	}
	switch {
	case is:
		b.here++
	case counted:
		b.here--
	}
	switch {
	case is && gone:
		return recordGone.Delete(b.tx, id)
	case !is && !gone:
		return recordGone.Save(b.tx, id, true)
	}
	return nil
}

// keep has the frame be as its document says, and tells of what changed in it. parent is
// the one that was named for it before.
func (t *taking) keep(d merge.Doc, f core.Frame, parent string, there bool) error {
	want := d.Frame(t.clock.Machine)
	if err := t.link(&want, f, parent, there); err != nil {
		return err
	}
	want.LogPath, want.UpdatedAt = f.LogPath, max(f.UpdatedAt, want.UpdatedAt)
	if there && same(f, want) {
		return nil
	}
	if err := t.tx.SaveFrame(want); err != nil {
		return err
	}
	t.frames[d.ID] = want
	t.changed++
	t.above[want.Parent] = true
	if !there && want.Parent != "" {
		t.parents = append(t.parents, want.Parent)
	}
	if want.Status == core.Invalidated && f.Status != core.Invalidated {
		t.void = append(t.void, want)
	}
	if there && isOpen(f) && !isOpen(want) {
		due := project.Deadline{Kind: project.ElsewhereDeadline, Subject: want.ID, Due: t.s.Now, Set: t.s.Now}
		if err := t.tx.SetDeadline(due); err != nil {
			return err
		}
	}
	return (&telling{b: t.batch, doc: d, was: f, is: want, here: t.clock.Machine}).tell(there)
}

// isOpen reports whether work in a frame is not over, on whatever machine.
func isOpen(f core.Frame) bool { return f.Status == core.Planned || f.Status == core.InProgress }

// same reports whether a frame need not be written.
func same(f, g core.Frame) bool {
	for _, f := range []*core.Frame{&f, &g} { // a list may be empty in two ways
		for _, list := range []*[]string{&f.Artifacts, &f.Decisions, &f.PlannedChildren} {
			if len(*list) == 0 {
				*list = nil
			}
		}
	}
	return reflect.DeepEqual(f, g)
}

// bringBack puts back frames that were deleted, below which others are new.
func (t *taking) bringBack() error {
	slices.Sort(t.parents)
	t.parents = slices.Compact(t.parents)
	there, err := t.batch.frames(t.parents)
	if err != nil {
		return err
	}
	for _, id := range t.parents {
		if _, is := there[id]; is {
			continue
		}
		var d merge.Doc
		known, err := recordDoc.Load(t.tx, id, &d)
		if err != nil {
			return err
		}
		if !known {
			continue
		}
		if err := errors.Join(t.count(id, true, false, true), t.keep(d, core.Frame{}, "", false)); err != nil {
			return err
		}
	}
	return nil
}

// voidBelow has what is planned below frames that were invalidated elsewhere be invalidated
// too: what was planned here may be known to nobody else.
func (t *taking) voidBelow() error {
	for _, f := range t.void {
		left, err := t.tx.FindFrames(project.FrameQuery{Under: f.ID, Statuses: []core.Status{core.Planned}, Archived: true, Limit: 1})
		if err != nil {
			return err
		}
		if len(left) == 0 {
			continue
		}
		c := project.Cascade{Cascade: core.CascadeOf(f), Frame: f.ID, Due: t.s.Now}
		if err := t.tx.BeginCascade(c); err != nil {
			return err
		}
	}
	return nil
}
