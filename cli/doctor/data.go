package doctor

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/samber/lo"
	"golang.org/x/sys/unix"

	"flame/config/env"
	"flame/core"
	"flame/project/place"
)

// checkData looks at the data folder, and at what is in it.
func (d Doctor) checkData(ctx context.Context, at place.Place) []core.Finding {
	there, err := at.Data.Ready(ctx, false)
	if err != nil {
		return []core.Finding{problemFinding("", err)}
	}
	var findings []core.Finding
	if there {
		findings = append(d.Check(ctx, at), checkRoom(at.Data.Path)...)
	} else {
		findings = append(findings, checkMakable(at.Data.Path))
	}
	if notice := at.Data.Notice(); notice != "" {
		findings = append(findings, core.Finding{What: notice, Hint: "`flame projects` lists all existing data"})
	}
	for _, kept := range d.Candidates {
		findings = append(findings, core.Finding{What: MayBeOurs(kept), Hint: "`flame where --adopt " + kept.Name + "` takes it over"})
	}
	return findings
}

// checkMakable says whether the data folder can be made.
func checkMakable(data string) core.Finding {
	dir := filepath.Dir(data)
	for parent := filepath.Dir(dir); dir != parent; dir, parent = parent, filepath.Dir(parent) {
		if _, err := os.Stat(dir); err == nil {
			break
		}
	}
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return core.Finding{
			What: fmt.Sprintf("there is no data yet, and none can be made in %s: %v", dir, err),
			Hint: "make that folder writable, or name another by " + env.Dir, Broken: true,
		}
	}
	return core.Finding{What: "there is no data yet; the first write makes " + data}
}

// maxShipped is how many names a finding lists.
const maxShipped = 5

// checkShipped reports what a repository has in .flame that flame does not
// read: only definitions of agents count there.
func checkShipped(at place.Place) (findings []core.Finding) {
	for _, dir := range lo.Uniq([]string{at.Dir, at.Worktree}) {
		names := shippedIn(filepath.Join(dir, ".flame"))
		if len(names) == 0 {
			continue
		}
		if more := len(names) - maxShipped; more > 0 {
			names = append(names[:maxShipped], fmt.Sprintf("and %d more", more))
		}
		findings = append(findings, core.Finding{
			What: fmt.Sprintf("%s holds what flame neither reads nor writes: %s", filepath.Join(dir, ".flame"), strings.Join(names, ", ")),
			Hint: "only definitions, agents/*.md, count there; data is in the folder that `flame where` prints. If you did not put it there, somebody else did",
		})
	}
	return findings
}

// shippedIn lists what is in a folder .flame besides definitions. It opens none
// of it and follows no link.
func shippedIn(dir string) (names []string) {
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		return []string{"it is not a folder (" + info.Mode().Type().String() + ")"}
	}
	for _, entry := range entriesOf(dir) {
		if entry.Name() != "agents" || !entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	for _, entry := range entriesOf(filepath.Join(dir, "agents")) {
		if !strings.HasSuffix(entry.Name(), ".md") {
			names = append(names, filepath.Join("agents", entry.Name()))
		}
	}
	return names
}

// maxEntries bounds how many entries of a folder are looked at.
const maxEntries = 1_000

func entriesOf(dir string) []fs.DirEntry {
	folder, err := os.Open(dir)
	if err != nil {
		return nil // it need not exist
	}
	defer folder.Close()
	entries, _ := folder.ReadDir(maxEntries) // what could be read counts
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries
}
