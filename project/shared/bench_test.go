package shared_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/merge"
	"flame/project"
	"flame/project/shared"
	"flame/store"
)

// fresh returns a project without data, on a store as processes have it.
func fresh(b *testing.B) *project.Project {
	kept := store.Open(b.TempDir(), store.Options{LongLived: true})
	b.Cleanup(func() { require.NoError(b, kept.Close()) })
	return &project.Project{
		Store: kept, Log: slog.New(slog.DiscardHandler),
		Now: func() core.Millis { return core.MillisOf(time.Now()) }, NewID: project.NewID,
	}
}

// documents returns those of frames as agents leave them, one in ten in progress.
func documents(n int) []merge.Doc {
	c := merge.Clock{Machine: "a"}
	now := core.MillisOf(time.Now())
	docs := make([]merge.Doc, n)
	for i := range docs {
		f := core.Frame{
			ID: fmt.Sprintf("frame-%08d", i), Status: core.Completed, Session: "s", CreatedAt: now, StartedAt: now, EndedAt: now, UpdatedAt: now,
			Goal: fmt.Sprintf("Make part %d of the parser read what it wrote", i), Summary: strings.Repeat("It reads all of it now. ", 20),
			Artifacts: []string{"parser/read.go", "parser/read_test.go"}, Decisions: []string{fmt.Sprintf("part %d is read lazily", i)},
			Usage: core.Usage{TokensIn: 10_000, TokensOut: 700, CostUSD: 0.25, ToolCalls: 12},
		}
		if i > 0 {
			f.Parent = fmt.Sprintf("frame-%08d", (i-1)/10)
		}
		if i%10 == 0 {
			f.Status, f.Summary, f.EndedAt = core.InProgress, "", 0
		}
		docs[i] = merge.Absorb(merge.Doc{}, f, "a", func() merge.Stamp { return c.Tick(now) })
	}
	return docs
}

// BenchmarkTake is what a machine does that joins, and what it does when it connects again.
func BenchmarkTake(b *testing.B) {
	docs := documents(10_000)
	for name, before := range map[string]int{"of a fresh machine": 0, "of one that has it all": 1} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				p := fresh(b)
				for range before {
					_, err := shared.Tree{Project: p, Machine: "b"}.Take(context.Background(), docs)
					require.NoError(b, err)
				}
				b.StartTimer()
				owed, err := shared.Tree{Project: p, Machine: "b"}.Take(context.Background(), docs)
				require.NoError(b, err)
				require.Empty(b, owed)
			}
		})
	}
}

// BenchmarkCollect is what a machine does that joins with a tree of its own, and what it
// does once it has taken in that of others.
func BenchmarkCollect(b *testing.B) {
	docs := documents(10_000)
	for name, known := range map[string]bool{"all is new": false, "nothing is new": true} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				p := fresh(b)
				if known {
					_, err := shared.Tree{Project: p, Machine: "b"}.Take(context.Background(), docs)
					require.NoError(b, err)
				} else {
					save(b, p, docs)
				}
				b.StartTimer()
				_, _, err := shared.Tree{Project: p, Machine: "b"}.Collect(context.Background(), 0)
				require.NoError(b, err)
			}
		})
	}
}

func save(b *testing.B, p *project.Project, docs []merge.Doc) {
	require.NoError(b, p.Store.Update(context.Background(), func(tx project.Tx) error {
		for _, d := range docs {
			if err := tx.SaveFrame(d.Frame("a")); err != nil {
				return err
			}
		}
		return nil
	}))
}
