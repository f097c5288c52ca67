package store_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/store"
	"flame/store/disk"
	"flame/tests/projecttest"
	"flame/tests/storetest"
)

// things are what may stand where a file or folder is expected: how each is made,
// and what it is called.
var things = map[string]struct {
	make func(path string) error
	name string
}{
	"file":   {func(path string) error { return os.WriteFile(path, []byte("precious"), 0o600) }, "a file"},
	"folder": {func(path string) error { return os.Mkdir(path, 0o700) }, "a folder"},
	"pipe":   {func(path string) error { return syscall.Mkfifo(path, 0o600) }, "a pipe"},
	"socket": {listen, "a socket"},
	"device": {func(path string) error { return syscall.Mknod(path, syscall.S_IFCHR|0o600, 1<<8|5) }, "a device"}, // /dev/zero on Linux
}

// listen leaves a socket at path, which is too long for its address.
func listen(path string) error {
	short, err := os.MkdirTemp("", "flame-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(short)
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(short, "s"), Net: "unix"})
	if err != nil {
		return err
	}
	socket.SetUnlinkOnClose(false)
	defer socket.Close()
	return os.Rename(filepath.Join(short, "s"), path)
}

// put makes a thing at path, or a symbolic link there to such a thing elsewhere.
// It skips the test where that is not allowed.
func put(t *testing.T, thing, path string, linked bool) {
	t.Helper()
	require.NoError(t, os.RemoveAll(path))
	at := path
	if linked {
		at = filepath.Join(t.TempDir(), "elsewhere")
		require.NoError(t, os.Symlink(at, path))
	}
	if thing == "nothing" {
		return
	}
	if err := things[thing].make(at); err != nil {
		t.Skipf("cannot make %s: %v", thing, err)
	}
}

// answers are what the Store of dir and its log say, each within a time in which
// nothing that must not be waited for has been.
func answers(t *testing.T, dir string) map[string]error {
	t.Helper()
	nothing := func(project.Tx) error { return nil }
	type answer struct {
		who string
		err error
	}
	uses := map[string]func() error{
		"Check": func() error {
			for _, f := range broken(store.Check(context.Background(), dir)) {
				return &core.Problem{Kind: core.ErrUnavailable, Message: f.What, Hint: f.Hint}
			}
			return nil
		},
		"Log": func() error { _, err := disk.NewLog(dir, nil).Write([]byte("a line\n")); return err },
	}
	var stores []*store.Store
	for kind, opts := range map[string]store.Options{"a short process": {}, "a server": {LongLived: true}} {
		kept := store.Open(dir, opts)
		stores = append(stores, kept)
		uses["View of "+kind] = func() error { return kept.View(context.Background(), nothing) }
		uses["Update of "+kind] = func() error { return kept.Update(context.Background(), nothing) }
	}
	given := make(chan answer, len(uses))
	for who, use := range uses {
		go func() { given <- answer{who, use()} }()
	}
	all := map[string]error{}
	for range uses {
		select {
		case a := <-given:
			all[a.who] = a.err
		case <-time.After(time.Minute):
			require.Fail(t, "hangs", "answered have only %v", all)
		}
	}
	for _, kept := range stores {
		require.NoError(t, kept.Close())
	}
	return all
}

// assertRefused asserts that all but the log, which drops its line, say what is
// wrong with path.
func assertRefused(t *testing.T, dir, path, why string) {
	t.Helper()
	all := answers(t, dir)
	assert.NoError(t, all["Log"])
	delete(all, "Log")
	for who, err := range all {
		p := unavailable(t, err)
		assert.Contains(t, p.Message, path+" "+why, who)
		assert.Contains(t, p.Hint, "flame doctor", who)
	}
}

// small makes a data folder with one frame, all of it in flame.db.
func small(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	kept := store.Open(dir, projecttest.Copied(dir, store.Options{}))
	storetest.Save(t, kept, core.Frame{ID: "f-1"})
	require.NoError(t, kept.Close())
	return dir
}

func TestAPathThatIsNoFileIsRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"flame.db", "flame.db-wal", "flame.db-shm", "flame.db-journal", "flame.lock", "flame.log", "flame.log.1",
	} {
		for _, thing := range []string{"folder", "pipe", "socket", "device"} {
			t.Run(thing+" for "+name, func(t *testing.T) {
				t.Parallel()
				dir := small(t)
				path := filepath.Join(dir, name)
				put(t, thing, path, false)
				assertRefused(t, dir, path, "is "+things[thing].name)
			})
		}
		for _, thing := range []string{"nothing", "file", "folder", "pipe", "socket", "device"} {
			t.Run("link to "+thing+" for "+name, func(t *testing.T) {
				t.Parallel()
				dir := small(t)
				path := filepath.Join(dir, name)
				put(t, thing, path, true)
				assertRefused(t, dir, path, "is a symbolic link")
				target, err := os.Readlink(path)
				require.NoError(t, err, "it stays as it is")
				_, err = os.Lstat(target)
				assert.Equal(t, thing == "nothing", os.IsNotExist(err), "nothing is made there")
				if thing == "file" {
					text, err := os.ReadFile(target)
					require.NoError(t, err)
					assert.Equal(t, "precious", string(text))
				}
			})
		}
	}
}

