// Package changes tells what an agent did to files: by what it said that it does, and
// by the git worktree that it had for itself.
package changes

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"flame/confine"
	"flame/core"
	"flame/hosts"
	"flame/transcripts"
)

// A Change is what an agent did to one file with the tools of its host. What it
// did by other means, a shell command, is not among it unless it worked in a
// worktree of its own.
type Change struct {
	Path    string `json:"path"`              // relative to the folder it worked in, where it lies in that
	Hash    string `json:"hash"`              // of all it did to the file, in order; equal for the same doing
	Existed bool   `json:"existed,omitempty"` // there was such a file before, as far as is known
	Deleted bool   `json:"deleted,omitempty"` // there is none any more
	Excerpt string `json:"excerpt,omitempty"`
}

// MaxExcerpt bounds the excerpt of a change, in characters.
const MaxExcerpt = 2_000

// In returns what the messages of a log did to files, by path.
func In(log io.Reader, known hosts.Registry, host, cwd string) []Change {
	tools := known.Tools()
	edits, failed := map[string][]edit{}, map[string]bool{}
	for m, err := range transcripts.Messages(log, known.Of(host).Prints) {
		if err != nil {
			break
		}
		for _, part := range m.Parts {
			if part.Type == core.PartToolResult && part.Failed {
				failed[part.CallID] = true
			}
			for _, e := range editsOf(part, tools) {
				path := e.path
				if inside, err := filepath.Rel(cwd, path); err == nil && filepath.IsAbs(path) && filepath.IsLocal(inside) {
					path = inside
				}
				edits[filepath.ToSlash(path)] = append(edits[filepath.ToSlash(path)], e)
			}
		}
	}
	changes := []Change{}
	for path, all := range edits {
		all = slices.DeleteFunc(all, func(e edit) bool { return failed[e.call] })
		if len(all) > 0 {
			changes = append(changes, changeOf(path, all))
		}
	}
	slices.SortFunc(changes, func(x, y Change) int { return strings.Compare(x.Path, y.Path) })
	return changes
}

// An edit is one call that changed a file.
type edit struct {
	path, call, doing string
	existed           bool
}

// patched matches the files that a patch is about.
var patched = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^\*\*\* (Add|Update|Delete) File: (.+)$`) })

// editsOf returns what a call does to files.
func editsOf(part core.Part, tools hosts.Tools) (edits []edit) {
	if part.Type != core.PartToolCall || tools.Effect(part.Tool) != hosts.Edits {
		return nil
	}
	var input map[string]json.RawMessage
	if json.Unmarshal(part.Input, &input) != nil {
		return nil
	}
	text := func(names ...string) string {
		for _, name := range names {
			var value string
			if json.Unmarshal(input[name], &value) == nil && value != "" {
				return value
			}
		}
		return ""
	}
	if patch := text("patchText", "patch_text", "patch"); patch != "" {
		return patchedFiles(patch, part.CallID)
	}
	path := text("file_path", "filePath", "notebook_path", "path")
	if path == "" {
		return nil
	}
	for _, name := range []string{"file_path", "filePath", "notebook_path", "path"} {
		delete(input, name)
	}
	doing, err := json.Marshal(input) // its members in order
	if err != nil {
		return nil
	}
	return []edit{{path, part.CallID, string(doing), !strings.EqualFold(part.Tool, "write")}}
}

// patchedFiles returns what a patch does to each of its files.
func patchedFiles(patch, call string) (edits []edit) {
	found := patched().FindAllStringSubmatchIndex(patch, -1)
	for i, at := range found {
		end := len(patch)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		doing, _, _ := strings.Cut(patch[at[0]:end], "*** End Patch")
		edits = append(edits, edit{strings.TrimSpace(patch[at[4]:at[5]]), call, strings.TrimSpace(doing), patch[at[2]:at[3]] != "Add"})
	}
	return edits
}

func changeOf(path string, all []edit) Change {
	var doing []string
	for _, e := range all {
		doing = append(doing, e.doing)
	}
	whole := strings.Join(doing, "\n")
	sum := sha256.Sum256([]byte(whole))
	return Change{Path: path, Hash: hex.EncodeToString(sum[:]), Existed: all[0].existed, Excerpt: core.Cut(whole, MaxExcerpt)}
}

// largestHashed bounds the files that are compared by what they hold, in bytes.
const largestHashed = 256 << 20

// HashOf returns the hash of what a file in a folder holds, or of where a link leads;
// empty where there is neither, where the way leads out of the folder, and of a file
// beyond all measure.
func HashOf(dir, name string) string {
	root, err := confine.Open(dir)
	if err != nil {
		return ""
	}
	defer root.Close()
	sum := sha256.New()
	if target, err := root.Readlink(name); err == nil {
		sum.Write([]byte(target)) // a hash takes all
		return hex.EncodeToString(sum.Sum(nil))
	}
	file, err := root.Open(name)
	if err != nil {
		return ""
	}
	defer file.Close()
	if n, err := io.Copy(sum, io.LimitReader(file, largestHashed+1)); err != nil || n > largestHashed {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Paths returns the files of changes.
func Paths(changes []Change) []string {
	all := make([]string, len(changes))
	for i, c := range changes {
		all[i] = c.Path
	}
	return all
}
