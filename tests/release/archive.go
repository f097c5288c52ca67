package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// archive packs a folder, in the order of names and without what differs from machine to machine.
func archive(file, folder string, made time.Time) (err error) {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	zipped, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	packed := tar.NewWriter(zipped)
	top := strings.TrimSuffix(filepath.Base(file), ".tar.gz")
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
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
		header := &tar.Header{Name: top + "/" + filepath.ToSlash(name), Size: int64(len(raw)), Mode: 0o644, ModTime: made, Format: tar.FormatPAX}
		if name == "flame" {
			header.Mode = 0o755
		}
		if err := packed.WriteHeader(header); err != nil {
			return err
		}
		_, err = packed.Write(raw)
		return err
	})
	return errors.Join(err, packed.Close(), zipped.Close())
}

// sums writes the SHA-256 sums of all files in a folder, as sha256sum --check reads them.
func sums(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, entry := range entries {
		file, err := os.Open(filepath.Join(folder, entry.Name()))
		if err != nil {
			return err
		}
		sum := sha256.New()
		_, err = io.Copy(sum, file)
		if err = errors.Join(err, file.Close()); err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sum.Sum(nil), entry.Name())
	}
	return os.WriteFile(filepath.Join(folder, "SHA256SUMS"), []byte(b.String()), 0o644)
}
