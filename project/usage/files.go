package usage

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
	"flame/project"
)

// Limits of the changes that flame keeps for a frame.
const (
	MaxFiles      = 500       // it only counts changes of further files
	MaxPatchBytes = 256 << 10 // of patches; the newest stay
	maxKept       = 500       // the newest stay
)

// A ChangedFile is a file that was changed while a session worked in a frame.
type ChangedFile struct {
	Path    string          `json:"path"`           // relative to the worktree, if it lies inside
	From    string          `json:"from,omitempty"` // its path before it was moved
	Kind    core.ChangeKind `json:"kind"`
	Added   int             `json:"added"`   // lines, in all changes together
	Removed int             `json:"removed"` // lines, in all changes together
	Changes int             `json:"changes"` // how often a tool changed it

	// Patch has the hunks of the kept changes, the oldest first, in the form of
	// core.FileChange.
	Patch string `json:"patch,omitempty"`
	// Cut says that the patch lacks something that was too long or is too old. The numbers
	// of lines are still exact.
	Cut bool `json:"cut,omitempty"`
	// Inexact says that, for some change, flame knows the written text but not all of the
	// text that it replaced.
	Inexact bool `json:"inexact,omitempty"`
}

// A FileList has the files that were changed in a frame.
type FileList struct {
	Files   []ChangedFile `json:"files"`             // by path
	Dropped int           `json:"dropped,omitempty"` // patches dropped to save space
	More    int           `json:"more,omitempty"`    // changes of files beyond MaxFiles
	Trouble string        `json:"trouble,omitempty"` // why the list is incomplete
}

// IsZero reports whether the list says nothing.
func (l FileList) IsZero() bool { return len(l.Files) == 0 && l.Trouble == "" }

// changed is the record of a frame. Each patch has a separate record, so that flame need not
// write all patches again for a new one.
type changed struct {
	Files   []ChangedFile `json:"files"` // without patches; in the order of their first change
	First   int           `json:"first"` // number of the oldest kept patch
	Next    int           `json:"next"`  // number of the next patch
	Bytes   int           `json:"bytes"` // of the kept patches
	Dropped int           `json:"dropped"`
	More    int           `json:"more"`
}

// A patch is the change of one file by one call.
type patch struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

const (
	recordChanged project.RecordKind[changed] = "files" // by frame
	recordPatch   project.RecordKind[patch]   = "files" // by frame and number
)

// patchID returns the id of a frame's patch; they sort by their numbers.
func patchID(frame string, number int) string { return fmt.Sprintf("%s/%010d", frame, number) }

// noteFiles adds changes to a frame, in order.
func noteFiles(tx project.Tx, frame string, changes []core.FileChange) error {
	all, err := recordChanged.Find(tx, frame)
	if err != nil {
		return err
	}
	kept := lo.Filter(changes, func(c core.FileChange, _ int) bool { return all.add(fileOf(c)) && c.Patch != "" })
	return errors.Join(all.keep(tx, frame, kept), recordChanged.Save(tx, frame, all))
}

// fileOf returns a file after one change, without its patch.
func fileOf(c core.FileChange) ChangedFile {
	return ChangedFile{Path: c.Path, From: c.From, Kind: c.Kind, Added: c.Added, Removed: c.Removed, Changes: 1, Cut: c.Cut, Inexact: c.Inexact}
}

// add adds later changes of a file, and reports whether the list has room for it.
func (all *changed) add(f ChangedFile) bool {
	i := slices.IndexFunc(all.Files, func(known ChangedFile) bool { return known.Path == f.Path })
	switch {
	case i >= 0:
		one := &all.Files[i]
		one.Kind, one.Changes = one.Kind.Combine(f.Kind), one.Changes+f.Changes
		one.Added, one.Removed = one.Added+f.Added, one.Removed+f.Removed
		one.Cut, one.Inexact = one.Cut || f.Cut, one.Inexact || f.Inexact
		return true
	case len(all.Files) < MaxFiles:
		all.Files = append(all.Files, f)
		return true
	}
	all.More += f.Changes
	return false
}

// keep writes patches, and drops the oldest beyond the limits.
func (all *changed) keep(tx project.Tx, frame string, patches []core.FileChange) error {
	from, size := len(patches), 0
	for from > 0 && size+len(patches[from-1].Patch) <= MaxPatchBytes && len(patches)-from < maxKept {
		from--
		size += len(patches[from].Patch)
	}
	dropped := map[string]bool{}
	for all.First < all.Next && (from > 0 || all.Bytes+size > MaxPatchBytes || all.Next-all.First+len(patches) > maxKept) {
		path, err := all.drop(tx, patchID(frame, all.First))
		if err != nil {
			return err
		}
		dropped[path] = true
	}
	for _, c := range patches[:from] {
		dropped[c.Path] = true
		all.Dropped++
	}
	for i := range all.Files {
		all.Files[i].Cut = all.Files[i].Cut || dropped[all.Files[i].Path]
	}
	for _, c := range patches[from:] {
		if err := recordPatch.Save(tx, patchID(frame, all.Next), patch{c.Path, c.Patch}); err != nil {
			return err
		}
		all.Next, all.Bytes = all.Next+1, all.Bytes+len(c.Patch)
	}
	return nil
}

