// Command showcase fills a project with two days of work of agents, for the pictures of the page,
// or changes frames of one, like busy agents.
//
//	go run ./tests/showcase [-touch N] DIR
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"flame/core"
	"flame/local/place"
	"flame/project"
	"flame/store"
)

func main() {
	touch := flag.Int("touch", 0, "change so many frames of the project, rather than fill it")
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(context.Background(), flag.Arg(0), *touch); err != nil {
		fmt.Fprintln(os.Stderr, "showcase:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir string, touch int) error {
	noGit := func(context.Context, string) (string, error) { return "", nil }
	data := place.FolderOf(place.At(dir), place.Env{Home: os.Getenv("HOME")}, noGit)
	kept := store.Open(data.Path, store.Options{Ready: data.Ready})
	if touch > 0 {
		return errors.Join(change(ctx, kept, touch), kept.Close())
	}
	s := &scene{now: core.MillisOf(time.Now())}
	return errors.Join(kept.Update(ctx, s.play), kept.Close())
}

// change changes count frames, some at once: the goal and the tokens of one after the other.
func change(ctx context.Context, s *store.Store, count int) error {
	const atOnce = 20
	var frames []core.Frame
	if err := s.View(ctx, func(tx project.Tx) (err error) {
		frames, err = tx.FramesChangedSince(0)
		return err
	}); err != nil || len(frames) == 0 {
		return err
	}
	for done := 0; done < count; done += atOnce {
		if err := s.Update(ctx, func(tx project.Tx) error {
			now := core.MillisOf(time.Now())
			for i := range atOnce {
				f := &frames[(done+i)%len(frames)]
				f.Goal, f.UpdatedAt = fmt.Sprintf("Change %d", done+i), now
				f.Usage.TokensIn = int64(done+i)/int64(len(frames)) + 1
				if err := tx.SaveFrame(*f); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}
