// Package doctor checks everything that flame depends on: its data, the hosts, the hub,
// definitions and grants, and every link between them. It changes nothing, except that it
// reports late events only once.
package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/samber/lo"
	"golang.org/x/sys/unix"

	"flame/agents"
	"flame/agents/definition"
	"flame/agents/plan"
	"flame/agents/record"
	"flame/cli/app"
	"flame/config"
	"flame/config/env"
	"flame/core"
	"flame/hosts"
	"flame/hosts/intake"
	"flame/local/place"
	"flame/project"
	"flame/render"
)

// A checkup collects findings about one project.
type checkup struct {
	app   *app.App
	at    place.Place
	found []core.Finding
}

// Findings returns the findings about the project at a place. The warnings are about settings
// that flame cannot use.
func Findings(ctx context.Context, a *app.App, at place.Place, warnings []config.Warning) []core.Finding {
	c := &checkup{app: a, at: at}
	c.ok("flame %s, project %s", a.Build.Version, at.Dir)
	if at.Foreign != "" {
		what, hint := app.Foreign(at)
		c.note(hint, "%s", what)
	}
	c.settings(warnings)
	c.data(ctx)
	c.inbox()
	p, closeProject := a.Open(at, false)
	defer closeProject()
	c.late(ctx, p)
	if off, _ := p.Off(ctx); off { // data reports a store that flame cannot read
		c.todo("`flame on` turns them on", "hooks and contexts are off for this project")
		c.found = append(c.found[len(c.found)-1:], c.found[:len(c.found)-1]...) // it explains most of the others
	}
	c.shipped()
	c.hub(ctx)
	machine, err := hosts.ThisMachine(at.Worktree)
	if err != nil {
		c.problem("", err)
	}
	c.program(ctx, machine)
	if catalog, err := a.Catalog(); err != nil {
		c.problem("agents: ", err)
	} else {
		c.definitions(catalog)
	}
	c.grants(ctx, p)
	c.lost(ctx, p)
	links, _ := p.LastHooks(ctx) // data reports a store that flame cannot read
	connected := false
	for _, h := range a.Hosts {
		connected = c.host(ctx, h, machine, links) || connected
	}
	if !connected {
		c.todo("`flame setup` connects those that are on PATH", "no host is connected: no agent knows of flame yet")
	}
	return c.found
}

// ok adds a finding that needs no action.
func (c *checkup) ok(format string, args ...any) { c.note("", format, args...) }

// note adds a finding with a hint. Flame works in spite of it.
func (c *checkup) note(hint, format string, args ...any) {
	c.found = append(c.found, core.Finding{What: fmt.Sprintf(format, args...), Hint: hint})
}

// todo adds a step that comes next.
func (c *checkup) todo(hint, format string, args ...any) {
	c.found = append(c.found, core.Finding{What: fmt.Sprintf(format, args...), Hint: hint, Todo: true})
}

// broken adds a finding that keeps flame from working.
func (c *checkup) broken(hint, format string, args ...any) {
	c.found = append(c.found, core.Finding{What: fmt.Sprintf(format, args...), Hint: hint, Broken: true})
}

// problem adds an error that keeps flame from working.
func (c *checkup) problem(what string, err error) { c.broken(render.Hint(err), "%s%v", what, err) }

// program reports another version of flame in the place where hosts start it.
func (c *checkup) program(ctx context.Context, machine hosts.Machine) {
	path, own := machine.Binary(), strings.TrimPrefix(c.app.Build.Version, "v")
	if hosts.SameFolder(path, c.app.Program()) {
		return
	}
	if version, err := versionOf(ctx, path); err == nil && version != own {
		c.note("`flame setup` copies this program there", "hosts start %s, which is version %s", path, version)
	}
}

// versionTime is how long a program may take to print its version.
const versionTime = 10 * time.Second

