// Package files keeps which files were changed while a session worked in a frame, and
// the patches of that, within limits: by what hosts tell of their tools for editing. What
// a shell command changed, no host tells.
package files

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"flame/core"
	"flame/project"
)

// What is kept of a frame at most.
const (
	MaxFiles   = 500       // of changes of others, only the number
	MaxBytes   = 256 << 10 // of patches; the newest stay
	maxPatches = 500       // likewise
)

// A File is what became of a file while a session worked in a frame.
type File struct {
	Path    string          `json:"path"`           // relative to the worktree, where it lies in that
	From    string          `json:"from,omitempty"` // where it lay before it was moved
	Kind    core.ChangeKind `json:"kind"`
	Added   int             `json:"added"`   // lines, by all changes together
	Removed int             `json:"removed"` // likewise
	Changes int             `json:"changes"` // how often a tool changed it

	// Patch has the hunks of the changes that are kept, the oldest first, as
	// core.FileChange has them.
	Patch string `json:"patch,omitempty"`
	// Cut says that the patch lacks something, because it was too long or is too old. The
	// numbers of lines are exact all the same.
	Cut bool `json:"cut,omitempty"`
	// Inexact says that of some change only what was written is known, not all that this
	// took the place of.
	Inexact bool `json:"inexact,omitempty"`
}

// A List is what is known of a frame.
type List struct {
	Files   []File `json:"files"`             // by path
	Dropped int    `json:"dropped,omitempty"` // patches that were dropped for room
	More    int    `json:"more,omitempty"`    // changes of files beyond MaxFiles
	Trouble string `json:"trouble,omitempty"` // why there is not all that there should be
}

// changed is the record of a frame. The patches are records of their own, so that one
// more does not have all of them written anew.
type changed struct {
	Files   []File `json:"files"` // without patches; in the order in which they were changed first
	First   int    `json:"first"` // number of the oldest patch that is kept
	Next    int    `json:"next"`  // number of the next patch
	Bytes   int    `json:"bytes"` // of the patches that are kept
	Dropped int    `json:"dropped"`
	More    int    `json:"more"`
}

// A patch is what one call did to one file.
type patch struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

const (
	recordChanged project.Kind[changed] = "files"       // by frame
	recordPatch   project.Kind[patch]   = "files_patch" // by frame and number
)

// patchID returns the id of a frame's patch; they sort by their numbers.
func patchID(frame string, number int) string { return fmt.Sprintf("%s/%010d", frame, number) }

// note adds changes to those of a frame, in order.
func note(tx project.Tx, frame string, changes []core.FileChange) error {
	var all changed
	if _, err := recordChanged.Load(tx, frame, &all); err != nil {
		return err
	}
	index := map[string]int{}
	for i, f := range all.Files {
		index[f.Path] = i
	}
	kept := changes[:0:0]
	for _, c := range changes {
		i, known := index[c.Path]
		if !known && len(all.Files) >= MaxFiles {
			all.More++
			continue
		}
		if !known {
			i, index[c.Path] = len(all.Files), len(all.Files)
			all.Files = append(all.Files, File{Path: c.Path, From: c.From, Kind: c.Kind})
		}
		all.Files[i].take(c)
		if c.Patch != "" {
			kept = append(kept, c)
		}
	}
	return errors.Join(all.keep(tx, frame, kept), recordChanged.Save(tx, frame, all))
}

// take adds a change to those of the file.
func (f *File) take(c core.FileChange) {
	if f.Changes > 0 {
		f.Kind = f.Kind.Then(c.Kind)
	}
	f.Added, f.Removed, f.Changes = f.Added+c.Added, f.Removed+c.Removed, f.Changes+1
	f.Cut, f.Inexact = f.Cut || c.Cut, f.Inexact || c.Inexact
}