// drop deletes the oldest kept patch, which has this id, and returns the path of its file.
func (all *changed) drop(tx project.Tx, id string) (path string, err error) {
	oldest, err := recordPatch.Find(tx, id)
	if err != nil {
		return "", err
	}
	all.First, all.Bytes, all.Dropped = all.First+1, all.Bytes-len(oldest.Text), all.Dropped+1
	return oldest.Path, recordPatch.Delete(tx, id)
}

// patchesOf calls f for each patch of a frame, the oldest first.
func patchesOf(tx project.Tx, frame string, f func(patch)) error {
	return tx.Records(string(recordPatch), project.RecordQuery{Prefix: frame + "/"}, func(_ string, decode func(any) error) error {
		var p patch
		if err := decode(&p); err != nil {
			return err
		}
		f(p)
		return nil
	})
}

// FilesOf returns the files that were changed in a frame, without the patches.
func FilesOf(s *project.Op, frame string) (FileList, error) { return filesOf(s, frame, nil) }

// FilesWithPatches is Of with the patches.
func FilesWithPatches(s *project.Op, frame string) (FileList, error) {
	texts := map[string]*strings.Builder{}
	err := patchesOf(s.Tx, frame, func(p patch) {
		if texts[p.Path] == nil {
			texts[p.Path] = &strings.Builder{}
		}
		texts[p.Path].WriteString(p.Text)
	})
	if err != nil {
		return FileList{}, err
	}
	return filesOf(s, frame, texts)
}

func filesOf(s *project.Op, frame string, patches map[string]*strings.Builder) (FileList, error) {
	all, err := recordChanged.Find(s.Tx, frame)
	if err != nil {
		return FileList{}, err
	}
	l := FileList{Files: []ChangedFile{}, Dropped: all.Dropped, More: all.More}
	for _, f := range all.Files {
		if text := patches[f.Path]; text != nil {
			f.Patch = text.String()
		}
		f.Path, f.From = s.Project.ArtifactPath(f.Path), s.Project.ArtifactPath(f.From)
		l.Files = append(l.Files, f)
	}
	slices.SortFunc(l.Files, func(a, b ChangedFile) int { return strings.Compare(a.Path, b.Path) })
	return l, nil
}

// FileListOf returns the list of changes from another source, one for each file.
func FileListOf(changes []core.FileChange) FileList {
	l := FileList{Files: []ChangedFile{}}
	for _, c := range changes {
		if len(l.Files) >= MaxFiles {
			l.More++
			continue
		}
		f := fileOf(c)
		f.Patch = c.Patch
		l.Files = append(l.Files, f)
	}
	slices.SortFunc(l.Files, func(a, b ChangedFile) int { return strings.Compare(a.Path, b.Path) })
	return l
}

// Bare returns l without the patches.
func (l FileList) Bare() FileList {
	l.Files = slices.Clone(l.Files)
	for i := range l.Files {
		l.Files[i].Patch = ""
	}
	return l
}

// moveFiles moves the changes in frame from to frame to.
func moveFiles(tx project.Tx, from, to string) error {
	moved, known, err := recordChanged.Get(tx, from)
	if !known || err != nil {
		return err
	}
	var changes []core.FileChange
	err = patchesOf(tx, from, func(p patch) { changes = append(changes, core.FileChange{Path: p.Path, Patch: p.Text}) })
	if err != nil {
		return err
	}
	return errors.Join(mergeFiles(tx, to, moved, changes), deleteFiles(tx, from))
}

// mergeFiles adds moved changes, with their patches, to a frame.
func mergeFiles(tx project.Tx, frame string, moved changed, patches []core.FileChange) error {
	all, err := recordChanged.Find(tx, frame)
	if err != nil {
		return err
	}
	all.Dropped, all.More = all.Dropped+moved.Dropped, all.More+moved.More
	for _, f := range moved.Files {
		all.add(f)
	}
	return errors.Join(all.keep(tx, frame, patches), recordChanged.Save(tx, frame, all))
}

// deleteFiles deletes the changes of files in a frame.
func deleteFiles(tx project.Tx, frame string) error {
	return errors.Join(recordPatch.Clear(tx, frame+"/"), recordChanged.Delete(tx, frame))
}
