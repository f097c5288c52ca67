package place_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/local/place"
)

// firstCommit asks the real git.
func firstCommit(ctx context.Context, dir string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", "-C", dir, "rev-list", "--max-parents=0", "HEAD").Output()
	if err != nil {
		return "", nil // no repository, or no commit
	}
	return strings.TrimSpace(string(out)), nil
}

// neverAsked is a git that flame must not call.
func neverAsked(t *testing.T) place.Git {
	return func(context.Context, string) (string, error) {
		t.Error("git was asked")
		return "", errors.New("asked")
	}
}

// folder is the data folder of a project, in the home of the site.
func (s site) folder(project string, git place.Git) *place.Folder {
	return place.FolderOf(place.At(s.path(project)), place.Env{Home: s.dir("home")}, git)
}

// ready makes the folder ready, and returns its path.
func (s site) ready(f *place.Folder) string {
	there, err := f.Ready(s.t.Context(), true)
	require.NoError(s.t, err)
	require.True(s.t, there)
	return f.Path
}

// there reports whether a reader finds data.
func (s site) there(f *place.Folder) bool {
	there, err := f.Ready(s.t.Context(), false)
	require.NoError(s.t, err)
	return there
}

func TestTheDataFolderIsInTheUsersDataFolder(t *testing.T) {
	s := newSite(t)
	s.dir("code/my app")
	f := s.folder("code/my app", neverAsked(t))
	assert.Regexp(t, `^`+s.path("home/.local/share/flame")+`/my-app-[0-9a-f]{10}$`, f.Path)
	assert.Equal(t, f.Path, s.folder("code/../code/my app/", neverAsked(t)).Path, "a folder has one name")
	s.link("shortcut", s.path("code"))
	assert.Equal(t, f.Path, s.folder("shortcut/my app", neverAsked(t)).Path, "also by a link")
	assert.NotEqual(t, f.Path, s.folder("code", neverAsked(t)).Path)

	assert.False(t, s.there(f))
	assert.NoDirExists(t, s.path("home/.local"), "a reader makes no folder")
	f.NoGit = true
	s.ready(f)
	for _, dir := range []string{f.Path, filepath.Dir(f.Path)} {
		info, err := os.Stat(dir)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o700), info.Mode().Perm(), dir)
	}
	assert.True(t, s.there(s.folder("code/my app", neverAsked(t))))

	for _, name := range []string{"...", ".hidden", strings.Repeat("é", 100), "line\nend", "-rf"} {
		s.dir("odd/" + name)
		assert.Regexp(t, `/[A-Za-z0-9_][A-Za-z0-9._-]{0,39}-[0-9a-f]{10}$`, s.folder("odd/"+name, neverAsked(t)).Path, name)
	}
}

