package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// A syncer measures the minimal cost of a durable write: 4 KB written and synced. Like SQLite's
// write-ahead log its file grows at first and is then overwritten from the start.
type syncer struct {
	file *os.File
	page [4096]byte
}

// syncerPages is the length at which the write-ahead log of a running server restarts.
const syncerPages = 1000

func newSyncer(dir string) (*syncer, error) {
	file, err := os.Create(filepath.Join(dir, "floor"))
	return &syncer{file: file}, err
}

func (s *syncer) sync(run int) error {
	_, err := s.file.WriteAt(s.page[:], int64(run%syncerPages*len(s.page)))
	return errors.Join(err, s.file.Sync())
}

// floors measures the two floors beside each other.
func (b *bench) floors(ctx context.Context) (found floors, err error) {
	disk, err := newSyncer(b.dir)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, disk.close()) }()
	samples, err := interleave(ctx, b.processes, func(int) error { return b.greet(ctx) }, disk.sync)
	if err != nil {
		return found, err
	}
	return floors{Hello: samples[0].p50(), SyncP50: samples[1].p50(), SyncP99: samples[1].p99()}, nil
}

// greet runs the floor of processes.
func (b *bench) greet(ctx context.Context) error {
	_, err := output(exec.CommandContext(ctx, b.hello))
	return err
}

func (s *syncer) close() error { return s.file.Close() }
