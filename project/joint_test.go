package project_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/stack"
	"flame/tests/projecttest"
)

func TestOnlyAMissingFrameLeavesTheRestOfAnEvent(t *testing.T) {
	t.Parallel()
	missing, refused := core.NotFoundf("no frame"), core.Invalidf("no goal")
	tests := map[string]struct {
		fail []error
		want error
		kept int // frames
	}{
		"not found":             {[]error{missing}, nil, 2},
		"refused":               {[]error{refused}, core.ErrInvalid, 0},
		"not found and refused": {[]error{missing, refused}, core.ErrInvalid, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := projecttest.New(t)
			err := f.Batch(f.Ctx, func(p *project.Project) error {
				if _, err := stack.Push(f.Ctx, p, projecttest.Host("s"), "before", ""); err != nil {
					return err
				}
				for _, fails := range tt.fail {
					assert.ErrorIs(t, p.Store.Update(f.Ctx, func(project.Tx) error { return fails }), fails)
				}
				return nil
			})
			require.ErrorIs(t, err, tt.want)
			assert.Len(t, f.Draw(), tt.kept)
		})
	}
}
