package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/samber/lo"
)

// A syncer measures the minimal cost of a durable write: 4 KB written and synced. Like SQLite's
// write-ahead log its file grows at first and is then overwritten from the start.
type syncer struct {
	file *os.File
	page [4096]byte
}

// syncerPages is the length at which the write-ahead log of a running server restarts.
const syncerPages = 1000

func newSyncer(dir string) *syncer {
	return &syncer{file: lo.Must(os.Create(filepath.Join(dir, "floor")))}
}

func (s *syncer) sync(run int) {
	lo.Must(s.file.WriteAt(s.page[:], int64(run%syncerPages*len(s.page))))
	lo.Must0(s.file.Sync())
}

// floors measures the two floors beside each other.
func (b *bench) floors(ctx context.Context) (found floors) {
	disk := newSyncer(b.dir)
	defer disk.close()
	samples := interleave(ctx, b.processes, func(int) { b.greet(ctx) }, disk.sync)
	return floors{Hello: samples[0].p50(), SyncP50: samples[1].p50(), SyncP99: samples[1].p99()}
}

// greet runs the floor of processes.
func (b *bench) greet(ctx context.Context) {
	output(exec.CommandContext(ctx, b.hello))
}

func (s *syncer) close() { lo.Must0(s.file.Close()) }
