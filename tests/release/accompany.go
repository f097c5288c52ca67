package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"flame/cli"
	"flame/flame-hub/command"
	"flame/tests/hoststest"
)

// accompany puts into the root what comes with the programs: licence and documents, completions,
// manual pages, and the licences of what is linked.
func (r *releaser) accompany(ctx context.Context, built *buildinfo.BuildInfo) error {
	documents, err := files(r.source, "LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md")
	if err != nil {
		return err
	}
	if err := fill(r.root, documents); err != nil {
		return err
	}
	all := cli.All(hoststest.Known(), command.All())
	for name, generate := range completions(all) {
		var script bytes.Buffer
		if err := generate(&script); err != nil {
			return err
		}
		if err := write(filepath.Join(r.root, "completions", name), script.Bytes()); err != nil {
			return err
		}
	}
	manual := filepath.Join(r.root, "man")
	if err := os.MkdirAll(manual, 0o755); err != nil {
		return err
	}
	// Pages have the date of the commit, and no mark of the generator's, which would be today's.
	all.DisableAutoGenTag = true
	if err := doc.GenManTree(all, &doc.GenManHeader{Section: "1", Source: "flame " + r.version, Manual: "Flame", Date: &r.made}, manual); err != nil {
		return err
	}
	notices, err := r.notices(ctx, built)
	if err != nil {
		return err
	}
	return write(filepath.Join(r.root, "NOTICES"), notices)
}

// completions are the scripts for shells, by the names that the shells look for.
func completions(all *cobra.Command) map[string]func(*bytes.Buffer) error {
	return map[string]func(*bytes.Buffer) error{
		"flame.bash": func(b *bytes.Buffer) error { return all.GenBashCompletionV2(b, true) },
		"_flame":     func(b *bytes.Buffer) error { return all.GenZshCompletion(b) },
		"flame.fish": func(b *bytes.Buffer) error { return all.GenFishCompletion(b, true) },
	}
}

var licences = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|copyright|patents)([.-].*)?$`)

// notices returns the licences of Go and of all modules in the programs. A module without one is
// an error: it must not be distributed.
func (r *releaser) notices(ctx context.Context, built *buildinfo.BuildInfo) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintln(&b, "Flame contains the following software, whose licences follow.")
	add := func(what, dir string) error {
		found := false
		entries, err := os.ReadDir(dir)
		for _, entry := range entries {
			if !licences.MatchString(entry.Name()) || entry.IsDir() {
				continue
			}
			raw, err := os.ReadFile(filepath.Join(dir, entry.Name()))
			if err != nil {
				return err
			}
			found = true
			fmt.Fprintf(&b, "\n%s\n%s, %s\n\n%s\n", strings.Repeat("=", 80), what, entry.Name(), bytes.TrimSpace(raw))
		}
		if err == nil && !found {
			err = fmt.Errorf("%s has no licence in %s", what, dir)
		}
		return err
	}
	goroot, err := run(ctx, r.source, nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	if err := add("Go "+built.GoVersion, strings.TrimSpace(goroot)); err != nil {
		return nil, err
	}
	for _, m := range built.Deps {
		if m.Replace != nil && strings.HasPrefix(m.Replace.Path, ".") {
			continue // by a folder of this repository
		}
		dir, err := run(ctx, r.source, nil, "go", "list", "-m", "-f", "{{.Dir}}", m.Path)
		if err == nil {
			err = add(m.Path+" "+m.Version, strings.TrimSpace(dir))
		}
		if err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// files reads files of a folder.
func files(folder string, names ...string) (map[string][]byte, error) {
	found := map[string][]byte{}
	for _, name := range names {
		raw, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		found[name] = raw
	}
	return found, nil
}

// fill writes files into a folder, some of which may be run.
func fill(folder string, content map[string][]byte, programs ...string) error {
	for name, raw := range content {
		if err := write(filepath.Join(folder, name), raw); err != nil {
			return err
		}
	}
	for _, program := range programs {
		if err := os.Chmod(filepath.Join(folder, program), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// write writes a file and the folders above it.
func write(file string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o644)
}
