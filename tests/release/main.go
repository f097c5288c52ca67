// Command release makes the files of a release from the commit that is checked out:
//
//	go run ./tests/release [-out dist] [-packages]
//
// An archive for each system, a list of their SHA-256 sums, and with -packages also deb and rpm
// packages and a bill of materials, by tools that it downloads. Two runs write the same bytes. It
// builds a clone of the commit, so changes that are not committed have no part in it; the version
// comes from the commit's tag.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

func main() {
	out := flag.String("out", "dist", "folder of the files; an old one is replaced")
	packages := flag.Bool("packages", false, "also make deb and rpm packages and bills of materials; downloads nfpm and cyclonedx-gomod")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := release(ctx, *out, *packages); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release writes all files into a new folder that then replaces out.
func release(ctx context.Context, out string, packages bool) error {
	scratch, err := os.MkdirTemp("", "flame-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	r, err := checkOut(ctx, filepath.Join(scratch, "source"))
	if err != nil {
		return err
	}
	r.dist = filepath.Join(scratch, "dist")
	if err := os.Mkdir(r.dist, 0o755); err != nil {
		return err
	}
	for _, s := range systems {
		if err := r.build(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
		if packages {
			if err := r.pack(ctx, s); err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
		}
	}
	if err := sums(r.dist); err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	return os.CopyFS(out, os.DirFS(r.dist))
}
