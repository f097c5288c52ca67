package transfer

import (
	"context"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/merge"
	"flame/project"
)

// Collect records the work in frames that this machine wrote after a revision as agreed. It
// returns the documents that this changed, and the revision up to which it looked. After
// revision 0 it looks at all frames.
func (t SharedTree) Collect(ctx context.Context, after int64) (docs []merge.Doc, revision int64, err error) {
	p, machine := t.Project, t.Machine
	var ids []string
	err = p.Store.View(ctx, func(tx project.Tx) error {
		if revision, _, err = tx.Revision(); err != nil || revision == after && after > 0 {
			return err
		}
		changed, err := tx.FramesChangedSince(after)
		ids = lo.Map(changed, func(f core.Frame, _ int) string { return f.ID })
		return err
	})
	if err != nil {
		return nil, after, err
	}
	add := func(some []merge.Doc) { docs = append(docs, some...) }
	if err := inBatches(ctx, p, machine, ids, absorb, add); err != nil {
		return docs, after, err
	}
	if revision-after == int64(len(ids)) && after > 0 {
		return docs, revision, nil // each frame was saved once, and none was deleted
	}
	missing, err := missing(ctx, p, revision)
	if err == nil {
		err = inBatches(ctx, p, machine, missing, noteMissing, add)
	}
	return docs, revision, err
}

// absorb records the work in frames as agreed, and returns the documents that this changed.
func absorb(b *batch, ids []string) (docs []merge.Doc, n int, err error) {
	frames, err := b.frames(ids)
	if err != nil {
		return nil, 0, err
	}
	for i, id := range ids {
		if i > 0 && b.late() {
			return docs, i, nil
		}
		f, there := frames[id]
		if !there {
			continue
		}
		if !merge.ValidID(id) { // an imported frame
			b.s.Project.Log.Warn("a frame stays on this machine: others refuse its id", "frame", id)
			continue
		}
		was, known, err := recordDoc.Get(b.tx, id)
		if err != nil {
			return nil, 0, err
		}
		if f.Parent, err = b.parent(f, was); err != nil {
			return nil, 0, err
		}
		d := merge.UpdateLocal(was, f, b.clock.Machine, b.tick)
		if known && d.Equal(was) {
			continue
		}
		if !known {
			b.here++
		}
		if err := recordDoc.Save(b.tx, id, d); err != nil {
			return nil, 0, err
		}
		docs = append(docs, d)
	}
	return docs, len(ids), nil
}

// missing returns the ids of agreed documents whose frames are gone without a record of that.
// All frames written up to a revision have a document.
func missing(ctx context.Context, p *project.Project, revision int64) (ids []string, err error) {
	off := 0
	err = p.Store.View(ctx, func(tx project.Tx) error {
		ids, off = nil, 0
		counts, err := tx.CountFrames(project.FrameQuery{Archived: true})
		if err != nil {
			return err
		}
		here, err := recordHere.Find(tx, "")
		if err != nil {
			return err
		}
		late, err := withoutDoc(tx, revision)
		if err != nil || project.Total(counts)-late == here {
			return err
		}
		var docs int
		ids, docs, err = withoutFrame(tx)
		off = docs - here
		return err
	})
	if err == nil && off != 0 {
		err = p.Store.Update(ctx, func(tx project.Tx) error {
			return recordHere.Change(tx, "", func(here *int) { *here += off })
		})
	}
	return ids, err
}

// withoutDoc counts the frames written after a revision that have no document yet.
func withoutDoc(tx project.Tx, revision int64) (n int, err error) {
	changed, err := tx.FramesChangedSince(revision)
	if err != nil {
		return 0, err
	}
	changed, err = project.Filter(changed, func(f core.Frame) (bool, error) {
		_, known, err := recordDoc.Get(tx, f.ID)
		return !known, err
	})
	return len(changed), err
}

// withoutFrame returns the ids of documents without a frame, and the number of all documents,
// without those that are recorded as gone.
func withoutFrame(tx project.Tx) (ids []string, docs int, err error) {
	frames, err := tx.FrameIDs()
	if err != nil {
		return nil, 0, err
	}
	gone, err := recordGone.IDs(tx, "")
	if err != nil {
		return nil, 0, err
	}
	all, err := recordDoc.IDs(tx, "")
	ids, _ = lo.Difference(all, append(frames, gone...))
	return ids, len(all) - len(gone), err
}

// noteMissing records that frames were deleted, and returns their documents. Flame never
// deletes frames with work: such a frame was lost, for example with damaged rows of the
// file, and noteMissing restores it.
func noteMissing(b *batch, ids []string) (docs []merge.Doc, n int, err error) {
	frames, err := b.frames(ids)
	if err != nil {
		return nil, 0, err
	}
	for _, id := range ids {
		was, known, err := recordDoc.Get(b.tx, id)
		if err != nil {
			return nil, 0, err
		}
		if _, there := frames[id]; there || !known {
			continue
		}
		d := was
		if was.Deleted.IsZero() {
			d = merge.Delete(was, b.clock.Machine, b.tick)
		}
		if !d.IsDeleted() {
			b.s.Project.Log.Warn("flame restores a lost frame", "frame", id)
			if err := b.putBack(was); err != nil {
				return nil, 0, err
			}
			continue
		}
		b.here--
		if err := recordGone.Save(b.tx, id, true); err != nil {
			return nil, 0, err
		}
		if err := recordDoc.Save(b.tx, id, d); err != nil {
			return nil, 0, err
		}
		docs = append(docs, d)
	}
	return docs, len(ids), nil
}

// putBack restores a lost frame from its document.
func (b *batch) putBack(was merge.Doc) error {
	f := was.Frame(b.clock.Machine)
	if f.Parent != "" {
		_, cut, err := recordCut.Get(b.tx, f.ID)
		if err != nil {
			return err
		}
		if cut {
			f.Parent = ""
		}
	}
	return b.tx.SaveFrame(f)
}
