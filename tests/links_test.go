package tests

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// readmeLines is the length that a user can read in five minutes.
const readmeLines = 130

func TestDocumentsBeginWithAShortOne(t *testing.T) {
	lines := strings.Count(documents(t)["README.md"], "\n")
	assert.LessOrEqual(t, lines, readmeLines, "what is looked up belongs into docs/reference.md")
}

// link finds the targets of links and pictures.
var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func TestLinksInDocumentsLeadSomewhere(t *testing.T) {
	texts := documents(t)
	found := 0
	for name, text := range texts {
		for _, match := range link.FindAllStringSubmatch(withoutCode(text), -1) {
			if strings.Contains(match[1], "://") {
				continue // not ours
			}
			found++
			target, anchor, _ := strings.Cut(match[1], "#")
			file := name
			if target != "" {
				file = filepath.ToSlash(filepath.Join(filepath.Dir(name), target))
			}
			_, err := os.Stat(filepath.Join("..", filepath.FromSlash(file)))
			assert.NoError(t, err, "%s has a link to %s", name, match[1])
			if anchor != "" {
				assert.Contains(t, anchors(texts[file]), anchor, "%s has a link to %s", name, match[1])
			}
		}
	}
	assert.Greater(t, found, 5, "the test found too few links")
}

// documents returns the documents for users and contributors, by path.
func documents(t *testing.T) map[string]string {
	paths, err := filepath.Glob("../*.md")
	require.NoError(t, err)
	more, err := filepath.Glob("../docs/*.md")
	require.NoError(t, err)
	texts := map[string]string{}
	for _, path := range append(paths, more...) {
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		name, err := filepath.Rel("..", path)
		require.NoError(t, err)
		texts[filepath.ToSlash(name)] = string(raw)
	}
	return texts
}

// anchors returns the anchors of a document's headings, as GitHub makes them.
func anchors(text string) (found []string) {
	for _, line := range strings.Split(withoutCode(text), "\n") {
		heading := strings.TrimLeft(line, "#")
		if heading == line || !strings.HasPrefix(heading, " ") {
			continue
		}
		heading = notInAnchors.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), "")
		found = append(found, strings.ReplaceAll(heading, " ", "-"))
	}
	return found
}

// notInAnchors matches characters that GitHub drops from anchors.
var notInAnchors = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// withoutCode returns a document without its blocks of code, which may contain lines like headings
// and links.
func withoutCode(text string) string {
	var kept []string
	for i, part := range strings.Split("\n"+text, "\n```") {
		if i%2 == 0 {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, "\n")
}

// named finds paths of the repository in a document.
var named = regexp.MustCompile("`([a-z][\\w.-]*(?:/[\\w.-]*)+|\\w+\\.go)`")

func TestDocumentsOfTheCodeNameExistingPaths(t *testing.T) {
	texts := documents(t)
	for _, name := range []string{"docs/architecture.md", "CONTRIBUTING.md"} {
		paths := named.FindAllStringSubmatch(withoutCode(texts[name]), -1)
		assert.Greater(t, len(paths), 1, "no paths were found in %s", name)
		for _, path := range paths {
			_, err := os.Stat(filepath.Join("..", filepath.FromSlash(path[1])))
			assert.NoError(t, err, name)
		}
	}
}

// A link may lead anywhere, and a checkout on another system makes a file of it.
func TestTheTreeHasNoSymbolicLinks(t *testing.T) {
	require.NoError(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == ".git" {
			return fs.SkipDir
		}
		if err == nil && d.Type() == fs.ModeSymlink {
			assert.Fail(t, "a symbolic link", path)
		}
		return err
	}))
}
