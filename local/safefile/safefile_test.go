package safefile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/local/safefile"
)

// secret is the content of files outside. No read may return it.
const secret = "SECRET"

// A place is a project with files of the user beside it.
type place struct {
	t                *testing.T
	project, outside string
}

func newPlace(t *testing.T) place {
	top := t.TempDir()
	p := place{t, filepath.Join(top, "project"), filepath.Join(top, "outside")}
	p.write("project/in/a.md", "A")
	p.write("outside/key", secret)
	p.write("outside/plugin/flame.js", secret)
	return p
}

// write makes a file by its path relative to the folder above the project.
func (p place) write(name, content string) {
	path := filepath.Join(filepath.Dir(p.project), name)
	require.NoError(p.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(p.t, os.WriteFile(path, []byte(content), 0o644))
}

// link makes a link in the project.
func (p place) link(target, name string) {
	path := filepath.Join(p.project, name)
	require.NoError(p.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(p.t, os.Symlink(target, path))
}

func (p place) root() *safefile.Root {
	root, err := safefile.Open(p.project)
	require.NoError(p.t, err)
	p.t.Cleanup(func() { root.Close() })
	return root
}

// soon fails the test if f does not return.
func soon(t *testing.T, f func()) {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		require.FailNow(t, "it hangs")
	}
}

func TestARootReadsNoFileOutside(t *testing.T) {
	for name, tt := range map[string]struct {
		links string // NAME -> TARGET, one after the other; PROJECT stands for its path
		pipe  string // name of a pipe
		name  string
		want  string // the content; empty: nothing is read
		err   error
	}{
		"a file":                              {name: "in/a.md", want: "A"},
		"a missing file":                      {name: "in/b.md", err: fs.ErrNotExist},
		"a folder":                            {name: "in", err: safefile.Irregular},
		"a file in a file":                    {name: "in/a.md/b", err: syscall.ENOTDIR},
		"a name that leads out":               {name: "../outside/key", err: safefile.Outside},
		"a name that leads out and back":      {name: "../project/in/a.md", want: "A"},
		"a link to a file beside it":          {links: "in/b.md -> a.md", name: "in/b.md", want: "A"},
		"a link to a folder inside":           {links: "b -> in", name: "b/a.md", want: "A"},
		"an absolute link inside":             {links: "b -> PROJECT/in", name: "b/a.md", want: "A"},
		"a link out and back":                 {links: "b -> ../project/in", name: "b/a.md", want: "A"},
		"an absolute link out":                {links: "b -> PROJECT/../outside/key", name: "b", err: safefile.Outside},
		"a link out":                          {links: "b -> ../outside/key", name: "b", err: safefile.Outside},
		"a link out to a missing file":        {links: "b -> ../outside/none", name: "b", err: safefile.Outside},
		"a link to the folder above":          {links: "b -> ..", name: "b/outside/key", err: safefile.Outside},
		"a link to a folder outside":          {links: "b -> ../outside", name: "b/key", err: safefile.Outside},
		"a link to the root of the disk":      {links: "b -> /", name: "b/etc/passwd", err: safefile.Outside},
		"a link to a link out":                {links: "b -> c, c -> ../outside", name: "b/key", err: safefile.Outside},
		"an absolute link to a link out":      {links: "b -> PROJECT/c, c -> ../outside", name: "b/key", err: safefile.Outside},
		"a link out by way of a file inside":  {links: "b -> in/a.md/../../../outside/key", name: "b", err: safefile.Outside},
		"a link to a folder with a like name": {links: "b -> ../project-b/key", name: "b", err: safefile.Outside},
		"a link to itself":                    {links: "b -> b", name: "b", err: syscall.ELOOP},
		"two links to each other":             {links: "b -> c, c -> b", name: "b", err: syscall.ELOOP},
		"a link to nothing inside":            {links: "b -> none", name: "b", err: fs.ErrNotExist},
		"a device":                            {links: "b -> /dev/zero", name: "b", err: safefile.Outside},
		"a file of this process":              {links: "b -> /proc/self/environ", name: "b", err: safefile.Outside},
		"a pipe":                              {pipe: "b", name: "b", err: safefile.Irregular},
		"a pipe as a folder":                  {pipe: "b", name: "b/c", err: syscall.ENOTDIR},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.write("project-b/key", secret)
			for _, link := range strings.FieldsFunc(tt.links, func(c rune) bool { return c == ',' }) {
				name, target, _ := strings.Cut(strings.TrimSpace(link), " -> ")
				p.link(strings.Replace(target, "PROJECT", p.project, 1), name)
			}
			if tt.pipe != "" {
				require.NoError(t, syscall.Mkfifo(filepath.Join(p.project, tt.pipe), 0o644))
			}
			root := p.root()
			soon(t, func() {
				content, err := root.ReadFile(tt.name, 100)
				if tt.err != nil {
					assert.ErrorIs(t, err, tt.err)
					assert.NotContains(t, err.Error(), secret)
				} else {
					assert.NoError(t, err)
				}
				assert.Equal(t, tt.want, string(content))
			})
		})
	}
}