func TestSettingsDetermineTheDataFolder(t *testing.T) {
	s := newSite(t)
	s.dir("project")
	s.repository("home/dotfiles")
	s.repository("repo")
	s.dir("of-checkout")
	s.link("into", s.path("project"))
	s.link("into-checkout", s.dir("repo/sub"))
	s.link("of-checkout/.local", s.path("repo/sub"))
	for name, tt := range map[string]struct {
		in   place.Env
		base string // empty: refused
		says string
	}{
		"FLAME_DIR goes first":          {place.Env{FlameDir: s.path("flame"), DataHome: s.path("data"), Home: s.path("home")}, "flame", ""},
		"then the user's data":          {place.Env{DataHome: s.path("data"), Home: s.path("home")}, "data/flame", ""},
		"then the home":                 {place.Env{Home: s.path("home")}, "home/.local/share/flame", ""},
		"a relative XDG_DATA_HOME":      {place.Env{DataHome: "data", Home: s.path("home")}, "home/.local/share/flame", ""},
		"a relative FLAME_DIR":          {place.Env{FlameDir: "kept", Home: s.path("home")}, "", "not an absolute path"},
		"FLAME_DIR in a checkout":       {place.Env{FlameDir: s.path("repo/a/b"), Home: s.path("home")}, "", "in the checkout"},
		"XDG_DATA_HOME in a checkout":   {place.Env{DataHome: s.path("repo/a"), Home: s.path("home")}, "", "in the checkout"},
		"FLAME_DIR that leads there":    {place.Env{FlameDir: s.path("into-checkout/x"), Home: s.path("home")}, "", "in the checkout"},
		"a home that leads there":       {place.Env{Home: s.path("of-checkout")}, "", "in the checkout"},
		"a home that is a link":         {place.Env{Home: s.path("into-checkout")}, "into-checkout/.local/share/flame", ""},
		"FLAME_DIR in the project":      {place.Env{FlameDir: s.path("project/x"), Home: s.path("home")}, "", "would be inside it"},
		"FLAME_DIR that leads into it":  {place.Env{FlameDir: s.path("into/x"), Home: s.path("home")}, "", "would be inside it"},
		"no home":                       {place.Env{}, "", "no folder for its data"},
		"a relative home":               {place.Env{Home: "home"}, "", "no folder for its data"},
		"a home that is the top":        {place.Env{Home: "/"}, "", "no folder for its data"},
		"a home that is not needed":     {place.Env{FlameDir: s.path("flame"), Home: "/"}, "flame", ""},
		"a home that is a checkout":     {place.Env{Home: s.path("repo")}, "repo/.local/share/flame", ""},
		"a project that is the home":    {place.Env{Home: s.path("project")}, "project/.local/share/flame", ""},
		"FLAME_DIR in a home's folders": {place.Env{FlameDir: s.path("repo/x"), Home: s.path("repo")}, "repo/x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := place.FolderOf(place.At(s.path("project")), tt.in, neverAsked(t))
			if tt.base != "" {
				assert.Equal(t, s.path(tt.base), filepath.Dir(f.Path))
				return
			}
			assert.Empty(t, f.Path)
			for _, write := range []bool{false, true} {
				_, err := f.Ready(t.Context(), write)
				var problem *core.Problem
				require.ErrorAs(t, err, &problem)
				assert.Contains(t, problem.Message, tt.says)
				assert.Contains(t, problem.Message+problem.Hint, "FLAME_DIR")
			}
		})
	}
	assert.NoDirExists(t, s.path("project/x"))
	assert.NoDirExists(t, s.path("repo/a"))
}

func TestUntrustedDataIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		spoil func(s site, data string)
		says  string
		root  bool // only root can do it
	}{
		"the folder is a link":               {func(s site, data string) { s.move(data, s.path("other")); s.relink(data, s.path("other")) }, "symbolic link", false},
		"the folder is a file":               {func(s site, data string) { s.move(data, s.path("other")); s.put(data, "x") }, "flame wants a folder there", false},
		"others may write the folder":        {func(s site, data string) { require.NoError(s.t, os.Chmod(data, 0o770)) }, "others may write", false},
		"others may write the folder of all": {func(s site, data string) { require.NoError(s.t, os.Chmod(filepath.Dir(data), 0o777)) }, "others may write", false},
		"the folder is another's":            {func(s site, data string) { require.NoError(s.t, os.Chown(data, 12345, 12345)) }, "belongs to another user", true},
		"the folder of all is another's": {func(s site, data string) {
			require.NoError(s.t, os.Chown(filepath.Dir(data), 12345, 12345))
		}, "belongs to another user", true},
		"the note is a link": {func(s site, data string) {
			s.move(data+"/project.json", s.path("other"))
			s.relink(data+"/project.json", s.path("other"))
		}, "project.json", false},
		"others may write the note": {func(s site, data string) { require.NoError(s.t, os.Chmod(data+"/project.json", 0o666)) }, "others may write", false},
		"the note is a pipe": {func(s site, data string) {
			require.NoError(s.t, os.Remove(data+"/project.json"))
			require.NoError(s.t, syscall.Mkfifo(data+"/project.json", 0o600))
		}, "project.json", false},
		"the note is huge":            {func(s site, data string) { s.put(data+"/project.json", strings.Repeat(" ", 1<<20)) }, "project.json", false},
		"the note is no note":         {func(s site, data string) { s.put(data+"/project.json", "[]") }, "cannot be read", false},
		"the note is torn":            {func(s site, data string) { s.put(data+"/project.json", `{"version":1,"ro`) }, "cannot be read", false},
		"the note is empty":           {func(s site, data string) { s.put(data+"/project.json", "") }, "cannot be read", false},
		"the note is a newer flame's": {func(s site, data string) { s.put(data+"/project.json", `{"version":2}`) }, "newer flame", false},
		"there is data without a note": {func(s site, data string) {
			s.put(data+"/flame.db", "half copied")
			require.NoError(s.t, os.Remove(data+"/project.json"))
		}, "does not say which project", false},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.root && os.Getuid() != 0 {
				t.Skip("only root can give a folder away")
			}
			s := newSite(t)
			s.dir("project")
			data := s.ready(s.folder("project", firstCommit))
			tt.spoil(s, data)
			before := s.look()
			for _, write := range []bool{false, true} {
				_, err := s.folder("project", firstCommit).Ready(t.Context(), write)
				require.ErrorIs(t, err, core.ErrUnavailable)
				var problem *core.Problem
				require.ErrorAs(t, err, &problem)
				assert.Contains(t, problem.Message, tt.says)
				assert.NotEmpty(t, problem.Hint)
			}
			assert.Equal(t, before, s.look(), "flame does not change it")
		})
	}
}

