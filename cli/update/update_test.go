package update_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/cli/update"
	"flame/core"
)

const system, processor = "linux", "amd64"

// program is a flame of a version.
func program(version string) string {
	return "#!/bin/sh\n[ \"$*\" = 'version --json' ] && echo '{\"version\": \"v" + version + "\"}'\n"
}

// An entry is one of an archive.
type entry struct {
	name, text, link string
	kind             byte
	size             int64 // that the archive claims; 0: of the text
}

// good are the entries of an archive of a version.
func good(version string) []entry {
	top := "flame_" + version + "_linux_amd64/"
	return []entry{{name: top + "README.md", text: "Read me."}, {name: top + "flame", text: program(version)}}
}

func packed(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	pressed := gzip.NewWriter(&b)
	files := tar.NewWriter(pressed)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Typeflag: e.kind, Linkname: e.link, Mode: 0o755, Size: max(e.size, int64(len(e.text)))}
		require.NoError(t, files.WriteHeader(header))
		_, err := files.Write([]byte(e.text))
		require.NoError(t, err)
	}
	_ = files.Close() // an entry may be shorter than it claims
	require.NoError(t, pressed.Close())
	return b.Bytes()
}

// release writes a folder with an archive and its sum.
func release(t *testing.T, version string, archive []byte) string {
	t.Helper()
	dir, name := t.TempDir(), update.Archive(version, system, processor)
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), archive, 0o644))
	list := fmt.Sprintf("%x  %s\n%x  flame_%s_darwin_arm64.tar.gz\n", sha256.Sum256(archive), name, sha256.Sum256(nil), version)
	require.NoError(t, os.WriteFile(filepath.Join(dir, update.Sums), []byte(list), 0o644))
	return dir
}

// installed writes a program of version 1.0.0 and returns its path.
func installed(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bin", "flame")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(program("1.0.0")), 0o755))
	return path
}

// updates does what `flame update` does.
func updates(ctx context.Context, path, from string) error {
	found, err := update.Find(ctx, from, system, processor)
	if err != nil {
		return err
	}
	raw, err := found.Program(ctx)
	if err != nil {
		return err
	}
	_, err = update.Install(ctx, path, raw, found.Version)
	return err
}

func holds(t *testing.T, path, version string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, program(version), string(raw))
}

// Tests that run what they wrote run alone: a process that another test starts just then could still
// hold the file open.
func TestUpdateAndBack(t *testing.T) {
	dir := release(t, "2.0.0-rc.1", packed(t, good("2.0.0-rc.1")...))
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	for name, from := range map[string]string{"from a folder": dir, "from a server": server.URL} {
		t.Run(name, func(t *testing.T) {
			path := installed(t)
			require.NoError(t, updates(t.Context(), path, from))
			holds(t, path, "2.0.0-rc.1")
			holds(t, path+".previous", "1.0.0")
			entries, err := os.ReadDir(filepath.Dir(path))
			require.NoError(t, err)
			assert.Len(t, entries, 2, "nothing else is left")

			for _, version := range []string{"1.0.0", "2.0.0-rc.1"} {
				back, err := update.Back(t.Context(), path)
				require.NoError(t, err)
				assert.Equal(t, version, back)
				holds(t, path, version)
			}
		})
	}
	_, err := update.Back(t.Context(), installed(t))
	require.ErrorIs(t, err, core.ErrNotFound)
}

