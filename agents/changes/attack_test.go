package changes_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/changes"
	"flame/tests/cases"
	"flame/tests/effort"
)

// An entry is one of a tree that no git would write.
type entry struct {
	mode, name, text string
	below            []entry
}

func file(name, text string) entry { return entry{mode: "100644", name: name, text: text} }

func link(name, target string) entry { return entry{mode: "120000", name: name, text: target} }

func folder(name string, below ...entry) entry {
	return entry{mode: "40000", name: name, below: below}
}

// object writes an object as it is, and returns its id.
func (s *scene) object(kind, content string) string {
	s.t.Helper()
	cmd := exec.Command("git", "-C", s.checkout, "hash-object", "-t", kind, "-w", "--literally", "--stdin")
	cmd.Stdin = strings.NewReader(content)
	out, err := cmd.Output()
	require.NoError(s.t, err)
	return strings.TrimSpace(string(out))
}

// tree writes a tree, in the order given.
func (s *scene) tree(entries []entry) string {
	s.t.Helper()
	var content strings.Builder
	for _, e := range entries {
		id := strings.Repeat("1", 40) // of a submodule
		switch e.mode {
		case "40000":
			id = s.tree(e.below)
		case "100644", "100755", "120000":
			id = s.object("blob", e.text)
		}
		fmt.Fprintf(&content, "%s %s\x00", e.mode, e.name)
		for i := 0; i < len(id); i += 2 {
			var b byte
			_, err := fmt.Sscanf(id[i:i+2], "%02x", &b)
			require.NoError(s.t, err)
			content.WriteByte(b)
		}
	}
	return s.object("tree", content.String())
}

// pushed returns a base like another whose commit has a tree.
func (s *scene) pushed(like changes.Base, tree string) changes.Base {
	s.t.Helper()
	like.Commit = s.git(s.checkout, "commit-tree", "-p", like.Commit, "-m", "made by hand", tree)
	like.Ref = "refs/flame/base/evil"
	s.git(s.checkout, "push", "--quiet", "--no-verify", "origin", "+"+like.Commit+":"+like.Ref)
	return like
}

// outside is all that is on the worker beside the worktree named, but objects, and what git
// notes of worktrees.
func (s *scene) outside(worktree string) map[string]string {
	s.t.Helper()
	state := map[string]string{}
	require.NoError(s.t, filepath.WalkDir(filepath.Join(s.base, "worker"), func(path string, d os.DirEntry, err error) error {
		inside := strings.HasPrefix(path, worktree+"/") || strings.Contains(path, "/.git/objects/") || strings.Contains(path, "/.git/worktrees/")
		if err != nil || d.IsDir() || inside || strings.Contains(path, "/refs/flame/") {
			return err
		}
		text, err := os.ReadFile(path)
		state[path] = string(text)
		return err
	}))
	return state
}