func (s site) move(from, to string)   { require.NoError(s.t, os.Rename(from, to)) }
func (s site) relink(path, to string) { require.NoError(s.t, os.Symlink(to, path)) }
func (s site) put(path, content string) {
	require.NoError(s.t, os.WriteFile(path, []byte(content), 0o600))
}

// look lists all files with their sizes.
func (s site) look() (all []string) {
	require.NoError(s.t, filepath.Walk(s.base, func(path string, info os.FileInfo, err error) error {
		if err == nil && !strings.HasSuffix(path, ".lock") && !info.IsDir() {
			all = append(all, fmt.Sprint(path, info.Mode(), info.Size()))
		}
		return err
	}))
	return all
}

func TestARootIsRecognized(t *testing.T) {
	for name, tt := range map[string]struct {
		before, after func(s site)
		same          bool
	}{
		"a folder that stays":           {func(s site) { s.dir("p") }, func(site) {}, true},
		"a folder that gets a commit":   {func(s site) { s.dir("p") }, func(s site) { s.repository("p") }, true},
		"a repository cloned anew":      {func(s site) { s.repository("from"); s.clone("from", "p") }, func(s site) { s.remove("p"); s.clone("from", "p") }, true},
		"another repository":            {func(s site) { s.repository("p") }, func(s site) { s.remove("p"); s.repository("other"); s.clone("other", "p") }, false},
		"another folder":                {func(s site) { s.dir("p") }, func(s site) { s.remove("p"); s.dir("p") }, false},
		"a folder after a repository":   {func(s site) { s.repository("p") }, func(s site) { s.remove("p"); s.dir("p") }, false},
		"a repository after a folder":   {func(s site) { s.dir("p") }, func(s site) { s.remove("p"); s.repository("p") }, false},
		"a repository without its .git": {func(s site) { s.repository("p") }, func(s site) { s.remove("p/.git") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			tt.before(s)
			first := s.folder("p", firstCommit)
			s.put(filepath.Join(s.ready(first), "mine"), "of the first")
			require.NoError(t, first.NoteFirstCommit(t.Context()))
			tt.after(s)

			reader, writer := s.folder("p", firstCommit), s.folder("p", firstCommit)
			assert.Equal(t, tt.same, s.there(reader))
			assert.FileExists(t, filepath.Join(first.Path, "mine"), "a reader moves no data")
			require.Equal(t, first.Path, s.ready(writer))
			if tt.same {
				assert.FileExists(t, filepath.Join(first.Path, "mine"))
				assert.Empty(t, writer.Notice())
				assert.True(t, s.there(s.folder("p", neverAsked(t))), "flame does not ask git again")
				return
			}
			assert.NoFileExists(t, filepath.Join(first.Path, "mine"))
			assert.FileExists(t, filepath.Join(first.Path+".1", "mine"), "nothing is lost")
			assert.Contains(t, reader.Notice(), "does not use it")
			assert.Contains(t, writer.Notice(), first.Path+".1")
		})
	}
}

func (s site) remove(name string) { require.NoError(s.t, os.RemoveAll(s.path(name))) }
func (s site) clone(from, to string) {
	s.git(".", "clone", "-q", s.path(from), s.path(to))
}

func TestDataIsNotUsedIfGitCannotIdentifyIt(t *testing.T) {
	s := newSite(t)
	s.repository("p")
	first := s.folder("p", firstCommit)
	data := s.ready(first)
	require.NoError(t, first.NoteFirstCommit(t.Context()))
	s.remove("p")
	s.repository("p")
	for _, write := range []bool{false, true} {
		_, err := s.folder("p", func(context.Context, string) (string, error) { return "", errors.New("git hangs") }).Ready(t.Context(), write)
		require.ErrorIs(t, err, core.ErrUnavailable)
		assert.ErrorContains(t, err, "git cannot tell")
	}
	assert.NoDirExists(t, data+".1")
}

