package hosts

import (
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

// Find returns the host of a name, and whether there is one.
func (r Registry) Find(name string) (Host, bool) {
	return lo.Find(r, func(h Host) bool { return h.Name == name })
}

// Named returns the host of a name, or an error that lists the hosts that can
// start agents.
func (r Registry) Named(name string) (Host, error) {
	host, known := r.Find(name)
	if !known {
		return host, core.Invalidf("the host %q starts no agents", name).WithHint("%s do", strings.Join(r.Names(), " and "))
	}
	return host, nil
}

// Of returns the host of a name. An unknown host has no tools, takes any model,
// and is assumed to know every tool.
func (r Registry) Of(name string) Host {
	h, _ := r.Find(name)
	h.Name = name
	return h
}

// Hooked returns the hosts that report their events to flame.
func (r Registry) Hooked() Registry {
	return lo.Filter(r, func(h Host, _ int) bool { return h.Hook != nil })
}

// Names returns the names of the hosts.
func (r Registry) Names() []string { return lo.Map(r, func(h Host, _ int) string { return h.Name }) }

// Titles returns the hosts' names for people, with a word between the last two.
func (r Registry) Titles(word string) string {
	return list(lo.Map(r, func(h Host, _ int) string { return h.Title }), word)
}

// Additions says what setup puts into each host.
func (r Registry) Additions() string {
	return strings.Join(lo.Map(r, func(h Host, _ int) string { return "in " + h.Title + " " + h.Adds }), ", ")
}

// list joins words as a sentence does.
func list(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + last + " " + words[len(words)-1]
}

// Session returns the session of the host that this process runs in, or ""
// outside any.
func (r Registry) Session(getenv func(string) string) string {
	return r.told(getenv, func(h Host) string { return h.SessionVariable })
}

// Folder returns the folder in which that host's session was started, or ""
// outside any.
func (r Registry) Folder(getenv func(string) string) string {
	return r.told(getenv, func(h Host) string { return h.FolderVariable })
}

// SessionVariables returns the environment variables in which hosts pass their
// session to processes inside them.
func (r Registry) SessionVariables() []string {
	return lo.FilterMap(r, func(h Host, _ int) (string, bool) { return h.SessionVariable, h.SessionVariable != "" })
}

// LogsOf returns where the logs of some project are, as an example for people.
func (r Registry) LogsOf() string {
	h, _ := lo.Find(r, func(h Host) bool { return h.LogsAt != "" })
	return h.LogsAt
}

// told returns the value of the first variable that is set.
func (r Registry) told(getenv func(string) string, variable func(Host) string) string {
	for _, h := range r {
		if name := variable(h); name != "" && getenv(name) != "" {
			return getenv(name)
		}
	}
	return ""
}

// CallIDs returns the keys under which tool calls send their ids.
func (r Registry) CallIDs() []string {
	return lo.FilterMap(r, func(h Host, _ int) (string, bool) { return h.CallID, h.CallID != "" })
}

// Formats returns the formats of all hosts' logs.
func (r Registry) Formats() transcripts.Formats {
	return lo.FlatMap(r, func(h Host, _ int) []*transcripts.Format { return h.Logs })
}

// Tools returns the tools of all hosts.
func (r Registry) Tools() Tools { return lo.FlatMap(r, func(h Host, _ int) []Tool { return h.Tools }) }

// SpawnTools returns the tools, hosts' and ours, by which an agent starts
// others. All are withheld at the deepest level: missing one alias lets agents
// multiply (spec: agents §2).
func (r Registry) SpawnTools() []string {
	return append(r.Tools().Names(Spawns), "*"+string(op.Spawn))
}

// Inside reports whether a process runs in a session of a host, judging by its
// environment and the names of its ancestors.
func (r Registry) Inside(getenv func(string) string, above []string) bool {
	return slices.ContainsFunc(r, func(h Host) bool {
		return len(h.Variables) > 0 && getenv(h.Variables[0]) != "" || slices.Contains(above, h.Program)
	})
}

// Variables returns the environment variables that any of the hosts sets for
// processes inside it.
func (r Registry) Variables() []string {
	return lo.FlatMap(r, func(h Host, _ int) []string { return h.Variables })
}

// Settings returns the files and folders that give a folder its own settings in
// any of the hosts.
func (r Registry) Settings() []string {
	return lo.FlatMap(r, func(h Host, _ int) []string { return h.Settings })
}

// HowToInstall returns advice for a user who has none of the hosts.
func (r Registry) HowToInstall() string {
	titles := lo.Map(r, func(h Host, _ int) string { return h.Title })
	programs := lo.Map(r, func(h Host, _ int) string { return "`" + h.Program + "`" })
	return "install " + strings.Join(titles, " or ") + ", so that " + strings.Join(programs, " or ") + " is on PATH"
}