// keep writes patches, and drops the oldest beyond what is kept.
func (all *changed) keep(tx project.Tx, frame string, patches []core.FileChange) error {
	from, size := len(patches), 0
	for from > 0 && size+len(patches[from-1].Patch) <= MaxBytes && len(patches)-from < maxPatches {
		from--
		size += len(patches[from].Patch)
	}
	dropped := map[string]bool{}
	for all.First < all.Next && (from > 0 || all.Bytes+size > MaxBytes || all.Next-all.First+len(patches) > maxPatches) {
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

// drop forgets the oldest patch that is kept, which has this id, and returns the path of
// its file.
func (all *changed) drop(tx project.Tx, id string) (path string, err error) {
	var oldest patch
	if _, err := recordPatch.Load(tx, id, &oldest); err != nil {
		return "", err
	}
	all.First, all.Bytes, all.Dropped = all.First+1, all.Bytes-len(oldest.Text), all.Dropped+1
	return oldest.Path, recordPatch.Delete(tx, id)
}

// patchesOf calls f for each patch of a frame, the oldest first.
func patchesOf(tx project.Tx, frame string, f func(patch)) error {
	return tx.Records(string(recordPatch), project.Which{Prefix: frame + "/"}, func(_ string, decode func(any) error) error {
		var p patch
		if err := decode(&p); err != nil {
			return err
		}
		f(p)
		return nil
	})
}

// Of returns what is known of a frame, without the patches; an empty list if nothing is.
func Of(s *project.Step, frame string) (List, error) { return of(s, frame, nil) }

// WithPatches is Of with the patches.
func WithPatches(s *project.Step, frame string) (List, error) {
	texts := map[string]*strings.Builder{}
	err := patchesOf(s.Tx, frame, func(p patch) {
		if texts[p.Path] == nil {
			texts[p.Path] = &strings.Builder{}
		}
		texts[p.Path].WriteString(p.Text)
	})
	if err != nil {
		return List{}, err
	}
	return of(s, frame, texts)
}

func of(s *project.Step, frame string, patches map[string]*strings.Builder) (List, error) {
	var all changed
	if _, err := recordChanged.Load(s.Tx, frame, &all); err != nil {
		return List{}, err
	}
	l := List{Files: []File{}, Dropped: all.Dropped, More: all.More}
	for _, f := range all.Files {
		if text := patches[f.Path]; text != nil {
			f.Patch = text.String()
		}
		f.Path, f.From = s.Project.Relative(f.Path), s.Project.Relative(f.From)
		l.Files = append(l.Files, f)
	}
	slices.SortFunc(l.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return l, nil
}

// ListOf returns the list of changes that are known otherwise, one of each file.
func ListOf(changes []core.FileChange) List {
	l := List{Files: []File{}}
	for _, c := range changes {
		if len(l.Files) >= MaxFiles {
			l.More++
			continue
		}
		f := File{Path: c.Path, From: c.From, Kind: c.Kind, Patch: c.Patch}
		f.take(c)
		l.Files = append(l.Files, f)
	}
	slices.SortFunc(l.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return l
}

// Bare returns l without the patches.
func (l List) Bare() List {
	l.Files = slices.Clone(l.Files)
	for i := range l.Files {
		l.Files[i].Patch = ""
	}
	return l
}

// Move counts what was changed in frame from as changed in frame to.
func Move(tx project.Tx, from, to string) error {
	var moved changed
	known, err := recordChanged.Load(tx, from, &moved)
	if !known || err != nil {
		return err
	}
	var changes []core.FileChange
	err = patchesOf(tx, from, func(p patch) { changes = append(changes, core.FileChange{Path: p.Path, Patch: p.Text}) })
	if err != nil {
		return err
	}
	return errors.Join(merge(tx, to, moved, changes), Delete(tx, from))
}

// merge adds what was moved, with its patches, to a frame.
func merge(tx project.Tx, frame string, moved changed, patches []core.FileChange) error {
	var all changed
	if _, err := recordChanged.Load(tx, frame, &all); err != nil {
		return err
	}
	all.Dropped, all.More = all.Dropped+moved.Dropped, all.More+moved.More
	for _, f := range moved.Files {
		i := slices.IndexFunc(all.Files, func(known File) bool { return known.Path == f.Path })
		switch {
		case i >= 0:
			one := &all.Files[i]
			one.Kind, one.Changes = one.Kind.Then(f.Kind), one.Changes+f.Changes
			one.Added, one.Removed = one.Added+f.Added, one.Removed+f.Removed
			one.Cut, one.Inexact = one.Cut || f.Cut, one.Inexact || f.Inexact
		case len(all.Files) < MaxFiles:
			all.Files = append(all.Files, f)
		default:
			all.More += f.Changes
		}
	}
	return errors.Join(all.keep(tx, frame, patches), recordChanged.Save(tx, frame, all))
}

// Delete forgets what was changed in a frame.
func Delete(tx project.Tx, frame string) error {
	ids, err := recordPatch.IDs(tx, frame+"/")
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := recordPatch.Delete(tx, id); err != nil {
			return err
		}
	}
	return recordChanged.Delete(tx, frame)
}
