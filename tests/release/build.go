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
	"bytes"
	"context"
	"debug/buildinfo"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/samber/lo"

	"flame/hub"
)

// A system is what a program runs on.
type system struct{ os, arch string }

func (s system) String() string { return s.os + "_" + s.arch }

// systems are what flame is released for.
var systems = []system{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}

// A releaser makes the files of one commit.
type releaser struct {
	source  string    // a clone of the commit
	dist    string    // the folder for the files
	made    time.Time // the commit's time: all that is packed has it
	version string    // as `flame version` prints it, without v; known after the first build
	root    string    // folder with the files of the system built last, as the archive has them
}

// checkOut clones the commit of this folder's repository.
func checkOut(ctx context.Context, to string) *releaser {
	// The folder may belong to another user, as in a build of somebody else's checkout.
	trusting := to + ".gitconfig"
	write(trusting, []byte("[safe]\n\tdirectory = *\n"))
	run(ctx, "", []string{"GIT_CONFIG_GLOBAL=" + trusting}, "git", "clone", "--quiet", "--no-hardlinks", ".", to)
	seconds := run(ctx, to, nil, "git", "log", "-1", "--format=%ct")
	return &releaser{source: to, made: time.Unix(lo.Must(strconv.ParseInt(strings.TrimSpace(seconds), 10, 64)), 0).UTC()}
}

// build builds both programs for a system, and everything that contains them.
func (r *releaser) build(ctx context.Context, s system) {
	r.root = filepath.Join(filepath.Dir(r.source), s.String())
	lo.Must0(os.MkdirAll(r.root, 0o755))
	// GOFLAGS of the person who releases must not change the bytes.
	env := []string{"CGO_ENABLED=0", "GOOS=" + s.os, "GOARCH=" + s.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS="}
	run(ctx, r.source, env, "go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w", "-o", r.root, ".", "./"+hub.Program)
	built := lo.Must(buildinfo.ReadFile(filepath.Join(r.root, "flame")))
	second := lo.Must(buildinfo.ReadFile(filepath.Join(r.root, hub.Program)))
	for _, m := range second.Deps {
		if !slices.ContainsFunc(built.Deps, func(has *debug.Module) bool { return has.Path == m.Path }) {
			built.Deps = append(built.Deps, m)
		}
	}
	r.version = strings.TrimPrefix(built.Main.Version, "v")
	r.accompany(ctx, built)
	name := fmt.Sprintf("flame_%s_%s_%s.tar.gz", r.version, s.os, s.arch)
	archive(filepath.Join(r.dist, name), r.root, strings.TrimSuffix(name, ".tar.gz"), r.made)
	r.npmPart(s)
	r.bundle(s)
}

// run runs a program and returns what it prints on stdout.
func run(ctx context.Context, dir string, env []string, name string, args ...string) string {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	lo.Must0(cmd.Run(), "%s %s: %s", name, strings.Join(args, " "), said.Bytes())
	return out.String()
}

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