func TestTreesOfABaseRunNothingAndWriteNothingOutside(t *testing.T) {
	t.Parallel()
	effort.Heavy(t)
	for name, tt := range map[string]struct {
		tree    func(s *scene, config, hook string) []entry
		refused bool
	}{
		".git": {func(_ *scene, config, hook string) []entry {
			return []entry{folder(".git", file("config", config), folder("hooks", entry{mode: "100755", name: "post-checkout", text: hook}))}
		}, true},
		".GIT": {func(_ *scene, config, _ string) []entry { return []entry{folder(".GIT", file("config", config))} }, true},
		".Git below": {func(_ *scene, config, _ string) []entry {
			return []entry{folder("sub", folder(".Git", file("config", config)))}
		}, true},
		".git as Windows has it": {func(_ *scene, config, _ string) []entry { return []entry{folder("git~1", file("config", config))} }, true},
		".git with a space":      {func(_ *scene, config, _ string) []entry { return []entry{folder(".git ", file("config", config))} }, true},
		".git with a stream": {func(_ *scene, config, _ string) []entry {
			return []entry{folder(".git::$INDEX_ALLOCATION", file("config", config))}
		}, true},
		".git with a sign that macOS drops": {func(_ *scene, config, _ string) []entry {
			return []entry{folder(".g\u200cit", file("config", config))}
		}, false},
		"a .git that leads elsewhere": {func(s *scene, _, _ string) []entry { return []entry{file(".git", "gitdir: "+s.checkout+"/.git\n")} }, true},
		"a .git that is a link":       {func(s *scene, _, _ string) []entry { return []entry{link(".git", s.checkout+"/.git")} }, true},
		"the folder above":            {func(*scene, string, string) []entry { return []entry{folder("..", file("out", "x"))} }, true},
		"a name with slashes":         {func(*scene, string, string) []entry { return []entry{file("../../out", "x")} }, true},
		"an absolute name":            {func(s *scene, _, _ string) []entry { return []entry{file(s.mark, "x")} }, true},
		"a link and a folder of one name": {func(*scene, string, string) []entry {
			return []entry{link("a", ".."), folder("a", file("out", "x"))}
		}, false},
		"a link to the repository and a folder of that name": {func(_ *scene, config, _ string) []entry {
			return []entry{link("a", ".git"), folder("a", file("config.worktree", config))}
		}, false},
		"links that differ in case": {func(*scene, string, string) []entry {
			return []entry{folder("A", file("out", "x")), link("a", "..")}
		}, false},
		"attributes that are a link without end": {func(*scene, string, string) []entry {
			return []entry{link(".gitattributes", "/dev/zero"), file("a", "x")}
		}, false},
		"ignored files that are a link without end": {func(*scene, string, string) []entry {
			return []entry{link(".gitignore", "/dev/zero"), file("a", "x")}
		}, false},
		"attributes that name a filter and drivers": {func(*scene, string, string) []entry {
			return []entry{file(".gitattributes", "* filter=lfs diff=x merge=x ident\n"), file("a", "$Id$\n")}
		}, false},
		"a submodule that runs a program": {func(s *scene, _, _ string) []entry {
			modules := fmt.Sprintf("[submodule \"mod\"]\n\tpath = mod\n\turl = ext::%s\n\tupdate = !%s\n", s.trap, s.trap)
			return []entry{file(".gitmodules", modules), {mode: "160000", name: "mod"}}
		}, false},
		"a submodule in place of .git": {func(s *scene, _, _ string) []entry {
			modules := "[submodule \"../../x\"]\n\tpath = .git\n\turl = -u" + s.trap + "\n"
			return []entry{{mode: "160000", name: ".git"}, file(".gitmodules", modules)}
		}, true},
		"settings of others": {func(s *scene, config, _ string) []entry {
			return []entry{file(".gitconfig", config), file(".lfsconfig", "[lfs]\n\turl = "+s.trap+"\n"), file("config", config)}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			good := s.give("a")
			s.take("good", good)
			config := fmt.Sprintf("[core]\n\tfsmonitor = %s\n\thooksPath = hooks\n[filter \"lfs\"]\n\tsmudge = %s\n\tclean = %s\n", s.trap, s.trap, s.trap)
			bad := s.pushed(good, s.tree(tt.tree(s, config, "#!/bin/sh\n"+s.trap+"\n")))
			dir := s.dir("bad")
			before := s.outside(dir)
			_, err := s.worker.Checkout(t.Context(), dir, bad)
			assert.Equal(t, tt.refused, err != nil, "%v", err)
			assert.Equal(t, before, s.outside(dir), "something was written outside")
			if err == nil {
				s.writeAt(filepath.Join(dir, "new"), "by the agent\n")
				_, err = s.worker.Collect(t.Context(), dir, bad, "a", 1, filepath.Join(s.base, "patch"))
				assert.NoError(t, err)
			}
			assert.NoFileExists(t, s.mark)
			assert.NoFileExists(t, filepath.Join(s.base, "worker", "out"))
			s.take("again", good)
		})
	}
}

func TestABaseThatIsTooLargeIsNotCheckedOut(t *testing.T) {
	t.Parallel()
	effort.Heavy(t)
	for name, tt := range map[string]struct {
		prepare func(s *scene)
		says    string
	}{
		"too many files": {func(s *scene) {
			s.worker.MaxFiles = 4
			s.write("sub/a", "x")
			s.write("sub/b", "x")
		}, "over 4 files"},
		"too many bytes": {func(s *scene) {
			s.worker.MaxBytes = 1 << 20
			s.write("large", strings.Repeat("x", 2<<20))
		}, "over 1 MB"},
		"one file many times": {func(s *scene) {
			s.worker.MaxBytes = 1 << 20
			for i := range 20 {
				s.write(fmt.Sprint("copies/", i), strings.Repeat("x", 100_000))
			}
		}, "over 1 MB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			small := s.give("small")
			tt.prepare(s)
			s.take("small", small)
			before := s.mirrors()
			s.commit()
			b := s.give("a")
			_, err := s.worker.Checkout(t.Context(), s.dir("one"), b)
			assert.Contains(t, cases.Advice(t, err), tt.says)
			assert.NoDirExists(t, s.dir("one"))
			assert.Equal(t, before, s.mirrors(), "flame does not make another mirror for that")
		})
	}
}

// A few trees of ten times the same have more files than anybody could write.
func TestATreeThatUnpacksWithoutEndIsNotCheckedOut(t *testing.T) {
	t.Parallel()
	effort.Heavy(t)
	s := newScene(t)
	good := s.give("a")
	tree := []entry{file("x", "x")}
	id := s.tree(tree)
	for range 10 {
		var lines strings.Builder
		for i := range 10 {
			fmt.Fprintf(&lines, "040000 tree %s\t%d%s\n", id, i, strings.Repeat("y", 200))
		}
		cmd := exec.Command("git", "-C", s.checkout, "mktree")
		cmd.Stdin = strings.NewReader(lines.String())
		out, err := cmd.Output()
		require.NoError(t, err)
		id = strings.TrimSpace(string(out))
	}
	_, err := s.worker.Checkout(t.Context(), s.dir("bad"), s.pushed(good, id))
	assert.Contains(t, cases.Advice(t, err), "too many for a worker")
	assert.NoDirExists(t, s.dir("bad"))
}