func TestOneOfManyFirstWritersMakesTheFolder(t *testing.T) {
	s := newSite(t)
	s.dir("p")
	old := s.folder("p", firstCommit)
	s.put(filepath.Join(s.ready(old), "old"), "")
	s.remove("p")
	s.dir("p")
	var begun sync.WaitGroup
	errs := make(chan error, 16)
	for i := range cap(errs) {
		begun.Go(func() {
			f := s.folder("p", firstCommit)
			_, err := f.Ready(t.Context(), true)
			if err == nil {
				err = os.WriteFile(filepath.Join(f.Path, fmt.Sprint("new", i)), nil, 0o600)
			}
			errs <- err
		})
	}
	begun.Wait()
	for range cap(errs) {
		require.NoError(t, <-errs)
	}
	made, err := filepath.Glob(filepath.Join(old.Path, "new*"))
	require.NoError(t, err)
	assert.Len(t, made, cap(errs))
	assert.FileExists(t, old.Path+".1/old")
	assert.NoDirExists(t, old.Path+".2")
}

func TestTheDataOfAMovedProjectIsFoundAndAdopted(t *testing.T) {
	for name, begin := range map[string]func(s site){
		"a folder that was moved":     func(s site) { s.dir("p"); s.made("p"); s.move(s.path("p"), s.path("q")) },
		"a repository that was moved": func(s site) { s.repository("p"); s.made("p"); s.move(s.path("p"), s.path("q")) },
		"a repository cloned elsewhere": func(s site) {
			s.repository("from")
			s.clone("from", "p")
			s.made("p")
			s.remove("p")
			s.clone("from", "q")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.dir("unrelated")
			s.made("unrelated")
			s.remove("unrelated")
			begin(s)
			f := s.folder("q", firstCommit)
			found, err := f.Candidates(t.Context())
			require.NoError(t, err)
			require.Len(t, found, 1)
			assert.Equal(t, s.path("p"), found[0].Root)
			assert.Equal(t, place.Gone, found[0].State)
			for _, named := range []string{found[0].Name, found[0].Data, s.path("p")} {
				same, err := f.Find(named)
				require.NoError(t, err)
				assert.Equal(t, found[0], same)
			}
			s.put(filepath.Join(s.ready(f), "own"), "")
			require.NoError(t, f.Adopt(t.Context(), found[0]))
			assert.FileExists(t, filepath.Join(f.Path, "mine"))
			assert.FileExists(t, filepath.Join(f.Path+".1", "own"))
			assert.Contains(t, f.Notice(), f.Path+".1")
			assert.True(t, s.there(s.folder("q", neverAsked(t))))
			left, err := f.Candidates(t.Context())
			require.NoError(t, err)
			assert.Empty(t, left)
		})
	}
}

// made makes the data of a project with a file.
func (s site) made(project string) {
	f := s.folder(project, firstCommit)
	s.put(filepath.Join(s.ready(f), "mine"), "")
	require.NoError(s.t, f.NoteFirstCommit(s.t.Context()))
}

func TestTheDataOfAnExistingProjectIsNotAdopted(t *testing.T) {
	s := newSite(t)
	for _, name := range []string{"p", "q"} {
		s.dir(name)
		s.made(name)
	}
	f := s.folder("q", firstCommit)
	theirs, err := f.Find(s.path("p"))
	require.NoError(t, err)
	require.ErrorIs(t, f.Adopt(t.Context(), theirs), core.ErrInvalid)
	_, err = f.Find("../../etc")
	require.ErrorIs(t, err, core.ErrNotFound)
	require.NoError(t, f.Delete(t.Context(), theirs))
	all, err := f.List()
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.Equal(t, s.path("q"), all[0].Root)
	bytes, last, err := all[0].Size(t.Context())
	require.NoError(t, err)
	assert.Positive(t, bytes)
	assert.False(t, last.IsZero())
	entries, err := os.ReadDir(filepath.Dir(f.Path))
	require.NoError(t, err)
	assert.Len(t, entries, 2, "only the data and the lock stay")
}
