package agents

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/samber/lo"

	"flame/agents/definition"
	"flame/confine"
	"flame/core"
	"flame/hosts"
)

// workIn returns the folder that an agent works in: the project's, or one inside of
// it. Settings of other folders could allow more than the project's do.
func (a *Agents) workIn(dir string) (string, error) {
	if dir == "" {
		return a.Dir, nil
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(a.Dir, dir)
	}
	root, err := confine.Open(a.Dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	name, err := filepath.Rel(a.Dir, dir)
	if err != nil {
		return "", err
	}
	inside, err := root.Inside(name)
	if errors.Is(err, confine.Outside) {
		return "", core.Invalidf("cwd %s is not in the project %s", dir, a.Dir).
			WithHint("name a folder of the project: the settings of others could allow the agent more")
	}
	if info, statErr := root.Stat(inside); err != nil || statErr != nil || !info.IsDir() {
		return "", core.NotFoundf("cwd %s is not a folder", dir).WithHint("name a folder that exists, or leave cwd out for the project's")
	}
	for folder := inside; folder != "."; folder = path.Dir(folder) {
		if found := settingsIn(root, folder, a.Hosts.Settings()); found != "" {
			return "", core.Invalidf("cwd %s has settings of its own (%s)", dir, found).
				WithHint("name another folder of the project: those settings could allow the agent more")
		}
	}
	return dir, nil
}

// settingsIn returns a host's settings that a folder has; empty without any. What
// flame may not look at counts: a host may.
func settingsIn(root *confine.Root, folder string, settings []string) string {
	for _, name := range settings {
		_, err := root.Stat(path.Join(folder, name))
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return path.Join(folder, name)
		}
	}
	return ""
}

// modelFor returns a model as a host takes it. A definition that was written for
// another host names none of this one's.
func modelFor(host hosts.Host, model string) (string, []string) {
	switch {
	case model == "" || model == "inherit":
		return "", nil
	case !host.RunsModel(model):
		return "", []string{fmt.Sprintf("model %q is not one of %s's, so it chooses itself", model, host.Name)}
	}
	return model, nil
}

// unknownTools warns of tools that a host is not known to have.
func unknownTools(host hosts.Host, tools *[]string) (warnings []string) {
	for _, tool := range lo.FromPtr(tools) {
		if name, _ := hosts.SplitRule(tool); !host.Knows(name) {
			warnings = append(warnings, fmt.Sprintf("tool %q is not one that %s is known to have", name, host.Name))
		}
	}
	return warnings
}

// listing are keys that only matter where agents are listed.
var listing = []string{"mode", "color", "tags"}

// handedOn returns the keys of a definition that its host gets, and warns of the
// others. Whoever may edit a project's files, or write a definition into a call, may
// not run commands by that.
func handedOn(host hosts.Host, def definition.Definition) (keys map[string]json.RawMessage, warnings []string) {
	keys = map[string]json.RawMessage{}
	for _, key := range slices.Sorted(maps.Keys(def.HostKeys)) {
		switch {
		case slices.Contains(listing, key):
		case !host.Key(key).Passed:
			warnings = append(warnings, fmt.Sprintf("%s: is not handed on to %s", key, host.Name))
		case host.Key(key).Commands && def.Source.Kind != definition.User:
			warnings = append(warnings, fmt.Sprintf("%s: is handed on only from definitions in your home, since it can run commands", key))
		default:
			keys[key] = def.HostKeys[key]
		}
	}
	return keys, warnings
}
