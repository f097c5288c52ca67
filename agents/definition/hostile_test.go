package definition_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/definition"
	"flame/core"
	"flame/tests/cases"
	"flame/tests/effort"
	"flame/tests/hoststest"
	"flame/tests/repository"
)

// secret stands in all that lies outside of a repository.
const secret = "S3CRET"

// theirs is a repository that somebody else wrote, with files of the user's beside it.
type theirs struct {
	t   *testing.T
	dir string
}

func newRepository(t *testing.T) theirs {
	t.Helper()
	top := t.TempDir()
	repository.Write(t, top, map[string]string{
		"repository/README":         "theirs",
		"outside/agents/builder.md": agent("builder", secret),
		"outside/agents/x.md":       agent("x", secret),
		"outside/agents/sub/y.md":   agent("y", secret),
		"outside/key":               secret,
		"outside/odd.md":            "---\n" + secret + ": [" + secret + "\n---\n",
		"outside/odder.md":          front("description: d", "tools: ("+secret),
		"agents/x.md":               agent("x", secret),
	})
	return theirs{t, filepath.Join(top, "repository")}
}

// files lays n files of the same content below a folder.
func (r theirs) files(n int, folder, content string) {
	r.t.Helper()
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("%s/f%04d.md", folder, i)] = content
	}
	repository.Write(r.t, r.dir, files)
}

// load reads the repository's definitions, and fails the test where that takes too
// long.
func (r theirs) load() (catalog definition.Catalog) {
	r.t.Helper()
	done := make(chan definition.Catalog, 1)
	// What is found must not depend on how busy the machine is; the patience has a test of its own.
	go func() {
		done <- definition.LoadUntil(time.Now().Add(time.Hour), hoststest.Known(), dirs("", r.dir, nobody))
	}()
	select {
	case catalog = <-done:
	case <-time.After(time.Minute):
		require.FailNow(r.t, "loading hangs")
	}
	return catalog
}

// said is all that a catalog tells of files: definitions, findings, errors.
func said(t *testing.T, catalog definition.Catalog) string {
	t.Helper()
	definitions, err := json.Marshal(catalog)
	require.NoError(t, err)
	text := string(definitions)
	names := []string{"builder", "x", "y", "sub/y", "odd", "odder", "key"}
	for _, finding := range catalog.Issues {
		text += finding.String()
		names = append(names, finding.Agent)
	}
	for _, name := range names {
		if _, err := catalog.Find(name); err != nil {
			text += err.Error()
		}
	}
	return text
}

func TestDefinitionsOfARepositoryAreReadWithoutLeavingIt(t *testing.T) {
	for name, tt := range cases.Read[struct {
		Links   []string          `json:"links"`
		Pipe    string            `json:"pipe"`
		Files   map[string]string `json:"files"`
		Finding string            `json:"finding"` // with the path seen from the repository; empty: none
		Builder string            `json:"builder"` // whose it is; empty: a file stands in its way
	}](t, "testdata/outside.yaml") {
		t.Run("where "+name, func(t *testing.T) {
			r := newRepository(t)
			repository.Link(t, r.dir, tt.Links...)
			repository.Write(t, r.dir, tt.Files)
			if tt.Pipe != "" {
				repository.Pipe(t, r.dir, tt.Pipe)
			}
			catalog := r.load()
			assert.NotContains(t, said(t, catalog), secret)
			finding := ""
			for _, found := range catalog.Issues {
				finding += strings.TrimPrefix(found.String(), r.dir+"/")
				assert.True(t, found.Fatal)
			}
			assert.Equal(t, tt.Finding, finding)
			builder, err := catalog.Find("builder")
			if tt.Builder == "" {
				assert.Contains(t, cases.Advice(t, err, core.ErrInvalid), "no other definition replaces it")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.Builder, builder.Source.Kind)
		})
	}
}

