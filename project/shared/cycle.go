package shared

import (
	"cmp"
	"slices"

	"flame/core"
	"flame/core/merge"
	"flame/project"
)

// recordCut has, by a frame's id, the parent that its document names, where the frame is a
// root here all the same: it is the oldest of a cycle, and a parent is made before its
// children, so that its link is the wrong one. All machines cut a cycle there, whatever
// the order in which its documents came. To cut is no work: the documents stay as they are,
// and once one of them moves its frame elsewhere, the link is put back.
const recordCut project.Kind[string] = "shared_cut"

// atOnce is how many ancestors are read at once.
const atOnce = 50

// parent returns the parent of a frame as its document, or the frame's machine, names it;
// was is the document that was agreed on.
func (b *batch) parent(f core.Frame, was merge.Doc) (parent string, err error) {
	if parent = f.Parent; parent == "" && f.ID != "" && (was.ID == "" || was.Work.Parent != "") {
		_, err = recordCut.Load(b.tx, f.ID, &parent)
	}
	return parent, err
}

// link has want, a frame about to be saved, keep out of cycles. f is the frame as it is
// stored, if it is there, and parent the one that was named for it.
func (t *taking) link(want *core.Frame, f core.Frame, parent string, there bool) error {
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
func (t *taking) cut(want *core.Frame) error {
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

// uncut undoes the cut in the cycle that goes through f, which is about to leave it.
func (t *taking) uncut(f core.Frame) error {
	up, ends, err := t.way(f.Parent, "")
	if err != nil || !ends {
		return err
	}
	root, parent := up[len(up)-1], ""
	if cut, err := recordCut.Load(t.tx, root.ID, &parent); err != nil || !cut {
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

// way returns the frames from one upwards, as far as a child of end, and reports whether
// they lead there. The end "" is what roots are below.
func (t *taking) way(from, end string) (way []core.Frame, leads bool, err error) {
	met := map[string]bool{}
	page, err := t.tx.FramesOf([]string{from})
	for len(page) > 0 && err == nil {
		for _, f := range page {
			if met[f.ID] {
				return nil, false, nil // a cycle from before flame cut them
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

// relink puts a frame below another parent, or none, because of what machine by did.
func (t *taking) relink(f core.Frame, parent, by string) error {
	f.Parent = parent
	if err := t.tx.SaveFrame(f); err != nil {
		return err
	}
	if _, is := t.frames[f.ID]; is {
		t.frames[f.ID] = f
	}
	t.changed++
	told := telling{b: t.batch, is: f}
	told.event(core.FrameUpdated, by, map[string]any{"fields": []string{"parent"}})
	return told.err
}
