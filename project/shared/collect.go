package shared

import (
	"context"

	"flame/core/merge"
	"flame/project"
)

// Collect returns the documents of frames that were written here after a revision and
// differ from what was agreed on, after it noted them as agreed on; and the revision up to
// which it looked. After 0 it looks at all frames. machine is the id of this machine.
func Collect(ctx context.Context, p *project.Project, machine string, after int64) (docs []merge.Doc, revision int64, err error) {
	var ids []string
	err = p.Store.View(ctx, func(tx project.Tx) error {
		ids = nil
		if revision, _, err = tx.Revision(); err != nil || revision == after && after > 0 {
			return err
		}
		changed, err := tx.Changed(after)
		for _, f := range changed {
			ids = append(ids, f.ID)
		}
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
		return docs, revision, nil // each of them was saved once, and nothing was deleted
	}
	missing, err := missing(ctx, p, revision)
	if err == nil {
		err = inBatches(ctx, p, machine, missing, noteMissing, add)
	}
	return docs, revision, err
}

// recount has recordHere be what it is found to be.
func recount(ctx context.Context, p *project.Project, off int) error {
	return p.Store.Update(ctx, func(tx project.Tx) error {
		var here int
		if _, err := recordHere.Load(tx, "", &here); err != nil {
			return err
		}
		return recordHere.Save(tx, "", here+off)
	})
}

// absorb notes as agreed on what was done in frames, and returns the documents of those in
// which something was.
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
		if !merge.ValidID(id) { // an imported one
			b.s.Project.Log.Warn("a frame stays on this machine: others refuse its id", "frame", id)
			continue
		}
		var was merge.Doc
		known, err := recordDoc.Load(b.tx, id, &was)
		if err != nil {
			return nil, 0, err
		}
		if f.Parent, err = b.parent(f, was); err != nil {
			return nil, 0, err
		}
		d := merge.Absorb(was, f, b.clock.Machine, b.tick)
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

// missing returns the ids of agreed documents whose frames are not there, if there are any
// that were not noted. All frames written up to a revision have a document.
func missing(ctx context.Context, p *project.Project, revision int64) (ids []string, err error) {
	off := 0
	err = p.Store.View(ctx, func(tx project.Tx) error {
		ids, off = nil, 0
		counts, err := tx.CountFrames(project.FrameQuery{Archived: true})
		if err != nil {
			return err
		}
		var here int
		if _, err := recordHere.Load(tx, "", &here); err != nil {
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
		err = recount(ctx, p, off)
	}
	return ids, err
}

// withoutDoc counts the frames written after a revision that have no document yet.
func withoutDoc(tx project.Tx, revision int64) (n int, err error) {
	changed, err := tx.Changed(revision)
	for _, f := range changed {
		known, err := recordDoc.Load(tx, f.ID, new(merge.Doc))
		if err != nil {
			return n, err
		}
		if !known {
			n++
		}
	}
	return n, err
}

// withoutFrame returns the ids of documents without a frame, and the number of all, but for
// those noted as gone.
func withoutFrame(tx project.Tx) (ids []string, docs int, err error) {
	frames, err := tx.FrameIDs()
	if err != nil {
		return nil, 0, err
	}
	gone, err := recordGone.IDs(tx, "")
	if err != nil {
		return nil, 0, err
	}
	there := make(map[string]bool, len(frames))
	for _, id := range append(frames, gone...) {
		there[id] = true
	}
	all, err := recordDoc.IDs(tx, "")
	for _, id := range all {
		if !there[id] {
			ids = append(ids, id)
		}
	}
	return ids, len(all) - len(gone), err
}

// noteMissing notes that frames were deleted and returns their documents. Nobody deletes
// frames in which something was done: such a one was lost, as with damaged rows of the
// file, and is put back.
func noteMissing(b *batch, ids []string) (docs []merge.Doc, n int, err error) {
	frames, err := b.frames(ids)
	if err != nil {
		return nil, 0, err
	}
	for _, id := range ids {
		var was merge.Doc
		known, err := recordDoc.Load(b.tx, id, &was)
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
		if !d.Gone() {
			b.s.Project.Log.Warn("a frame was lost and is put back", "frame", id)
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

// putBack saves a frame that was lost as its document has it.
func (b *batch) putBack(was merge.Doc) error {
	f := was.Frame(b.clock.Machine)
	if f.Parent != "" {
		cut, err := recordCut.Load(b.tx, f.ID, new(string))
		if err != nil {
			return err
		}
		if cut {
			f.Parent = ""
		}
	}
	return b.tx.SaveFrame(f)
}
