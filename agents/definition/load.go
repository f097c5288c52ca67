package definition

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/samber/lo"

	"flame/hosts"
	"flame/local/safefile"
)

// Limits on reading definitions: every spawn reads them, and a repository may
// contain anything.
const (
	largest  = 1 << 20         // bytes of one file; instructions are a few KB
	allowed  = 16 << 20        // bytes of all files together
	most     = 5000            // entries of one folder, including those below it: a link may lead anywhere, even to the root of the disk
	deepest  = 10              // folders in folders
	patience = 2 * time.Second // for all of them; a few hundred take some milliseconds
)

// Load reads the built-in definitions and those of the folders, in ascending
// precedence. It reads them on each call, so that a user's changes apply at
// once. A bad file is a finding and keeps no other from being loaded; but no
// other replaces it: see Find.
//
// A project's folders come with the repository, so no link is followed out of
// it, and all folders together are bounded in size and time. The user's own are
// read first, so that nothing in a repository keeps them from being read.
func Load(known hosts.Registry, dirs []Dir) Catalog {
	return loadUntil(time.Now().Add(patience), known, dirs)
}

func loadUntil(end time.Time, known hosts.Registry, dirs []Dir) Catalog {
	l := loader{
		catalog: Catalog{Dirs: dirs, broken: map[string]Issue{}, doubtful: map[string]bool{}},
		known:   known, holds: map[string]int{}, end: end, room: allowed,
	}
	for _, b := range builtins {
		l.add(b.definition(known.Common()))
	}
	for _, dir := range dirs {
		l.dir(dir)
	}
	return l.finish()
}

type loader struct {
	catalog Catalog
	known   hosts.Registry
	holds   map[string]int // index of the effective definition, by name
	end     time.Time      // when to read no more
	room    int            // bytes that may still be read
}

// add replaces earlier definitions of the same name by this one.
func (l *loader) add(def Definition) {
	delete(l.catalog.broken, def.Name)
	if i, known := l.holds[def.Name]; known {
		if before := l.catalog.Definitions[i]; filepath.Dir(before.Source.File) == filepath.Dir(def.Source.File) {
			l.note(def.Source.File, def.Name, fmt.Sprintf("replaces %s, which has the same name", before.Source.File), false)
		}
	}
	l.holds[def.Name] = len(l.catalog.Definitions)
	l.catalog.Definitions = append(l.catalog.Definitions, def)
}

func (l *loader) note(path, agent, reason string, fatal bool) {
	l.catalog.Issues = append(l.catalog.Issues, Issue{File: path, Agent: agent, Reason: reason, Fatal: fatal})
}

// finish marks shadowed definitions, marks what a project's definition replaces, and sorts by
// name.
func (l *loader) finish() Catalog {
	c := l.catalog
	trusted := map[string]Source{} // definitions so far that are not the project's, by name
	for i := range c.Definitions {
		def := &c.Definitions[i]
		if finding, broken := c.broken[def.Name]; broken {
			def.ShadowedBy = finding.File
		} else if holder := l.holds[def.Name]; holder != i {
			def.ShadowedBy = c.Definitions[holder].Source.File
		}
		switch source, known := trusted[def.Name]; {
		case !def.FromRepo():
			trusted[def.Name] = def.Source
		case known && def.ShadowedBy == "":
			def.Replaces = &source
		}
	}
	slices.Reverse(c.Definitions) // what came last comes first among equals
	slices.SortStableFunc(c.Definitions, func(a, b Definition) int { return cmp.Compare(a.Name, b.Name) })
	return c
}

// dir reads one of the folders to search; it need not exist.
func (l *loader) dir(dir Dir) {
	w := walk{loader: l, dir: dir, base: dir.Path, in: safefile.Follow(dir.Path), left: most}
	start := "."
	if dir.Kind == Project {
		w.base = cmp.Or(dir.Within, dir.Path)
		root, err := safefile.Open(w.base)
		if err != nil {
			w.unread(dir.Path, err)
			return
		}
		defer root.Close()
		if start, err = filepath.Rel(w.base, dir.Path); err != nil {
			w.unread(dir.Path, err)
			return
		}
		w.in = root.Folder
	}
	w.folder(start, "", 0)
}

type walk struct {
	*loader
	dir  Dir
	base string          // path of the folder that names are relative to
	in   safefile.Folder // that folder
	seen []fs.FileInfo   // of the folders that were read
	left int             // entries that may still be looked at
	over bool            // nothing more is read
}

func (w *walk) path(name string) string { return filepath.Join(w.base, name) }

