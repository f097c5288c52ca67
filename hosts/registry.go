package hosts

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/op"
	"flame/transcripts"
)

// A Registry holds the hosts that flame knows, in the order in which they are
// named.
type Registry []Host

// Find returns the host of a name, and whether there is one. People and other programs also use
// the name of its program, such as claude, and its title, such as codex-cli.
func (r Registry) Find(name string) (Host, bool) {
	if host, known := lo.Find(r, func(h Host) bool { return h.Name == name }); known || name == "" {
		return host, known
	}
	return lo.Find(r, func(h Host) bool {
		return strings.EqualFold(h.Program, name) || strings.EqualFold(strings.ReplaceAll(h.Title, " ", "-"), name)
	})
}

// Named returns the host of a name, or an error that lists the hosts that can
// start agents.
func (r Registry) Named(name string) (Host, error) {
	host, known := r.Find(name)
	if !known {
		return host, core.Invalidf("the host %q starts no agents", name).WithHint("%s do", list(r.Names(), "and"))
	}
	return host, nil
}

// Of returns the host of a name. An unknown host has no tools, takes any model,
// and is assumed to know every tool.
func (r Registry) Of(name string) Host {
	h, known := r.Find(name)
	if !known {
		h.Name = name
	}
	return h
}

// Title returns the name of a host for people, or the name of a program that is no host.
func (r Registry) Title(name string) string {
	h, _ := r.Find(name)
	return cmp.Or(h.Title, core.OneLine(name, 30))
}

// OfClient returns the name of the host whose MCP client introduces itself so; the client's own name
// if it is of none.
func (r Registry) OfClient(client string) string {
	for _, h := range r {
		if h.Events.ClientName != "" && h.Events.ClientName == client {
			return h.Name
		}
	}
	return client
}

// WithHooks returns the hosts that report their events to flame.
func (r Registry) WithHooks() Registry {
	return lo.Filter(r, func(h Host, _ int) bool { return h.Events.Hook != nil })
}

// WithGateway returns the hosts that can have a gateway.
func (r Registry) WithGateway() Registry {
	return lo.Filter(r, func(h Host, _ int) bool { return h.HasGateway() })
}

// Names returns the names of the hosts.
func (r Registry) Names() []string { return lo.Map(r, func(h Host, _ int) string { return h.Name }) }

// Titles returns the hosts' names for people, with a word between the last two.
func (r Registry) Titles(word string) string {
	return list(lo.Map(r, func(h Host, _ int) string { return h.Title }), word)
}

// Additions says what setup puts into each host.
func (r Registry) Additions() string {
	return strings.Join(lo.Map(r, func(h Host, _ int) string { return "in " + h.Title + " " + h.Setup.Adds }), ", ")
}

// list joins words as a sentence does.
func list(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + last + " " + words[len(words)-1]
}

// Session returns the session of the host that this process runs in, or ""
// outside of hosts.
func (r Registry) Session(getenv func(string) string) string {
	return r.told(getenv, func(h Host) string { return h.Variables.Session })
}

// Folder returns the folder in which the session of that host was started, or ""
// outside of hosts.
func (r Registry) Folder(getenv func(string) string) string {
	return r.told(getenv, func(h Host) string { return h.Variables.Folder })
}

// LogsOf returns an example of a folder with the logs of a project.
func (r Registry) LogsOf() string {
	h, _ := lo.Find(r, func(h Host) bool { return h.Logs.Example != "" })
	return h.Logs.Example
}

// told returns the value of the first of the hosts' variables that is set.
func (r Registry) told(getenv func(string) string, variable func(Host) string) string {
	for _, h := range r {
		if name := variable(h); name != "" && getenv(name) != "" {
			return getenv(name)
		}
	}
	return ""
}

// Formats returns the formats of all hosts' logs.
func (r Registry) Formats() transcripts.Formats {
	return lo.FlatMap(r, func(h Host, _ int) []*transcripts.Format { return h.Logs.Formats })
}

// Tools returns the tools of all hosts.
func (r Registry) Tools() Tools {
	return lo.FlatMap(r, func(h Host, _ int) []Tool { return h.Tools.Own })
}

