package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/samber/lo"

	"flame/config/env"
	"flame/hub"
)

// archive packs a folder as one named top, in the order of names and without what differs from
// machine to machine.
func archive(file, folder, top string, made time.Time) {
	out := lo.Must(os.Create(file))
	defer func() { lo.Must0(out.Close()) }()
	pressed := lo.Must(gzip.NewWriterLevel(out, gzip.BestCompression))
	packed := tar.NewWriter(pressed)
	eachFile(folder, func(name string, raw []byte, mode fs.FileMode) {
		header := &tar.Header{Name: top + "/" + name, Size: int64(len(raw)), Mode: int64(mode), ModTime: made, Format: tar.FormatPAX}
		lo.Must0(packed.WriteHeader(header))
		lo.Must(packed.Write(raw))
	})
	lo.Must0(errors.Join(packed.Close(), pressed.Close()))
}

// eachFile calls f with the files of a folder: name, content, and the mode that each is packed with.
// Whether somebody may run it is all that counts.
func eachFile(folder string, f func(name string, raw []byte, mode fs.FileMode)) {
	lo.Must0(filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		mode := fs.FileMode(0o644)
		if lo.Must(os.Stat(path)).Mode()&0o111 != 0 {
			mode = 0o755
		}
		f(filepath.ToSlash(lo.Must(filepath.Rel(folder, path))), lo.Must(os.ReadFile(path)), mode)
		return nil
	}))
}

// zipped packs a folder as a zip file, as archive does.
func zipped(file, folder string, made time.Time) {
	out := lo.Must(os.Create(file))
	defer func() { lo.Must0(out.Close()) }()
	packed := zip.NewWriter(out)
	eachFile(folder, func(name string, raw []byte, mode fs.FileMode) {
		header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: made}
		header.SetMode(mode)
		lo.Must(lo.Must(packed.CreateHeader(header)).Write(raw))
	})
	lo.Must0(packed.Close())
}

// sums writes the SHA-256 sums of all files in a folder, as sha256sum --check reads them.
func sums(folder string) {
	var b strings.Builder
	for _, entry := range lo.Must(os.ReadDir(folder)) {
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(lo.Must(os.ReadFile(filepath.Join(folder, entry.Name())))), entry.Name())
	}
	write(filepath.Join(folder, "SHA256SUMS"), []byte(b.String()))
}

// Tools of others, which go run downloads.
const (
	nfpm      = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2"
	cyclonedx = "github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0"
)

// pack makes the packages of the system that was built last, and lists what is in its programs.
func (r *releaser) pack(ctx context.Context, s system) {
	for _, program := range []string{"flame", hub.Program} {
		bill := filepath.Join(r.dist, fmt.Sprintf("%s_%s_%s.sbom.json", program, r.version, s))
		run(ctx, r.source, nil, "go", "run", cyclonedx, "bin", "-json", "-licenses", "-noserial", "-output", bill, filepath.Join(r.root, program))
		r.settle(bill)
	}
	if s.os != "linux" {
		return
	}
	config := filepath.Join(filepath.Dir(r.root), s.String()+".yaml")
	lo.Must0(os.WriteFile(config, []byte(r.packageOf(s)), 0o644))
	env := []string{"SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.made.Unix(), 10)}
	for _, format := range []string{"deb", "rpm"} {
		target := filepath.Join(r.dist, fmt.Sprintf("flame_%s_%s.%s", r.version, s, format))
		run(ctx, r.source, env, "go", "run", nfpm, "package", "--config", config, "--packager", format, "--target", target)
	}
}

// settle gives a bill of materials the time of the commit, and leaves out the sums of the tool that
// wrote it, which differ from machine to machine.
func (r *releaser) settle(bill string) {
	var document map[string]any
	lo.Must0(json.Unmarshal(lo.Must(os.ReadFile(bill)), &document))
	about, ok := document["metadata"].(map[string]any)
	lo.Must0(ok, bill+" has no metadata")
	about["timestamp"] = r.made.Format(time.RFC3339)
	tools, _ := about["tools"].([]any)
	for _, tool := range tools {
		if tool, ok := tool.(map[string]any); ok {
			delete(tool, "hashes")
		}
	}
	write(bill, encode(document))
}

// packageOf describes the package of a system to nfpm.
func (r *releaser) packageOf(s system) string {
	var b strings.Builder
	fmt.Fprintf(&b, `name: flame
arch: %s
platform: linux
version: %q
section: devel
maintainer: %q
description: %q
license: MIT
recommends: [git]
mtime: %q
rpm: {buildhost: flame.invalid, group: Development/Tools}
contents:
  - {dst: /usr/share/doc/flame, type: dir, file_info: {mode: 0755}}
`, s.arch, r.version, env.Maintainer, env.Summary, r.made.Format(time.RFC3339))
	for _, file := range [][2]string{
		{"flame", "/usr/bin/flame"}, {hub.Program, "/usr/bin/" + hub.Program}, {"completions/flame.bash", "/usr/share/bash-completion/completions/flame"},
		{"completions/_flame", "/usr/share/zsh/vendor-completions/_flame"}, {"completions/flame.fish", "/usr/share/fish/vendor_completions.d/flame.fish"},
		{"LICENSE", "/usr/share/doc/flame/copyright"}, {"NOTICES", "/usr/share/doc/flame/NOTICES"}, {"README.md", "/usr/share/doc/flame/README.md"},
		{"man/*", "/usr/share/man/man1/"},
	} {
		fmt.Fprintf(&b, "  - {src: %q, dst: %q, file_info: {mtime: %q, owner: root, group: root}}\n",
			filepath.Join(r.root, file[0]), file[1], r.made.Format(time.RFC3339))
	}
	return b.String()
}