func TestARootFollowsALimitedNumberOfLinks(t *testing.T) {
	p := newPlace(t)
	p.link("in/a.md", "l0")
	for i := range 60 {
		p.link("l"+string(rune('0'+i)), "l"+string(rune('0'+i+1)))
	}
	root := p.root()
	content, err := root.ReadFile("l"+string(rune('0'+30)), 100)
	require.NoError(t, err)
	assert.Equal(t, "A", string(content))
	_, err = root.ReadFile("l"+string(rune('0'+60)), 100)
	assert.ErrorIs(t, err, syscall.ELOOP)
}

// Another process replaces the file during reads. No read may return content from outside.
func TestALinkThatAppearsDuringAReadDoesNotLeadOut(t *testing.T) {
	p := newPlace(t)
	p.write("project/own/key", "OWN")
	p.link("own", "b")
	root := p.root()
	over := make(chan struct{})
	flipped := make(chan struct{})
	go func() {
		defer close(flipped)
		for i := 0; ; i++ {
			select {
			case <-over:
				return
			default:
			}
			target := []string{"own", "../outside", p.outside, filepath.Join(p.project, "own")}[i%4]
			assert.NoError(t, os.Symlink(target, filepath.Join(p.project, "next")))
			assert.NoError(t, os.Rename(filepath.Join(p.project, "next"), filepath.Join(p.project, "b")))
		}
	}()
	read := 0
	for range 5_000 {
		content, err := root.ReadFile("b/key", 100)
		if err == nil {
			assert.Equal(t, "OWN", string(content))
			read++
		}
	}
	close(over)
	<-flipped
	assert.Positive(t, read)
}

func TestAReadIsBounded(t *testing.T) {
	p := newPlace(t)
	p.write("project/large", strings.Repeat("x", 2<<10+1))
	p.write("project/fits", strings.Repeat("x", 2<<10))
	root := p.root()
	_, err := root.ReadFile("large", 2<<10)
	assert.EqualError(t, err, "is larger than 2 KB")
	content, err := root.ReadFile("fits", 2<<10)
	require.NoError(t, err)
	assert.Len(t, content, 2<<10)

	entries, more, err := root.ReadDir(".", 2)
	require.NoError(t, err)
	assert.Len(t, entries, 2)
	assert.True(t, more)
	entries, more, err = root.ReadDir(".", 3)
	require.NoError(t, err)
	assert.Equal(t, []string{"fits", "in", "large"}, []string{entries[0].Name(), entries[1].Name(), entries[2].Name()})
	assert.False(t, more)
	require.NoError(t, os.Mkdir(filepath.Join(p.project, "empty"), 0o755))
	entries, more, err = root.ReadDir("empty", 1)
	require.NoError(t, err)
	assert.Empty(t, entries)
	assert.False(t, more)
}

func TestARootListsNoFolderOutside(t *testing.T) {
	for name, tt := range map[string]struct {
		target string
		err    error
	}{
		"a link inside":                  {target: "in"},
		"the folder above":               {target: "..", err: safefile.Outside},
		"the root of the disk":           {target: "/", err: safefile.Outside},
		"a folder that would be mounted": {target: "/net/example.invalid/x", err: safefile.Outside},
		"a file":                         {target: "in/a.md", err: syscall.ENOTDIR},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.link(tt.target, "b")
			root := p.root()
			entries, _, err := root.ReadDir("b", 10)
			if tt.err != nil {
				assert.ErrorIs(t, err, tt.err)
				assert.Empty(t, entries)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, "a.md", entries[0].Name())
		})
	}
}

func TestFollowReadsLinksToRegularFiles(t *testing.T) {
	p := newPlace(t)
	p.link("../outside/key", "b")
	p.link("/dev/zero", "zero")
	require.NoError(t, syscall.Mkfifo(filepath.Join(p.project, "pipe"), 0o644))
	own := safefile.Follow(p.project)
	content, err := own.ReadFile("b", 100)
	require.NoError(t, err)
	assert.Equal(t, secret, string(content))
	soon(t, func() {
		for _, name := range []string{"zero", "pipe", "in"} {
			_, err := own.ReadFile(name, 100)
			assert.ErrorIs(t, err, safefile.Irregular, name)
		}
	})
	_, err = safefile.ReadFile(filepath.Join(p.project, "in", "a.md"), 0)
	assert.EqualError(t, err, "is larger than 0 KB")
	_, err = safefile.Follow(filepath.Join(p.project, "none")).Stat(".")
	assert.ErrorIs(t, err, fs.ErrNotExist)
}

