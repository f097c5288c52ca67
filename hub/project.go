package hub

import (
	"context"

	"flame/core/merge"
	"flame/project"
	"flame/project/shared"
)

// TreeOf returns that of a project on a machine.
func TreeOf(p *project.Project, machine string) Tree { return projectTree{p, machine} }

type projectTree struct {
	project *project.Project
	machine string
}

func (t projectTree) Collect(ctx context.Context, after int64) (docs []merge.Doc, revision int64, err error) {
	return shared.Collect(ctx, t.project, t.machine, after)
}

func (t projectTree) Take(ctx context.Context, docs []merge.Doc) (owed []merge.Doc, err error) {
	return shared.Take(ctx, t.project, t.machine, docs)
}

func (t projectTree) Known(ctx context.Context, f func(merge.Doc) error) error {
	return shared.Known(ctx, t.project, f)
}
