// Package shared is a project's part in a tree that several machines have: it turns what
// was done here into documents for the others, and takes theirs in. How documents travel is
// the hub's matter.
package shared

import (
	"context"

	"flame/core/merge"
	"flame/project"
)

// recordDoc, by a frame's id, is the document on which this machine and the others agreed
// last.
const recordDoc project.Kind[merge.Doc] = "shared"

// recordClock is the clock of this machine's stamps.
const recordClock project.Kind[merge.Clock] = "shared_clock"

// Collect returns the documents of frames that were written here after a revision and
// differ from what was agreed on, after it noted them as agreed on; and the revision up to
// which it looked. After 0 it looks at all frames. machine is the id of this machine.
func Collect(ctx context.Context, p *project.Project, machine string, after int64) (docs []merge.Doc, revision int64, err error) {
	panic("not yet")
}

// Take merges documents of other machines into the tree, in transactions of at most some
// 50 ms, and writes the events of what changed, with the machine in their data. It returns
// the documents that say more than those that came, which their senders do not have yet.
func Take(ctx context.Context, p *project.Project, machine string, docs []merge.Doc) (owed []merge.Doc, err error) {
	panic("not yet")
}

// Known calls f for each document that was agreed on.
func Known(ctx context.Context, p *project.Project, f func(merge.Doc) error) error {
	panic("not yet")
}
