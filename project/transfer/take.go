package transfer

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/merge"
	"flame/project"
	"flame/project/usage"
)

// Take merges documents of other machines into the tree, in transactions of at most about
// 50 ms, and writes the events about the changes, with the machine in their data. It returns
// the merged documents that contain more than the ones that came: the senders need them.
func (t SharedTree) Take(ctx context.Context, docs []merge.Doc) (owed []merge.Doc, err error) {
	taken := 0
	err = inBatches(ctx, t.Project, t.Machine, docs, take, func(t *mergePass) {
		owed, taken = append(owed, t.owed...), taken+t.changed
	})
	if taken > 0 {
		t.Project.Log.Info("frames of other machines changed", "frames", taken)
	}
	return owed, err
}

// A mergePass merges some documents into the tree.
type mergePass struct {
	*batch
	frames  map[string]core.Frame // existing frames, by id
	agreed  map[string]merge.Doc  // documents agreed before, by id
	above   map[string]bool       // ids of new frames that have children
	parents []string              // of new frames
	void    []core.Frame          // frames that other machines invalidated
	owed    []merge.Doc
	changed int
}

// take merges some documents and returns their number.
func take(b *batch, docs []merge.Doc) (t *mergePass, n int, err error) {
	if t, err = b.taking(lo.Map(docs, func(d merge.Doc, _ int) string { return d.ID })); err != nil {
		return nil, 0, err
	}
	for n == 0 || n < len(docs) && !b.late() {
		if err := t.one(docs[n]); err != nil {
			return nil, 0, err
		}
		n++
	}
	return t, n, errors.Join(t.bringBack(), t.tell(), t.voidBelow())
}

// taking reads the data with which Take merges documents of frames with these ids.
func (b *batch) taking(ids []string) (t *mergePass, err error) {
	t = &mergePass{batch: b, above: map[string]bool{}}
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

// findParents records which of these ids have children.
func (t *mergePass) findParents(ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	parents, err := t.tx.WithChildren(ids)
	for _, id := range parents {
		t.above[id] = true
	}
	return err
}

// one merges a document.
func (t *mergePass) one(came merge.Doc) error {
	was, known := t.agreed[came.ID]
	f, there := t.frames[came.ID]
	parent, err := t.parent(f, was)
	if err != nil {
		return err
	}
	named := f
	named.Parent = parent
	d := merge.ApplyRemote(was, named, came, &t.clock, t.s.Now)
	if !d.Equal(came) {
		t.owed = append(t.owed, d)
	}
	if !known || !d.Equal(was) {
		if err := recordDoc.Save(t.tx, d.ID, d); err != nil {
			return err
		}
		t.agreed[d.ID] = d
	}
	stays := !d.IsDeleted()
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
		return errors.Join(t.count(d.ID, known, known, false), usage.DropFrame(t.tx, d.ID))
	}
	return t.count(d.ID, known, false, false)
}

