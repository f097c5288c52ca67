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
)

// archive packs a folder as one named top, in the order of names and without what differs from
// machine to machine.
func archive(file, folder, top string, made time.Time) (err error) {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	pressed, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	packed := tar.NewWriter(pressed)
	err = eachFile(folder, func(name string, raw []byte, mode fs.FileMode) error {
		header := &tar.Header{Name: top + "/" + name, Size: int64(len(raw)), Mode: int64(mode), ModTime: made, Format: tar.FormatPAX}
		if err := packed.WriteHeader(header); err != nil {
			return err
		}
		_, err = packed.Write(raw)
		return err
	})
	return errors.Join(err, packed.Close(), pressed.Close())
}

// eachFile calls f with the files of a folder: name, content, and the mode that each is packed with.
// Whether somebody may run it is all that counts.
func eachFile(folder string, f func(name string, raw []byte, mode fs.FileMode) error) error {
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if info.Mode()&0o111 != 0 {
			mode = 0o755
		}
		return f(filepath.ToSlash(name), raw, mode)
	})
}

// zipped packs a folder as a zip file, as archive does.
func zipped(file, folder string, made time.Time) (err error) {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	packed := zip.NewWriter(out)
	err = eachFile(folder, func(name string, raw []byte, mode fs.FileMode) error {
		header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: made}
		header.SetMode(mode)
		to, err := packed.CreateHeader(header)
		if err != nil {
			return err
		}
		_, err = to.Write(raw)
		return err
	})
	return errors.Join(err, packed.Close())
}

// sums writes the SHA-256 sums of all files in a folder, as sha256sum --check reads them.
func sums(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, entry := range entries {
		raw, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(raw), entry.Name())
	}
	return os.WriteFile(filepath.Join(folder, "SHA256SUMS"), []byte(b.String()), 0o644)
}