// SpawnTools returns the tools of hosts and of flame with which an agent starts
// other agents. At the deepest level flame withholds all of them: one missing alias
// would let agents multiply.
func (r Registry) SpawnTools() []string {
	return append(r.Tools().Names(EffectSpawn), "*"+string(op.Spawn))
}

// IsInHost reports whether a process runs in a session of a host, according to its
// environment and the names of its ancestors.
func (r Registry) IsInHost(getenv func(string) string, above []string) bool {
	return slices.ContainsFunc(r, func(h Host) bool {
		return h.Variables.Marker != "" && getenv(h.Variables.Marker) != "" || slices.Contains(above, h.Program)
	})
}

// Each returns the texts of a kind that the hosts have, such as the files of their settings.
func (r Registry) Each(texts func(Host) []string) []string {
	return lo.Compact(lo.FlatMap(r, func(h Host, _ int) []string { return texts(h) }))
}

// HowToInstall returns advice for a user who has none of the hosts.
func (r Registry) HowToInstall() string {
	titles := lo.Map(r, func(h Host, _ int) string { return h.Title })
	programs := lo.Map(r, func(h Host, _ int) string { return "`" + h.Program + "`" })
	return "install " + strings.Join(titles, " or ") + ", so that " + strings.Join(programs, " or ") + " is on PATH"
}

// Understands reports whether some host understands a key of definitions.
func (r Registry) Understands(key string) bool {
	return slices.ContainsFunc(r, func(h Host) bool { return h.Key(key).Name != "" })
}

// HostOfPermission returns the host with a permission that is not tied to a tool, and
// whether there is such a host.
func (r Registry) HostOfPermission(permission string) (Host, bool) {
	return lo.Find(r, func(h Host) bool { return slices.Contains(h.Tools.Rules, permission) })
}

// CoveredTools returns the tools that a permission covers: in some hosts all tools that
// change files share one permission.
func (r Registry) CoveredTools(permission string) []string {
	for _, h := range r {
		if h.Tools.SharedEditPermission && slices.Contains(h.Tools.Own.Names(EffectEdit), permission) {
			return h.Tools.Own.Current().Names(EffectEdit)
		}
	}
	return []string{permission}
}

// Definitions returns where the hosts look for definitions of a scope, in
// ascending precedence.
func (r Registry) Definitions(m Machine, scope Scope) (folders []Folder) {
	for _, h := range r {
		if h.Agents.Definitions != nil {
			folders = append(folders, lo.Filter(h.Agents.Definitions(m), func(f Folder, _ int) bool { return f.Scope == scope })...)
		}
	}
	return folders
}

// LogOf returns a host's log of a session: the log that the host keeps for all sessions, or
// the log at path, which a hook of the host reported. Without such a log the error is
// core.ErrNotFound.
func (r Registry) LogOf(machine Machine, host, session, path string) (transcripts.Log, error) {
	if store := r.Of(host).Logs.DB; store != nil {
		path = store(machine)
	}
	if path == "" {
		return transcripts.Log{}, core.NotFoundf("flame does not know where the transcript of session %s is", session)
	}
	logs, err := r.Formats().Detect(path, nil)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return transcripts.Log{}, core.NotFoundf("the transcript of session %s is gone: %s does not exist", session, path)
	case err != nil:
		return transcripts.Log{}, err
	}
	log := logs[0] // its subagents are sessions of their own
	if log.Format.Database != nil {
		log.Session = session
	}
	return log, nil
}

// NewestLogs returns the logs of the newest session of a machine's project, in any host. No
// session is core.ErrNotFound.
func (r Registry) NewestLogs(ctx context.Context, m Machine) ([]transcripts.Log, error) {
	var newest LoggedSession
	for _, h := range r {
		if h.Logs.Newest == nil {
			continue
		}
		past, err := h.Logs.Newest(ctx, m)
		if err != nil {
			return nil, core.Unavailablef(err, "flame cannot read the sessions of %s: %v", h.Title, err)
		}
		if past.At.After(newest.At) {
			newest = past
		}
	}
	if newest.Path == "" {
		return nil, core.NotFoundf("%s kept no session of %s", r.Titles("or"), m.ProjectDir).WithHint("name a log of another project")
	}
	logs, err := r.Formats().Detect(newest.Path, nil)
	for i := range logs {
		logs[i].Session = cmp.Or(newest.Session, logs[i].Session)
	}
	return logs, err
}