func TestAPathThatIsNoFolderIsRefused(t *testing.T) {
	t.Parallel()
	for _, linked := range []bool{false, true} {
		for _, thing := range []string{"nothing", "file", "folder", "pipe", "socket", "device"} {
			if !linked && (thing == "nothing" || thing == "folder") {
				continue
			}
			t.Run(fmt.Sprintf("%s, linked: %t", thing, linked), func(t *testing.T) {
				t.Parallel()
				dir := filepath.Join(t.TempDir(), "data")
				put(t, thing, dir, linked)
				why := "is a symbolic link, which flame does not follow there"
				if !linked {
					why = "is " + things[thing].name
				}
				assertRefused(t, dir, dir, why)
				if entries, err := os.ReadDir(dir); err == nil {
					assert.Empty(t, entries, "nothing is made there")
				}
			})
		}
	}
}

func TestAFileThatOthersMayWriteIsRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "flame.db", "flame.lock"} {
		for _, mode := range []os.FileMode{0o720, 0o702, 0o777} {
			t.Run(fmt.Sprintf("%q with mode %o", name, mode), func(t *testing.T) {
				t.Parallel()
				dir := small(t)
				path := filepath.Join(dir, name)
				require.NoError(t, os.Chmod(path, mode))
				for who, err := range answers(t, dir) {
					if who == "Log" {
						continue
					}
					p := unavailable(t, err)
					assert.Contains(t, p.Message, "others may write "+path, who)
					assert.Contains(t, p.Hint, "chmod go-w "+path, who)
				}
			})
		}
	}
}

func TestAFileOfAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root may give files away")
	}
	const nobody = 65534
	for _, name := range []string{"", "flame.db", "flame.lock"} {
		dir := small(t)
		path := filepath.Join(dir, name)
		require.NoError(t, os.Lchown(path, nobody, nobody))
		assertRefused(t, dir, path, "belongs to another user")
	}
}

// What is made is the user's alone, whatever the mask of the process allows.
func TestModesOfNewFiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "not", "there", "data")
	path, err := buildChild()
	require.NoError(t, err)
	out, err := exec.Command("sh", "-c", `umask 0 && exec "$0" "$1" write x 3`, path, dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assertModes(t, dir)
	names, err := filepath.Glob(filepath.Join(dir, "flame*"))
	require.NoError(t, err)
	for _, name := range names {
		assert.Regexp(t, `/flame\.(db|db-wal|db-shm|lock)$`, name, "nothing else is left")
	}
	_, err = disk.NewLog(dir, nil).Write([]byte("a line\n"))
	require.NoError(t, err)
	older := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.Mkdir(older, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(older, "flame.db"), nil, 0o600))
	c, err := disk.New(filepath.Join(older, "flame.db")).Connect(t.Context(), nil)
	require.NoError(t, err)
	first := disk.Schema{Version: 1, Step: disk.NewestSchema.Step}
	require.NoError(t, c.Transact(t.Context(), disk.BeginUpdate, func() error { return first.Apply(t.Context(), c, 0) }))
	require.NoError(t, c.Close())
	storetest.Save(t, open(t, older, store.Options{}), core.Frame{ID: "f-1"})
	assert.FileExists(t, filepath.Join(older, "flame.db.backup-1"))
	assertModes(t, older)
}

func assertModes(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		assert.Zero(t, info.Mode().Perm()&0o077, path)
		return err
	}))
}

func TestFolderWithoutPermissions(t *testing.T) {
	t.Parallel()
	for _, mode := range []os.FileMode{0, 0o400, 0o600, 0o100} {
		for _, role := range []string{"read", "check"} {
			t.Run(fmt.Sprintf("%s with mode %o", role, mode), func(t *testing.T) {
				t.Parallel()
				dir, asOwner := readable(t, small(t))
				require.NoError(t, os.Chmod(dir, mode))
				out, err := asOwner(child(t, dir, role)).CombinedOutput()
				if role == "read" && mode == 0o100 {
					assert.NoError(t, err)
					assert.Equal(t, "1\n", string(out), "what lies in a folder that can be entered can be read")
					return
				}
				assert.Error(t, err)
				assert.Contains(t, string(out), dir)
				assert.Contains(t, string(out), map[string]string{"read": "cannot be opened", "check": "permission denied"}[role])
			})
		}
	}
}

// A copy that ended too early is told at whatever byte it ended.
func TestHalfCopiedDatabase(t *testing.T) {
	t.Parallel()
	const step = 512
	whole, err := os.ReadFile(filepath.Join(small(t), "flame.db"))
	require.NoError(t, err)
	dir := t.TempDir()
	path := filepath.Join(dir, "flame.db")
	nothing := func(project.Tx) error { return nil }
	for size := step; size < len(whole); size += step {
		require.NoError(t, os.WriteFile(path, whole[:size], 0o600))
		kept := store.Open(dir, store.Options{LongLived: size%1024 == 0})
		assert.Contains(t, unavailable(t, kept.View(context.Background(), nothing)).Message, "damaged", "%d bytes", size)
		assert.Contains(t, unavailable(t, kept.Update(context.Background(), nothing)).Message, "damaged", "%d bytes", size)
		assert.NotEmpty(t, broken(store.Check(context.Background(), dir)), "%d bytes", size)
		require.NoError(t, kept.Close())
		after, err := os.Stat(path)
		require.NoError(t, err)
		require.EqualValues(t, size, after.Size(), "it stays as it is")
	}
	require.NoError(t, os.WriteFile(path, whole, 0o600))
	assert.Equal(t, "f-1", storetest.Found(t, open(t, dir, store.Options{}), project.FrameQuery{}))
}
