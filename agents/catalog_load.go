package agents

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// largest is the size of a file, in bytes, above which it is not read;
	// instructions are a few KB.
	largest = 1 << 20
	// most is how many entries one folder, with those below it, may have: a link
	// may lead anywhere, to the root of the disk too.
	most = 5000
)

// A loader collects a catalog.
type loader struct {
	catalog Catalog
	holds   map[string]int // index of the definition that holds, by name
}

// add takes a definition over those of its name that came before.
func (l *loader) add(def Definition) {
	delete(l.catalog.broken, def.Name)
	if i, known := l.holds[def.Name]; known {
		if before := l.catalog.Definitions[i]; filepath.Dir(before.Source.File) == filepath.Dir(def.Source.File) {
			l.note(def.Source.File, def.Name, fmt.Sprintf("takes the place of %s, which gives the same name", before.Source.File), false)
		}
	}
	l.holds[def.Name] = len(l.catalog.Definitions)
	l.catalog.Definitions = append(l.catalog.Definitions, def)
}

func (l *loader) note(path, agent, reason string, fatal bool) {
	l.catalog.Findings = append(l.catalog.Findings, Finding{File: path, Agent: agent, Reason: reason, Fatal: fatal})
}

// finish marks what is shadowed and sorts by name.
func (l *loader) finish() Catalog {
	c := l.catalog
	for i := range c.Definitions {
		def := &c.Definitions[i]
		if finding, broken := c.broken[def.Name]; broken {
			def.ShadowedBy = finding.File
		} else if holder := l.holds[def.Name]; holder != i {
			def.ShadowedBy = c.Definitions[holder].Source.File
		}
	}
	slices.Reverse(c.Definitions) // what came last comes first among equals
	slices.SortStableFunc(c.Definitions, func(a, b Definition) int { return cmp.Compare(a.Name, b.Name) })
	return c
}

// dir reads one of the folders to search; it need not exist.
func (l *loader) dir(dir Dir) {
	switch _, err := os.Stat(dir.Path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		l.note(dir.Path, "", "cannot be read: "+reason(err), true)
	default:
		w := walk{loader: l, dir: dir, seen: map[string]bool{}, left: most}
		w.folder(dir.Path, "")
	}
}

// A walk goes through one folder.
type walk struct {
	*loader
	dir  Dir
	seen map[string]bool // real paths of the folders that were read
	left int             // entries that may still be looked at
}

// folder reads what a folder holds; prefix begins the names of agents in it.
func (w *walk) folder(path, prefix string) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		w.note(path, "", "cannot be read: "+reason(err), true)
		return
	}
	if w.seen[real] {
		w.note(path, "", "leads back to a folder that was read already", false)
		return
	}
	w.seen[real] = true
	entries, err := os.ReadDir(path)
	if err != nil {
		w.note(path, "", "cannot be read: "+reason(err), true)
	}
	for _, entry := range entries {
		if w.left--; w.left < 0 {
			if w.left == -1 {
				w.note(w.dir.Path, "", fmt.Sprintf("holds more than %d files; the rest was not read", most), true)
			}
			return
		}
		if !strings.HasPrefix(entry.Name(), ".") {
			w.entry(filepath.Join(path, entry.Name()), prefix)
		}
	}
}

// entry reads a file or, where folders nest, a folder. Links are followed.
func (w *walk) entry(path, prefix string) {
	stem, markdown := strings.CutSuffix(filepath.Base(path), ".md")
	if !markdown && !w.dir.Nested {
		return
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		w.broken(path, prefix+stem, errors.New("cannot be read: "+reason(err)))
	case info.IsDir():
		if w.dir.Nested {
			w.folder(path, prefix+filepath.Base(path)+"/")
		}
	case !markdown:
	case !info.Mode().IsRegular():
		w.broken(path, prefix+stem, errors.New("is not a regular file"))
	case info.Size() > largest:
		w.broken(path, prefix+stem, fmt.Errorf("is larger than %d KB", largest>>10))
	default:
		w.file(path, prefix+stem)
	}
}

// file reads a definition.
func (w *walk) file(path, name string) {
	content, err := readFile(path)
	if err != nil {
		w.broken(path, name, errors.New("cannot be read: "+reason(err)))
		return
	}
	def, findings := parse(path, name, content)
	w.catalog.Findings = append(w.catalog.Findings, findings...)
	if i := slices.IndexFunc(findings, func(f Finding) bool { return f.Fatal }); i >= 0 {
		w.catalog.broken[def.Name] = findings[i]
		return
	}
	def.Source = Source{Kind: w.dir.Kind, File: path}
	w.add(def)
}

// broken notes a file that gives no definition, and that it stands in the way of
// those of the same name.
func (w *walk) broken(path, agent string, err error) {
	w.note(path, agent, err.Error(), true)
	w.catalog.broken[agent] = w.catalog.Findings[len(w.catalog.Findings)-1]
}

// readFile reads no more than a definition may have, however large the file has
// become.
func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, largest+1))
}

// reason is what the system says, without the path, which stands beside it.
func reason(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}
