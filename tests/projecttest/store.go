package projecttest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/project"
	"flame/store"
	"flame/store/disk"
)

// Open opens the store of a data folder until the test ends.
func Open(t testing.TB, data string, o store.Options) *store.Store {
	kept := store.Open(data, Copied(data, o))
	t.Cleanup(func() { assert.NoError(t, kept.Close()) })
	return kept
}

// Copied returns options with which the first write to a data folder copies an empty database: to
// make one takes longer than most tests.
func Copied(data string, o store.Options) store.Options {
	file := filepath.Join(data, disk.Name)
	o.Ready = func(_ context.Context, write bool) (bool, error) {
		if _, err := os.Lstat(file); err == nil || !write {
			return true, nil
		}
		raw, err := empty()
		unfinished := file + "." + project.NewID("test")
		err = errors.Join(err, os.MkdirAll(data, 0o700), os.WriteFile(unfinished, raw, 0o600))
		if made := os.Link(unfinished, file); !errors.Is(made, fs.ErrExist) { // another store may have been faster
			err = errors.Join(err, made)
		}
		return true, errors.Join(err, os.Remove(unfinished))
	}
	return o
}

var empty = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "flame-test-")
	if err != nil {
		return nil, err
	}
	kept := store.Open(dir, store.Options{})
	err = kept.Update(context.Background(), func(project.Tx) error { return nil })
	err = errors.Join(err, kept.Close())
	raw, unread := os.ReadFile(filepath.Join(dir, disk.Name))
	return raw, errors.Join(err, unread, os.RemoveAll(dir))
})
