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
	"os"
	"os/signal"
	"path/filepath"
	"slices"

	"github.com/samber/lo"
)

func main() {
	out := flag.String("out", "dist", "folder of the files; an old one is replaced")
	only := flag.String("system", "", "make the files of this system alone, such as linux_amd64")
	packages := flag.Bool("packages", false, "also make deb and rpm packages and bills of materials; downloads nfpm and cyclonedx-gomod")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	release(ctx, *out, *only, *packages)
}

// release writes all files into a new folder that then replaces out.
func release(ctx context.Context, out, only string, packages bool) {
	chosen := slices.DeleteFunc(slices.Clone(systems), func(s system) bool { return only != "" && s.String() != only })
	lo.Must0(len(chosen) > 0, "flame is not released for %s, only for %v", only, systems)
	scratch := lo.Must(os.MkdirTemp("", "flame-release-"))
	defer os.RemoveAll(scratch)
	r := checkOut(ctx, filepath.Join(scratch, "source"))
	r.dist = filepath.Join(scratch, "dist")
	lo.Must0(os.Mkdir(r.dist, 0o755))
	for _, s := range chosen {
		r.build(ctx, s)
		if packages {
			r.pack(ctx, s)
		}
	}
	r.npm()
	r.describe()
	sums(r.dist)
	lo.Must0(os.RemoveAll(out))
	lo.Must0(os.CopyFS(out, os.DirFS(r.dist)))
}
