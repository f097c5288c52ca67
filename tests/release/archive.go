package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/samber/lo"
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