// versionOf runs a flame for its version, as names of archives have it.
func versionOf(ctx context.Context, program string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "version", "--json")
	cmd.WaitDelay = time.Second
	said, err := cmd.Output()
	if err != nil {
		return "", err
	}
	var build app.Build
	err = json.Unmarshal(said, &build)
	return strings.TrimPrefix(build.Version, "v"), err
}

// settings reports settings that flame does not use.
func (c *checkup) settings(warnings []config.Warning) {
	for _, w := range warnings {
		c.broken("correct the variable or unset it", "%v", w)
	}
	for _, u := range config.UnknownVariables(os.Environ(), append(env.Inner, core.AgentVariable)...) {
		hint := "`flame config` lists them all"
		if instead, gone := config.Gone[u.Name]; gone {
			hint = instead + "; unset it"
		} else if u.Near != "" {
			hint = "flame ignores it; did you mean " + u.Near + "? " + hint
		}
		c.note(hint, "flame has no setting %s", u.Name)
	}
}

// maxDefinitions bounds how many findings about definitions the doctor lists.
const maxDefinitions = 10

// definitions reports mistakes in definitions of agents. Flame works in spite of them.
func (c *checkup) definitions(catalog definition.Catalog) {
	for i, found := range catalog.Issues {
		if i == maxDefinitions {
			c.note("`flame agents doctor` lists all", "agents: %d more findings", len(catalog.Issues)-i)
			return
		}
		hint := "correct that file, or remove it"
		if found.Fatal {
			hint += ": until then it defines no agent, and flame uses no other definition of that name"
		}
		c.note(hint, "agents: %v", found)
	}
}

// grants reports active grants that were made while agents ran: an agent with a shell can do
// everything that a person can do at a terminal.
func (c *checkup) grants(ctx context.Context, p *project.Project) {
	grants, _ := c.app.Agents(p, c.at).Grants(ctx) // data reports a store that flame cannot read
	for _, g := range grants {
		if len(g.During) == 0 || g.ExpiresAt > 0 && g.ExpiresAt <= p.Now() {
			continue
		}
		c.note("if you did not make it: `flame agents grant --revoke "+g.ID+"`", "agents: %s, which lets %s, was made at %s while %s ran",
			g.ID, g.Describe(), localTime(g.MadeAt), strings.Join(g.During, ", "))
	}
}

// lost reports agents whose supervisors are gone, or give no sign of life.
func (c *checkup) lost(ctx context.Context, p *project.Project) {
	living, _ := project.Read(ctx, p, func(tx project.Tx) (map[string]record.ActiveAgent, error) { // data reports a store that flame cannot read
		return record.ActiveAgents.ByID(tx)
	})
	for _, id := range slices.Sorted(maps.Keys(living)) {
		if !living[id].Watched(p.Now()) {
			c.todo("`flame agents` ends what is left of it", "%s: the process that watches it is gone, or gives no sign of life", id)
		}
	}
}

func localTime(t core.Millis) string { return render.Time(t, core.MillisOf(time.Now())) }

// muchRoom is the size of agents' folders, in bytes, from which doctor reports it.
const muchRoom = 1 << 30

// room reports agents' folders that take much disk space.
func (c *checkup) room() {
	s := agents.Agents{Setup: plan.Setup{Data: c.at.Data.Path}}
	if used := s.DiskUse(); used >= muchRoom {
		c.note("`flame prune --agents` deletes the output of those that ended over 30 days ago", "the output of agents takes %s", core.Size(used))
	}
}

// data checks the data folder and its content.
func (c *checkup) data(ctx context.Context) {
	there, err := c.at.Data.Ready(ctx, false)
	if err != nil {
		c.problem("", err)
		return
	}
	if there {
		c.found = append(c.found, c.app.Check(ctx, c.at)...)
		c.stampKey(ctx)
		c.room()
	} else {
		c.makable()
	}
	if notice := c.at.Data.Notice(); notice != "" {
		c.note("`flame projects` lists all existing data", "%s", notice)
	}
	for _, kept := range c.app.Candidates(ctx, c.at) {
		what, hint := app.AdoptHint(kept)
		c.note(hint, "%s", what)
	}
}