// What others wrote is never unpacked into files, and never run before it is what the list says.
func TestUpdateRefusesWhatIsNotARelease(t *testing.T) {
	const version = "2.0.0"
	outside := filepath.Join(t.TempDir(), "outside")
	top := "flame_2.0.0_linux_amd64/"
	damaged := release(t, version, packed(t, good(version)...))
	require.NoError(t, os.WriteFile(filepath.Join(damaged, update.Archive(version, system, processor)), packed(t, good("6.6.6")...), 0o644))
	half := release(t, version, packed(t, good(version)...))
	raw, err := os.ReadFile(filepath.Join(half, update.Archive(version, system, processor)))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(half, update.Archive(version, system, processor)), raw[:len(raw)/2], 0o644))
	long := release(t, version, nil)
	require.NoError(t, os.WriteFile(filepath.Join(long, update.Sums), bytes.Repeat([]byte("x"), 1<<20), 0o644))
	pipe := release(t, version, nil)
	require.NoError(t, os.Remove(filepath.Join(pipe, update.Sums)))
	require.NoError(t, os.Mkdir(filepath.Join(pipe, update.Sums), 0o755))
	climbing := release(t, version, nil)
	require.NoError(t, os.WriteFile(filepath.Join(climbing, update.Sums), []byte(strings.Repeat("0", 64)+"  flame_2/../../x_linux_amd64.tar.gz\n"), 0o644))
	tests := map[string]struct{ from, says string }{
		"nowhere":                   {filepath.Join(outside, "no"), "no such file"},
		"no address is known":       {"", "no public address"},
		"without encryption":        {"http://example.com/flame", "only from a folder or by https"},
		"another protocol":          {"ftp://example.com/flame", "only from a folder or by https"},
		"the archive was exchanged": {damaged, "damaged or was changed"},
		"half of a download":        {half, "damaged or was changed"},
		"an endless list":           {long, "larger than"},
		"a folder as the list":      {pipe, "cannot be read"},
		"a name that climbs":        {climbing, "lists no release"},
		"no archive":                {release(t, version, []byte("no archive")), "gzip"},
		"no program in it":          {release(t, version, packed(t, entry{name: "flame", text: program(version)})), "it has no file"},
		"a path that climbs": {release(t, version, packed(t, entry{name: "../../../../../../../../" + outside, text: "x"},
			entry{name: top + "../" + top + "flame", text: program(version)})), "it has no file"},
		"a link as the program": {release(t, version, packed(t, entry{name: top + "flame", kind: tar.TypeSymlink, link: "/bin/sh"})), "is no program"},
		"a huge program":        {release(t, version, packed(t, entry{name: top + "flame", size: 1 << 40, text: "x"})), "is no program"},
		"much before the program": {release(t, version, packed(t, append([]entry{{name: top + "zeros", text: strings.Repeat("\x00", 193<<20)}},
			good(version)...)...)), "damaged or too large"},
		"another version": {release(t, version, packed(t, entry{name: top + "flame", text: program("3.0.0")})), `says that it is version "3.0.0"`},
		"it does not run": {release(t, version, packed(t, entry{name: top + "flame", text: "\x7fELF of another machine"})), "does not run here"},
		"it fails":        {release(t, version, packed(t, entry{name: top + "flame", text: "#!/bin/sh\nexit 1\n"})), "does not run here"},
		"it says nothing": {release(t, version, packed(t, entry{name: top + "flame", text: "#!/bin/sh\n"})), "does not run here"},
		"a huge archive":  {release(t, version, make([]byte, 65<<20)), "larger than"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := installed(t)
			err := updates(t.Context(), path, tt.from)
			require.ErrorContains(t, err, tt.says)
			holds(t, path, "1.0.0")
			entries, err := os.ReadDir(filepath.Dir(path))
			require.NoError(t, err)
			assert.Len(t, entries, 1, "nothing is left")
			assert.NoFileExists(t, outside)
		})
	}
}

func TestUpdateFromServersThatFail(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		serve http.HandlerFunc
		says  string
	}{
		"it has none": {http.NotFound, "404"},
		"it sends flame away": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://example.com/flame", http.StatusFound)
		}, "without https"},
		"it sends flame around": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }, "too often"},
		"it ends in the middle": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("half"))
		}, "cannot be read"},
		"it never ends": {func(w http.ResponseWriter, _ *http.Request) {
			for range 1000 {
				if _, err := w.Write(bytes.Repeat([]byte("x"), 1<<10)); err != nil {
					return
				}
			}
		}, "larger than"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(tt.serve)
			t.Cleanup(server.Close)
			_, err := update.Find(t.Context(), server.URL, system, processor)
			require.ErrorContains(t, err, tt.says)
			assert.NotEmpty(t, core.HintOf(err)+"x")
		})
	}
}

func TestUpdateLeavesOthersProgramsAlone(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	for in, says := range map[string]string{
		"lib/node_modules/x/flame": "npm", "go/bin/flame": "go install", "go-build12/b001/exe/flame": "go run",
		"usr/bin/flame": "package manager", "Cellar/flame/1/bin/flame": "Homebrew", ".local/bin/flame": "", "flame_1.0.0_linux_amd64/flame": "",
	} {
		path := filepath.Join(top, in)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, nil, 0o755))
		link := filepath.Join(top, "link-to-"+strings.ReplaceAll(in, "/", "-"))
		require.NoError(t, os.Symlink(path, link))
		own, err := update.Own(link)
		if says == "" {
			require.NoError(t, err)
			assert.Equal(t, "flame", filepath.Base(own), "a link stays, and the program that it leads to is replaced")
			continue
		}
		require.ErrorContains(t, err, says)
		assert.NotEmpty(t, core.HintOf(err))
	}
}