// unread records a folder that cannot be read, unless it does not exist.
func (w *walk) unread(path string, err error) {
	if path != w.dir.Path || !errors.Is(err, fs.ErrNotExist) {
		w.note(path, "", words(err), true)
	}
}

func (w *walk) stop(reason string) {
	w.over = true
	w.note(w.dir.Path, "", reason+"; the rest was not read", true)
}

// folder reads a folder; prefix precedes the names of agents in it.
func (w *walk) folder(name, prefix string, depth int) {
	info, err := w.in.Stat(name)
	if err != nil {
		w.unread(w.path(name), err)
		return
	}
	if slices.ContainsFunc(w.seen, func(known fs.FileInfo) bool { return os.SameFile(known, info) }) {
		w.note(w.path(name), "", "leads back to a folder that was already read", false)
		return
	}
	w.seen = append(w.seen, info)
	entries, more, err := w.in.ReadDir(name, w.left)
	if err != nil {
		w.unread(w.path(name), err)
	}
	w.left -= len(entries)
	for _, entry := range entries {
		if w.over {
			return
		}
		if !strings.HasPrefix(entry.Name(), ".") {
			w.entry(path.Join(name, entry.Name()), prefix, entry.Type(), depth)
		}
	}
	if more && !w.over {
		w.stop(fmt.Sprintf("holds more than %d files", most))
	}
}

// entry reads a file or, if folders nest, a folder. Links are followed as far
// as the folder allows.
func (w *walk) entry(name, prefix string, kind fs.FileMode, depth int) {
	stem, markdown := strings.CutSuffix(path.Base(name), ".md")
	if !markdown && !w.dir.Nested {
		return
	}
	if kind&fs.ModeSymlink != 0 {
		info, err := w.in.Stat(name)
		if err != nil {
			w.broken(name, prefix+stem, err)
			return
		}
		kind = info.Mode()
	}
	switch {
	case time.Now().After(w.end):
		w.stop(fmt.Sprintf("takes more than %s", patience))
	case kind.IsDir() && w.dir.Nested && depth >= deepest:
		w.note(w.path(name), "", fmt.Sprintf("lies deeper than %d folders and was not read", deepest), true)
	case kind.IsDir() && w.dir.Nested:
		w.folder(name, prefix+path.Base(name)+"/", depth+1)
	case kind.IsDir() || !markdown:
	default:
		w.file(name, prefix+stem)
	}
}

func (w *walk) file(name, agent string) {
	if w.room <= 0 {
		w.broken(name, agent, safefile.Refusal(fmt.Sprintf("was not read: all definitions together are larger than %d MB", allowed>>20)))
		return
	}
	content, err := w.in.ReadFile(name, largest)
	if err != nil {
		w.broken(name, agent, err)
		return
	}
	w.room -= len(content)
	def, findings := parse(w.known, w.path(name), agent, content)
	w.catalog.Issues = append(w.catalog.Issues, findings...)
	if i := slices.IndexFunc(findings, isFatal); i >= 0 {
		w.inTheWay(def.Name, findings[i])
		return
	}
	for _, tool := range unheardOf(w.known, def) {
		w.note(w.path(name), def.Name, fmt.Sprintf("tool %q is not one that any host is known to have", tool), false)
	}
	def.Source = Source{Kind: w.dir.Kind, File: w.path(name)}
	w.add(def)
}

// unheardOf returns the tools in a definition that no host is known to have, or
// that its own host is not known to have.
func unheardOf(registry hosts.Registry, def Definition) (tools []string) {
	names := registry.Names()
	if def.Host != "" {
		names = []string{def.Host}
	}
	for _, tool := range slices.Concat(lo.FromPtr(def.Tools), def.DisallowedTools) {
		name, _ := hosts.SplitRule(tool)
		known := slices.ContainsFunc(names, func(host string) bool {
			return registry.Of(host).HasTool(name) || len(registry.NamesIn(host, name)) > 0
		})
		if !known && !slices.Contains(tools, tool) {
			tools = append(tools, tool)
		}
	}
	return tools
}

// broken records a file that gives no definition, and that it blocks those of
// the same name.
func (w *walk) broken(name, agent string, err error) {
	w.note(w.path(name), agent, words(err), true)
	w.inTheWay(agent, w.catalog.Issues[len(w.catalog.Issues)-1])
}

func (l *loader) inTheWay(agent string, why Issue) {
	l.catalog.broken[agent], l.catalog.doubtful[agent] = why, true
}

// words says why something was not read, without its path, which is shown
// beside it.
func words(err error) string {
	var refused safefile.Refusal
	if errors.As(err, &refused) {
		return refused.Error()
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return "cannot be read: " + err.Error()
}
