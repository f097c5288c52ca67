package place_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/local/place"
)

// keyed returns the data folder of a project, as each process sees it, and the file with its key.
func keyed(t *testing.T) (data func() *place.Folder, path string) {
	s := newSite(t)
	s.dir("code")
	data = func() *place.Folder {
		f := s.folder("code", neverAsked(t))
		f.Hurried = true
		return f
	}
	return data, filepath.Join(data().Path, "stamp-key")
}

func TestTheStampKeyIsMadeOnceByItsFirstUse(t *testing.T) {
	data, path := keyed(t)
	_, err := data().StampKey(t.Context(), false)
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.NoDirExists(t, filepath.Dir(path), "reading makes nothing")
	keys := make([][]byte, 16)
	var hooks sync.WaitGroup
	for i := range keys {
		hooks.Go(func() {
			var err error
			keys[i], err = data().StampKey(t.Context(), true)
			assert.NoError(t, err)
		})
	}
	hooks.Wait()
	for _, key := range keys {
		assert.Equal(t, keys[0], key)
		assert.Len(t, key, 32)
	}
	info, err := os.Lstat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode())
	again, err := data().StampKey(t.Context(), false)
	require.NoError(t, err)
	assert.Equal(t, keys[0], again)
}

func TestABadStampKeyIsNoKey(t *testing.T) {
	tests := map[string]struct {
		change func(path string) error
		says   string
	}{
		"cut short":          {func(path string) error { return os.WriteFile(path, []byte("AAAA"), 0o600) }, "is damaged"},
		"empty":              {func(path string) error { return os.WriteFile(path, nil, 0o600) }, "is damaged"},
		"no text":            {func(path string) error { return os.WriteFile(path, []byte("\x00\xff"), 0o600) }, "is damaged"},
		"readable by others": {func(path string) error { return os.Chmod(path, 0o644) }, "others may read"},
		"a link": {func(path string) error {
			if err := os.Rename(path, path+"2"); err != nil {
				return err
			}
			return os.Symlink(path+"2", path)
		}, "is a symbolic link"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			data, path := keyed(t)
			_, err := data().StampKey(t.Context(), true)
			require.NoError(t, err)
			require.NoError(t, tt.change(path))
			for _, write := range []bool{false, true} {
				_, err := data().StampKey(t.Context(), write)
				require.ErrorContains(t, err, tt.says)
				assert.ErrorContains(t, err, path)
			}
		})
	}
}
