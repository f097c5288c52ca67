// Package changes handles what agents do to files: the changes in their logs, their own git
// worktrees, and the way of work to another machine and back, by git alone. The asker gives a
// base, through a hidden ref of the project's remote. A worker fetches the base into a mirror,
// makes a worktree, and returns a patch and another hidden ref. The user's branches, index and
// reflog stay as they are. Bases and the content of repositories are
// untrusted.
package changes

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"flame/core"
	"flame/hosts"
	"flame/local/safefile"
)

// A Change is what an agent did to one file with the tools of its host. It includes changes by
// other means, such as a shell command, only if the agent had its own worktree.
type Change struct {
	Path    string `json:"path"`              // relative to the working folder if the file is in it
	Hash    string `json:"hash"`              // of all edits of the file, in order; equal for equal edits
	Existed bool   `json:"existed,omitempty"` // the file existed before, as far as flame knows
	Deleted bool   `json:"deleted,omitempty"` // the file is gone
	Excerpt string `json:"excerpt,omitempty"`
}

// MaxExcerpt is the length limit of a change's excerpt, in characters.
const MaxExcerpt = 2_000

// FromLog returns the changes to files in the messages of a log, by path.
func FromLog(log iter.Seq[core.Message], tools hosts.Tools, cwd string) []Change {
	edits, failed := map[string][]edit{}, map[string]bool{}
	for m := range log {
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

type edit struct {
	path, call string
	doing      string // all that the call says of it
	shown      string // the same for people
	existed    bool
}

// patched matches the file headers of a patch.
var patched = core.Pattern(`(?m)^\*\*\* (Add|Update|Delete) File: (.+)$`)

func editsOf(part core.Part, tools hosts.Tools) (edits []edit) {
	if part.Type != core.PartToolCall || tools.Effect(part.Tool) != hosts.EffectEdit {
		return nil
	}
	var input map[string]json.RawMessage
	if json.Unmarshal(part.Input, &input) != nil {
		return nil
	}
	if patch := textIn(input, "patchText", "patch_text", "patch"); patch != "" {
		return patchedFiles(patch, part.CallID)
	}
	pathNames := []string{"file_path", "filePath", "notebook_path", "path"}
	path := textIn(input, pathNames...)
	if path == "" {
		return nil
	}
	for _, name := range pathNames {
		delete(input, name)
	}
	doing, err := json.Marshal(input) // its members in order
	if err != nil {
		return nil
	}
	return []edit{{path, part.CallID, string(doing), cmp.Or(diffOf(input), string(doing)), !strings.EqualFold(part.Tool, "write")}}
}

// diffOf returns what a call takes out of a file and puts into it, as lines with - and +; empty if
// its input has no such texts.
func diffOf(input map[string]json.RawMessage) string {
	var b strings.Builder
	for _, side := range []struct {
		mark  string
		names []string
	}{{"-", []string{"old_string", "oldString"}}, {"+", []string{"new_string", "newString", "content", "new_source"}}} {
		for line := range strings.Lines(textIn(input, side.names...)) {
			b.WriteString(side.mark + strings.TrimRight(line, "\r\n") + "\n")
		}
	}
	var several []map[string]json.RawMessage
	if json.Unmarshal(input["edits"], &several) == nil {
		for _, one := range several {
			b.WriteString(diffOf(one))
		}
	}
	return b.String()
}

// textIn returns the first text that is not empty among members of an input.
func textIn(input map[string]json.RawMessage, names ...string) (text string) {
	for _, name := range names {
		if json.Unmarshal(input[name], &text) == nil && text != "" {
			return text
		}
	}
	return ""
}

func patchedFiles(patch, call string) (edits []edit) {
	found := patched().FindAllStringSubmatchIndex(patch, -1)
	for i, at := range found {
		end := len(patch)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		doing, _, _ := strings.Cut(patch[at[0]:end], "*** End Patch")
		doing = strings.TrimSpace(doing)
		edits = append(edits, edit{strings.TrimSpace(patch[at[4]:at[5]]), call, doing, doing, patch[at[2]:at[3]] != "Add"})
	}
	return edits
}

func changeOf(path string, all []edit) Change {
	var doing, shown []string
	for _, e := range all {
		doing, shown = append(doing, e.doing), append(shown, strings.TrimSuffix(e.shown, "\n"))
	}
	sum := sha256.Sum256([]byte(strings.Join(doing, "\n")))
	return Change{Path: path, Hash: hex.EncodeToString(sum[:]), Existed: all[0].existed, Excerpt: core.Cut(strings.Join(shown, "\n"), MaxExcerpt)}
}

// largestHashed is the largest file that flame compares by content, in bytes.
const largestHashed = 256 << 20

// HashOf returns the hash of a file's content, or of a link's target. It returns "" if there
// is neither, if the path leads out of the folder, or if the file is larger than
// largestHashed.
func HashOf(dir, name string) string {
	root, err := safefile.Open(dir)
	if err != nil {
		return ""
	}
	defer root.Close()
	sum := sha256.New()
	if target, err := root.Readlink(name); err == nil {
		sum.Write([]byte(target)) // a hash returns no error
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

// Paths returns the paths of changes.
func Paths(changes []Change) []string {
	all := make([]string, len(changes))
	for i, c := range changes {
		all[i] = c.Path
	}
	return all
}

// header begins the part of a git patch about one file.
const header = "diff --git "

// SplitPatch splits a git patch, as WritePatch writes it, into the changes of each file. A binary file
// has no lines. If the patch was cut, the last file may lack lines.
func SplitPatch(patch string, cut bool) (all []core.FileChange) {
	for _, part := range strings.Split("\n"+patch, "\n"+header)[1:] {
		names, rest, _ := strings.Cut(part, "\n")
		head, hunks, hasLines := strings.Cut("\n"+rest, "\n@@ ")
		c := core.FileChange{Path: pathIn(names), Kind: core.FileModified}
		switch {
		case c.Path == "":
			continue
		case strings.Contains(head, "\nnew file mode "):
			c.Kind = core.FileAdded
		case strings.Contains(head, "\ndeleted file mode "):
			c.Kind = core.FileDeleted
		}
		if hasLines {
			c.Patch = "@@ " + strings.TrimSuffix(hunks, "\n") + "\n"
			c.Added, c.Removed = strings.Count(c.Patch, "\n+"), strings.Count(c.Patch, "\n-")
		}
		all = append(all, c)
	}
	if cut && len(all) > 0 {
		all[len(all)-1].Cut = true
	}
	return all
}

// pathIn returns the path in a header, which contains it twice, each time behind a letter; it
// returns "" for other headers. Git quotes paths as Go does, if needed.
func pathIn(names string) string {
	half := len(names) / 2
	if len(names)%2 == 0 || names[half] != ' ' {
		return ""
	}
	name := names[:half]
	if strings.HasPrefix(name, `"`) {
		plain, err := strconv.Unquote(name)
		if err != nil {
			return ""
		}
		name = plain
	}
	path, found := strings.CutPrefix(name, "a/")
	if !found {
		return ""
	}
	return strings.ToValidUTF8(path, "\uFFFD")
}
