package agents

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
)

// workIn gives the folder that an agent works in: the project's, or one inside of
// it. Settings of other folders could allow more than the project's do.
func (a *Agents) workIn(dir string) (string, error) {
	if dir == "" {
		return a.Dir, nil
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(a.Dir, dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if info, statErr := os.Stat(dir); err != nil || statErr != nil || !info.IsDir() {
		return "", core.NotFoundf("cwd %s is not a folder", dir).WithHint("name a folder that exists, or leave cwd out for the project's")
	}
	root, err := filepath.EvalSymlinks(a.Dir)
	if err != nil {
		return "", err
	}
	inside, err := filepath.Rel(root, real)
	if err != nil || !filepath.IsLocal(inside) {
		return "", core.Invalidf("cwd %s is not in the project %s", dir, a.Dir).WithHint("name a folder of the project: the settings of others could allow the agent more")
	}
	for folder := real; folder != root; folder = filepath.Dir(folder) {
		for _, name := range ofHosts(func(h traits) []string { return h.settings }) {
			if found, err := filepath.Glob(filepath.Join(folder, name)); err == nil && len(found) > 0 {
				return "", core.Invalidf("cwd %s has settings of its own (%s)", dir, found[0]).WithHint("name another folder of the project: those settings could allow the agent more")
			}
		}
	}
	return dir, nil
}

// modelFor gives a model as a host takes it. A definition that was written for
// another host names none of this one's.
func modelFor(host, model string) (string, []string) {
	switch {
	case model == "" || model == "inherit":
		return "", nil
	case !traitsOf(host).takes(model):
		return "", []string{fmt.Sprintf("model %q is not one of %s's, so it chooses itself", model, host)}
	}
	return model, nil
}

// unknownTools warns of tools that a host is not known to have.
func unknownTools(host string, tools *[]string) (warnings []string) {
	for _, tool := range lo.FromPtr(tools) {
		if name, _ := ruleOf(tool); !knownTool(host, name) {
			warnings = append(warnings, fmt.Sprintf("tool %q is not one that %s is known to have", name, host))
		}
	}
	return warnings
}

// running are keys that have a host run commands. Whoever may edit a project's
// files, or write a definition into a call, may not run commands by that.
var running = []string{"mcpServers", "hooks"}

// listing are keys that only matter where agents are listed.
var listing = []string{"mode", "color", "tags"}

// handedOn gives the keys of a definition that its host gets, and warns of the
// others.
func handedOn(host Host, def Definition) (keys map[string]json.RawMessage, warnings []string) {
	keys = map[string]json.RawMessage{}
	for _, key := range slices.Sorted(maps.Keys(def.HostKeys)) {
		switch {
		case slices.Contains(listing, key):
		case !slices.Contains(host.Keys(), key):
			warnings = append(warnings, fmt.Sprintf("%s: is not handed on to %s", key, host.Name()))
		case slices.Contains(running, key) && def.Source.Kind != User:
			warnings = append(warnings, fmt.Sprintf("%s: is handed on only from definitions in your home, since it runs commands", key))
		default:
			keys[key] = def.HostKeys[key]
		}
	}
	return keys, warnings
}

// knownTool reports whether a host is known to have a tool; patterns and tools of
// MCP servers are for the host to tell.
func knownTool(host, name string) bool {
	h := traitsOf(host)
	if strings.ContainsAny(name, "*?") || strings.Contains(name, h.joint) || strings.Contains(name, "flame") {
		return true
	}
	return slices.ContainsFunc(h.tools, func(t tool) bool { return strings.EqualFold(t.name, name) })
}