// stampKey reports a key without which flame believes no hook about who calls.
func (c *checkup) stampKey(ctx context.Context) {
	if _, err := c.at.Data.StampKey(ctx, false); err != nil && !hosts.IsMissing(err) {
		c.problem("", err)
	}
}

// makable reports whether flame can make the data folder.
func (c *checkup) makable() {
	dir := filepath.Dir(c.at.Data.Path)
	for parent := filepath.Dir(dir); dir != parent; dir, parent = parent, filepath.Dir(parent) {
		if _, err := os.Stat(dir); err == nil {
			break
		}
	}
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		c.broken("make that folder writable, or name another one with "+env.Dir, "there is no data yet, and flame cannot make any in %s: %v", dir, err)
		return
	}
	c.ok("there is no data yet; the first write makes %s", c.at.Data.Path)
}

// inbox reports waiting and lost events of hosts.
func (c *checkup) inbox() {
	state, err := intake.Inbox{Dir: c.at.Data.Path}.State()
	if err != nil {
		c.problem("the inbox: ", err)
		return
	}
	if state.Bytes > 0 {
		c.note("the next command stores them; if they stay, one of the findings about the data says why",
			"%d KB of hosts' events wait in the inbox, of at most %d MB", state.Bytes>>10+1, state.Limit>>20)
	}
	if state.Lost > 0 {
		c.broken("the log says why; to drop this finding, delete "+state.LostFile,
			"%d events of hosts are lost: flame could write neither to the store nor to the inbox", state.Lost)
	}
	if state.Aside != "" {
		c.note("a newer flame may have written them; if you do not need them, delete the file", "%s holds events that flame could not read", state.Aside)
	}
}

// late reports hosts' events that flame stored late since the last report.
func (c *checkup) late(ctx context.Context, p *project.Project) {
	late, _ := p.TakeLate(ctx) // data reports a store that flame cannot read
	for _, l := range late {
		if l.Count > 0 {
			c.note("nothing is lost; a busy machine or a locked store delays events",
				"since %[3]s, flame could not handle %[1]d events of %[2]s in time and stored them later", l.Count, l.Host, localTime(l.First))
		}
		if l.MadeUp > 0 {
			c.note("the server of a session was killed or switched off; if that continues, `"+env.Hooks+"="+env.Commands+" flame setup` starts a process for each event",
				"since %[3]s, %[1]d events of %[2]s never arrived, and flame rebuilt them from its files", l.MadeUp, l.Host, localTime(l.First))
		}
	}
}

// maxShipped is how many names a finding lists.
const maxShipped = 5

// shipped reports files in a repository's .flame that flame does not read: it reads only
// definitions of agents there.
func (c *checkup) shipped() {
	for _, dir := range lo.Uniq([]string{c.at.Dir, c.at.Worktree}) {
		dir = filepath.Join(dir, ".flame")
		names := shippedIn(dir)
		if len(names) == 0 {
			continue
		}
		if more := len(names) - maxShipped; more > 0 {
			names = append(names[:maxShipped], fmt.Sprintf("and %d more", more))
		}
		c.note("flame reads only definitions there, agents/*.md; `flame where` prints the folder with the data. If you did not add this, somebody else did",
			"%s contains files that flame neither reads nor writes: %s", dir, strings.Join(names, ", "))
	}
}

// shippedIn lists everything in a folder .flame except definitions. It opens no file and
// follows no link.
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

// maxEntries bounds how many entries of a folder the doctor reads.
const maxEntries = 1_000

func entriesOf(dir string) []fs.DirEntry {
	folder, err := os.Open(dir)
	if err != nil {
		return nil // the folder may be missing
	}
	defer folder.Close()
	entries, _ := folder.ReadDir(maxEntries) // it uses the entries before an error
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries
}