// count records whether a frame is there. known says that it had a document before, and
// counted that it was there then.
func (b *batch) count(id string, known, counted, is bool) error {
	if counted && is {
		return nil
	}
	gone := false
	if known {
		var err error
		if gone, err = recordGone.Find(b.tx, id); err != nil {
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

// keep stores the frame of a document, and writes events about its changes. parent is the
// parent that the frame's document named before.
func (t *mergePass) keep(d merge.Doc, f core.Frame, parent string, there bool) error {
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
	return (&remoteEvents{b: t.batch, doc: d, was: f, is: want, here: t.clock.Machine}).tell(there)
}

// isOpen reports whether work in a frame is not over, on any machine.
func isOpen(f core.Frame) bool { return f.Status == core.Planned || f.Status == core.InProgress }

// same reports whether two frames are equal, so that flame need not write.
func same(f, g core.Frame) bool {
	for _, f := range []*core.Frame{&f, &g} { // an empty list may be nil or not
		for _, list := range []*[]string{&f.Artifacts, &f.Decisions, &f.PlannedChildren} {
			if len(*list) == 0 {
				*list = nil
			}
		}
	}
	return reflect.DeepEqual(f, g)
}

// bringBack restores deleted frames below which new frames came.
func (t *mergePass) bringBack() error {
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
		d, known, err := recordDoc.Get(t.tx, id)
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

// voidBelow invalidates the planned frames below frames that other machines invalidated:
// those machines may not know what was planned here.
func (t *mergePass) voidBelow() error {
	for _, f := range t.void {
		if _, err := t.s.InvalidateBelow(f); err != nil {
			return err
		}
	}
	return nil
}

// recordCut has, by a frame's id, the parent that its document names although the frame is a
// root here: the frame is the oldest of a cycle. A parent is older than its children, so the
// link of the oldest frame is the wrong one. All machines cut a cycle there, in whatever
// order its documents came. A cut is no work: the documents stay unchanged, and flame
// restores the link once a document moves a frame out of the cycle.
const recordCut project.RecordKind[string] = "frame.cut"

// atOnce is how many ancestors one query reads.
const atOnce = 50

// parent returns the parent of a frame that its document, or the frame's machine, names; was
// is the agreed document.
func (b *batch) parent(f core.Frame, was merge.Doc) (parent string, err error) {
	if parent = f.Parent; parent == "" && f.ID != "" && (was.ID == "" || was.Work.Parent != "") {
		parent, err = recordCut.Find(b.tx, f.ID)
	}
	return parent, err
}

// link keeps want, a frame about to be saved, out of cycles. f is the stored frame, if there
// is one, and parent the parent that its document names.
func (t *mergePass) link(want *core.Frame, f core.Frame, parent string, there bool) error {
	switch {
	case !there && (want.Parent == "" || !t.above[want.ID]):
		return nil
	case !there:
		return t.cut(want)
	case want.Parent == parent && want.CreatedAt == f.CreatedAt:
		want.Parent = f.Parent
		return nil
	case f.Parent != parent:
		if err := recordCut.Delete(t.tx, f.ID); err != nil {
			return err
		}
	case f.Parent != "":
		if err := t.uncut(f); err != nil {
			return err
		}
	}
	if want.Parent == "" {
		return nil
	}
	return t.cut(want)
}

// cut makes a root of the oldest frame of the cycle that want would close.
func (t *mergePass) cut(want *core.Frame) error {
	way, closes, err := t.way(want.Parent, want.ID)
	if err != nil || !closes {
		return err
	}
	oldest := slices.MinFunc(append(way, *want), func(f, g core.Frame) int {
		return cmp.Or(cmp.Compare(f.CreatedAt, g.CreatedAt), cmp.Compare(f.ID, g.ID))
	})
	if err := recordCut.Save(t.tx, oldest.ID, oldest.Parent); err != nil {
		return err
	}
	if oldest.ID == want.ID {
		want.Parent = ""
		return nil
	}
	return t.relink(oldest, "", want.Machine)
}

// uncut restores the link that was cut in the cycle through f, because f is about to leave
// the cycle.
func (t *mergePass) uncut(f core.Frame) error {
	up, ends, err := t.way(f.Parent, "")
	if err != nil || !ends {
		return err
	}
	root := up[len(up)-1]
	parent, cut, err := recordCut.Get(t.tx, root.ID)
	if err != nil || !cut {
		return err
	}
	cycle, _, err := t.way(parent, root.ID)
	if err != nil || !slices.ContainsFunc(cycle, func(g core.Frame) bool { return g.ID == f.ID }) {
		return err
	}
	if err := recordCut.Delete(t.tx, root.ID); err != nil {
		return err
	}
	return t.relink(root, parent, f.Machine)
}

// way returns the frames from one upwards, as far as a child of end, and reports whether they
// lead there. Roots are children of the end "".
func (t *mergePass) way(from, end string) (way []core.Frame, leads bool, err error) {
	met := map[string]bool{}
	page, err := t.tx.FramesOf([]string{from})
	for len(page) > 0 && err == nil {
		for _, f := range page {
			if met[f.ID] {
				return nil, false, nil // a cycle from a version of flame that did not cut cycles
			}
			met[f.ID] = true
			if way = append(way, f); f.Parent == end {
				return way, true, nil
			}
		}
		page, err = t.tx.Ancestors(page[len(page)-1].ID, atOnce)
	}
	return way, false, err
}

// relink gives a frame another parent, or none, because of a change by machine by.
func (t *mergePass) relink(f core.Frame, parent, by string) error {
	f.Parent = parent
	if err := t.tx.SaveFrame(f); err != nil {
		return err
	}
	if _, is := t.frames[f.ID]; is {
		t.frames[f.ID] = f
	}
	t.changed++
	told := remoteEvents{b: t.batch, is: f}
	told.event(core.FrameUpdated, by, map[string]any{"fields": []string{"parent"}})
	return told.err
}
