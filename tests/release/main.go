// Command release makes the files of a release from the commit that is checked out:
//
//	go run ./tests/release [-out dist] [-system linux_amd64] [-packages]
//
// For each system an archive, a package for npm and a bundle for desktop clients (MCPB); a package
// for npm that chooses among those; server.json for the registry of MCP servers; and a list of
// SHA-256 sums. With -packages also deb and rpm packages and bills of materials, by tools that it
// downloads. Two runs write the same bytes. It builds a clone of the commit, so changes that are not
// committed have no part in it; the version comes from the commit's tag. It uploads nothing.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
)

func main() {
	out := flag.String("out", "dist", "folder of the files; an old one is replaced")
	only := flag.String("system", "", "make the files of this system alone, such as linux_amd64")
	packages := flag.Bool("packages", false, "also make deb and rpm packages and bills of materials; downloads nfpm and cyclonedx-gomod")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := release(ctx, *out, *only, *packages); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release writes all files into a new folder that then replaces out.
func release(ctx context.Context, out, only string, packages bool) error {
	chosen := slices.DeleteFunc(slices.Clone(systems), func(s system) bool { return only != "" && s.String() != only })
	if len(chosen) == 0 {
		return fmt.Errorf("flame is not released for %s, only for %v", only, systems)
	}
	scratch, err := os.MkdirTemp("", "flame-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	r, err := checkOut(ctx, filepath.Join(scratch, "source"))
	if err != nil {
		return err
	}
	r.dist, r.systems = filepath.Join(scratch, "dist"), chosen
	if err := os.Mkdir(r.dist, 0o755); err != nil {
		return err
	}
	for _, s := range chosen {
		if err := r.build(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
		if packages {
			if err := r.pack(ctx, s); err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
		}
	}
	if err := r.npm(); err != nil {
		return err
	}
	if err := r.describe(); err != nil {
		return err
	}
	if err := sums(r.dist); err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	return os.CopyFS(out, os.DirFS(r.dist))
}