// The kernel reports size 0 for its files, which have content.
func TestAReadDoesNotTrustTheReportedSize(t *testing.T) {
	if _, err := os.Stat("/proc/self/maps"); err != nil {
		t.Skip("there is no such file here")
	}
	_, err := safefile.ReadFile("/proc/self/maps", 10)
	assert.EqualError(t, err, "is larger than 0 KB")
}

// tree returns the content of a folder: files with their content, links with their targets.
func tree(t *testing.T, dir string) map[string]string {
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			found[path] = "folder"
			return err
		}
		if d.Type()&fs.ModeSymlink != 0 {
			found[path], err = os.Readlink(path)
			return err
		}
		content, err := os.ReadFile(path)
		found[path] = string(content)
		return err
	}))
	return found
}

func TestARootWritesAndDeletesNothingOutside(t *testing.T) {
	for name, tt := range map[string]struct {
		target, link string
		err          error // nil: it leads into the project
	}{
		"where the host's folder leads out":            {target: "../outside", link: ".opencode", err: safefile.Outside},
		"where it leads out absolutely":                {target: "/", link: ".opencode", err: safefile.Outside},
		"where a folder in it leads out":               {target: "../../outside/plugin", link: ".opencode/plugin", err: safefile.Outside},
		"where the file itself does, which goes":       {target: "../../../outside/plugin/flame.js", link: ".opencode/plugin/flame.js"},
		"where the host's folder leads to another":     {target: "in", link: ".opencode"},
		"where it leads to another absolutely":         {target: "PROJECT/in", link: ".opencode"},
		"where it leads to one that is not there":      {target: "later/on", link: ".opencode"},
		"where nothing leads anywhere":                 {target: "in", link: "b"},
		"where the file itself leads to another in it": {target: "../../in/a.md", link: ".opencode/plugin/flame.js"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.link(strings.Replace(tt.target, "PROJECT", p.project, 1), tt.link)
			before := tree(t, p.outside)
			root := p.root()
			const file = ".opencode/plugin/flame.js"
			err := root.Replace(file, []byte("NEW"), 0o640)
			assert.Equal(t, before, tree(t, p.outside))
			assert.Equal(t, "A", tree(t, p.project)[filepath.Join(p.project, "in", "a.md")])
			if tt.err != nil {
				require.ErrorIs(t, err, tt.err)
				require.ErrorIs(t, root.Remove(file), tt.err)
				assert.Equal(t, before, tree(t, p.outside))
				return
			}
			require.NoError(t, err)
			content, err := root.ReadFile(file, 100)
			require.NoError(t, err)
			assert.Equal(t, "NEW", string(content))
			info, err := root.Stat(file)
			require.NoError(t, err)
			assert.Equal(t, fs.FileMode(0o640), info.Mode().Perm())
			require.NoError(t, root.Remove(file))
			_, err = root.Stat(file)
			assert.ErrorIs(t, err, fs.ErrNotExist)
			assert.Equal(t, before, tree(t, p.outside))
			if !strings.HasPrefix(tt.link, ".opencode/") {
				assert.Contains(t, tree(t, p.project), filepath.Join(p.project, tt.link), "an existing link stays")
			}
		})
	}
}

func TestReplaceLeavesNoOtherFile(t *testing.T) {
	p := newPlace(t)
	root := p.root()
	require.NoError(t, root.Replace("x/y/flame.js", []byte("1"), 0o644))
	require.NoError(t, root.Replace("x/y/flame.js", []byte("2"), 0o644))
	require.NoError(t, root.Replace("x/theirs", []byte("3"), 0o644))
	entries, err := os.ReadDir(filepath.Join(p.project, "x", "y"))
	require.NoError(t, err)
	assert.Len(t, entries, 1)
	require.NoError(t, os.Mkdir(filepath.Join(p.project, "x", "full"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(p.project, "x", "full", "f"), nil, 0o644))
	require.Error(t, root.Replace("x/full", []byte("4"), 0o644), "a folder is not replaced")
	entries, err = os.ReadDir(filepath.Join(p.project, "x"))
	require.NoError(t, err)
	assert.Len(t, entries, 3, "no other file is left")
	require.NoError(t, root.Remove("x/y/flame.js"))
	assert.NoDirExists(t, filepath.Join(p.project, "x", "y"))
	assert.FileExists(t, filepath.Join(p.project, "x", "theirs"))
}