func TestReadingARepositoryOfAnySizeIsBoundedInTimeAndMemory(t *testing.T) {
	effort.Heavy(t)
	keys := func(format string) string {
		var b strings.Builder
		for i := 0; b.Len() < 60<<10; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	const begin = "---\ndescription: d\n"
	nested := strings.Repeat("[", 9000) + strings.Repeat("]", 9000)
	tests := map[string]struct {
		files   int // so many
		content string
		found   string // in one of the findings
		some    bool   // of its definitions are read
	}{
		"files of a megabyte":      {18, agent("", strings.Repeat("x", 1<<20-100)), "all definitions together are larger than 16 MB", true},
		"thousands of keys":        {9, begin + keys("k%d: 1\n") + "---\np\n", "more findings", true},
		"deep nesting":             {9, begin + "x: " + nested + "\n---\np\n", "x: is not a known key", true},
		"nesting without end":      {9, begin + "x:\n " + strings.Repeat("- ", 30<<10) + "\n---\np\n", "exceeded max depth", false},
		"thousands of tools":       {9, begin + "tools: [" + keys("a%d,") + "]\n---\np\n", "tools: has more than 500 entries", false},
		"thousands of rules":       {9, begin + "permission:\n" + keys("  a%d*: deny\n") + "---\np\n", "has more than 500 entries", false},
		"thousands of switches":    {9, begin + "tools:\n" + keys("  a%d: true\n") + "---\np\n", "tools: has more than 500 entries", false},
		"a name of 60 KB":          {9, begin + "name: " + strings.Repeat("a/", 30<<10) + "a\n---\np\n", "must begin with a letter or a digit", false},
		"a tool's name of 60 KB":   {9, begin + "tools: " + strings.Repeat("(", 60<<10) + "\n---\np\n", "is not the name of a tool", false},
		"a key of 60 KB":           {9, begin + strings.Repeat("k", 60<<10) + ": 1\n---\np\n", "is not a known key", true},
		"front matter of 65 KB":    {9, begin + strings.Repeat("#\n", 33<<10) + "---\np\n", "the front matter is larger than 64 KB", false},
		"front matter without end": {9, begin + strings.Repeat("# ", 400<<10), "the front matter is larger than 64 KB", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t)
			r.files(tt.files, ".claude/agents", tt.content)
			catalog := r.load()
			assert.True(t, strings.Contains(said(t, catalog), tt.found), "%d findings", len(catalog.Issues))
			assert.Equal(t, tt.some, len(catalog.Available()) > 4, "%d definitions", len(catalog.Available()))
			_, err := catalog.Find("tester")
			assert.NoError(t, err, "the built-in definitions are available")
			size, most := 0, 0
			for _, def := range catalog.Definitions {
				size += len(def.Prompt)
			}
			perFile := map[string]int{}
			for _, finding := range catalog.Issues {
				assert.Less(t, len(finding.String()), 1000)
				perFile[finding.File]++
				most = max(most, perFile[finding.File])
			}
			assert.LessOrEqual(t, size, 17<<20)
			assert.LessOrEqual(t, most, 30)
		})
	}
}

func TestReadingStopsAtTheDeadline(t *testing.T) {
	r := newRepository(t)
	r.files(3, ".claude/agents", agent("", "p"))
	catalog := definition.LoadUntil(time.Now().Add(-time.Second), hoststest.Known(), dirs("", r.dir, nobody))
	require.Len(t, catalog.Issues, 1)
	assert.Equal(t, filepath.Join(r.dir, ".claude/agents")+": takes more than 2s; the rest was not read", catalog.Issues[0].String())
	assert.Len(t, catalog.Available(), 4)
}

func TestLinksOfTheUsersOwnAreFollowed(t *testing.T) {
	home, dotfiles := t.TempDir(), t.TempDir()
	repository.Write(t, dotfiles, map[string]string{"agents/mine.md": agent("", "mine"), "one.md": agent("one", "one")})
	repository.Write(t, home, map[string]string{".config/flame/agents/other.md": agent("", "other")})
	require.NoError(t, os.Symlink(dotfiles, filepath.Join(home, ".claude")))
	require.NoError(t, os.Symlink(filepath.Join(dotfiles, "one.md"), filepath.Join(home, ".config/flame/agents/one.md")))
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(home, ".config/flame/agents/zero.md")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(home, ".config/flame/agents/pipe.md"), 0o644))
	catalog := definition.Load(hoststest.Known(), dirs(home, "", nobody))
	for _, name := range []string{"mine", "one", "other"} {
		_, err := catalog.Find(name)
		assert.NoError(t, err)
	}
	for _, name := range []string{"zero", "pipe"} {
		_, err := catalog.Find(name)
		assert.ErrorContains(t, err, name+".md: is not a regular file")
	}
}

func TestUnknownToolsAreFound(t *testing.T) {
	root := t.TempDir()
	repository.Write(t, root, map[string]string{
		"a.md": front("description: d", "tools: Read, bash, apply_patch, Telescope, mcp__x__y, MultiEdit(src/*)",
			"disallowedTools: Bsh, Telescope, flame_push"),
		"b.md": front("description: d", "tools: read", "flame: {host: claude-code}"),
	})
	_, findings, _ := loaded(root, false)
	assert.Equal(t, []string{
		`DIR/a.md: tool "Telescope" is not one that any host is known to have`,
		`DIR/a.md: tool "Bsh" is not one that any host is known to have`,
	}, findings)
}
