package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra/doc"

	"github.com/samber/lo"

	"flame/cli"
	"flame/flame-hub/command"
	"flame/tests/hoststest"
)

// accompany puts into the root what comes with the programs: licence and documents, completions,
// manual pages, and the licences of what is linked.
func (r *releaser) accompany(ctx context.Context, built *buildinfo.BuildInfo) {
	documents := files(r.source, "LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md")
	fill(r.root, documents)
	all := cli.All(hoststest.Known(), command.All())
	var bash, zsh, fish bytes.Buffer
	lo.Must0(errors.Join(all.GenBashCompletionV2(&bash, true), all.GenZshCompletion(&zsh), all.GenFishCompletion(&fish, true)))
	// By the names that the shells look for.
	fill(filepath.Join(r.root, "completions"), map[string][]byte{"flame.bash": bash.Bytes(), "_flame": zsh.Bytes(), "flame.fish": fish.Bytes()})
	manual := filepath.Join(r.root, "man")
	lo.Must0(os.MkdirAll(manual, 0o755))
	// Pages have the date of the commit, and no mark of the generator's, which would be today's.
	all.DisableAutoGenTag = true
	lo.Must0(doc.GenManTree(all, &doc.GenManHeader{Section: "1", Source: "flame " + r.version, Manual: "Flame", Date: &r.made}, manual))
	write(filepath.Join(r.root, "NOTICES"), r.notices(ctx, built))
}

var licences = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|copyright|patents)([.-].*)?$`)

// notices returns the licences of Go and of all modules in the programs. A module without one is
// an error: it must not be distributed.
func (r *releaser) notices(ctx context.Context, built *buildinfo.BuildInfo) []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, "Flame contains the following software, whose licences follow.")
	add := func(what, dir string) {
		found := false
		for _, entry := range lo.Must(os.ReadDir(dir)) {
			if !licences.MatchString(entry.Name()) || entry.IsDir() {
				continue
			}
			raw := lo.Must(os.ReadFile(filepath.Join(dir, entry.Name())))
			found = true
			fmt.Fprintf(&b, "\n%s\n%s, %s\n\n%s\n", strings.Repeat("=", 80), what, entry.Name(), bytes.TrimSpace(raw))
		}
		lo.Must0(found, "%s has no licence in %s", what, dir)
	}
	add("Go "+built.GoVersion, strings.TrimSpace(run(ctx, r.source, nil, "go", "env", "GOROOT")))
	for _, m := range built.Deps {
		if m.Replace != nil && strings.HasPrefix(m.Replace.Path, ".") {
			continue // by a folder of this repository
		}
		add(m.Path+" "+m.Version, strings.TrimSpace(run(ctx, r.source, nil, "go", "list", "-m", "-f", "{{.Dir}}", m.Path)))
	}
	return b.Bytes()
}

// files reads files of a folder.
func files(folder string, names ...string) map[string][]byte {
	found := map[string][]byte{}
	for _, name := range names {
		found[name] = lo.Must(os.ReadFile(filepath.Join(folder, name)))
	}
	return found
}

// fill writes files into a folder, some of which may be run.
func fill(folder string, content map[string][]byte, programs ...string) {
	for name, raw := range content {
		write(filepath.Join(folder, name), raw)
	}
	for _, program := range programs {
		lo.Must0(os.Chmod(filepath.Join(folder, program), 0o755))
	}
}

// write writes a file and the folders above it.
func write(file string, content []byte) {
	lo.Must0(os.MkdirAll(filepath.Dir(file), 0o755))
	lo.Must0(os.WriteFile(file, content, 0o644))
}