// NewestLog returns the newest of the last logs (at most as many) in a folder, by their names, that fits; none without
// such a folder.
func NewestLog(ctx context.Context, dir string, most int, fits func(path string) bool) (past LoggedSession, err error) {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return past, nil
	}
	for _, file := range files[max(0, len(files)-most):] {
		if ctx.Err() != nil {
			return past, ctx.Err()
		}
		path := filepath.Join(dir, file.Name())
		info, err := file.Info()
		if err == nil && info.Mode().IsRegular() && filepath.Ext(path) == ".jsonl" && info.ModTime().After(past.At) && fits(path) {
			past = LoggedSession{Path: path, At: info.ModTime()}
		}
	}
	return past, err
}

// AllLogs returns the logs of all sessions in all hosts of a machine, and what it could not read, each
// with the reason. No log at all is core.ErrNotFound.
func (r Registry) AllLogs(m Machine) (all []transcripts.Log, unread []string, err error) {
	for _, h := range r {
		if h.Logs.In == nil {
			continue
		}
		logs, err := h.Logs.Formats.Detect(h.Logs.In(m), nil)
		isEmpty := h.Logs.DB == nil && errors.Is(err, core.ErrInvalid) // a folder without logs
		if err != nil && !isEmpty && !errors.Is(err, fs.ErrNotExist) {
			unread = append(unread, h.Title+": "+core.OneLine(err.Error(), maxWords))
		}
		all = append(all, logs...)
	}
	if len(all) == 0 {
		return nil, unread, core.NotFoundf("%s kept no session on this machine", r.Titles("or"))
	}
	return all, unread, nil
}

// ProjectSettings returns the folders whose settings came with a project. If the user's home is in a
// folder, its settings are the user's own.
func (r Registry) ProjectSettings(m Machine, dirs ...string) (foreign []string) {
	for _, dir := range dirs {
		if in := m.InProject(dir); in.Files(ScopeProject) != in.Files(ScopeUser) {
			foreign = append(foreign, dir)
		}
	}
	return foreign
}

// SetByProject returns a settings file that came with a project and may set an environment
// variable for the processes of a host, or "". Hosts read the settings in these folders of the
// project, in the folder that the host or this process was started in, and in those between.
func (r Registry) SetByProject(m Machine, dirs []string, variable string) string {
	started := []string{r.Folder(os.Getenv)}
	if here, err := os.Getwd(); err == nil {
		started = append(started, here)
	}
	for _, dir := range dirs {
		for _, folder := range r.ProjectSettings(m, foldersBetween(dir, started)...) {
			for _, h := range r {
				if h.Variables.SetBy == nil {
					continue
				}
				if file := h.Variables.SetBy(m.InProject(folder), variable); file != "" {
					return file
				}
			}
		}
	}
	return ""
}

// foldersBetween returns a project's folder, those that hosts were started in, and those between.
func foldersBetween(project string, started []string) []string {
	folders := []string{project}
	for _, dir := range started {
		if !filepath.IsAbs(dir) {
			continue
		}
		folders = append(folders, dir)
		for rel, err := filepath.Rel(project, dir); err == nil && filepath.IsLocal(rel) && rel != "."; rel = filepath.Dir(rel) {
			folders = append(folders, filepath.Join(project, rel))
		}
	}
	return folders
}

// LinePlace returns what a host tells in a document to the command of its status line; it is
// zero if the document is of none of them.
func (r Registry) LinePlace(document []byte) LinePlace {
	for _, h := range r {
		if h.Gateway.StatusLine == nil || len(document) == 0 {
			continue
		}
		if at, ok := h.Gateway.StatusLine(document); ok {
			return at
		}
	}
	return LinePlace{}
}
