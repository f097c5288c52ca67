package claudecode

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"flame/hosts"
)

// A settingsOwner says whose a layer is.
type settingsOwner int

const (
	ofUser settingsOwner = iota
	ofProject
	ofAdministrator
)

// A settingsSource is one place that sets variables for the client.
type settingsSource struct {
	where string // for people
	rank  settingsOwner
	env   func(name string) (value string, set bool)
}

// layers are those places; each one wins over those before it.
type layers []settingsSource

// environment is what the process's own variables are called.
const environment = "the environment"

func lookup(env map[string]string) func(name string) (string, bool) {
	return func(name string) (string, bool) { value, set := env[name]; return value, set }
}

// value returns what a variable is set to, and where; both are empty if nothing sets it.
func (all layers) value(name string) (value, where string) {
	for _, l := range slices.Backward(all) {
		if value, set := l.env(name); set {
			return value, l.where
		}
	}
	return "", ""
}

// only returns what a variable is set to.
func (all layers) only(name string) string {
	value, _ := all.value(name)
	return value
}

// trusted returns the layers without those that came with a project.
func (all layers) trusted() layers {
	return slices.DeleteFunc(slices.Clone(all), func(l settingsSource) bool { return l.rank == ofProject })
}

// layersOf reads all the places, in the client's order. A file that cannot be read sets
// nothing, for the client neither.
func layersOf(m hosts.Machine, managed string, given flagSettings) layers {
	own := ownFolder(m)
	all := layers{{where: environment, env: func(name string) (string, bool) { return m.Getenv(name), m.Getenv(name) != "" }}}
	read := func(scope hosts.Scope, m hosts.Machine, file string, rank settingsOwner) {
		if content, err := m.Files(scope).Read(file); err == nil {
			all = append(all, settingsSource{where: file, rank: rank, env: lookup(envOf(content))})
		}
	}
	read(hosts.ScopeUser, m, Client{Machine: m}.userFile(), ofUser)
	read(hosts.ScopeUser, m, filepath.Join(own, "settings.json"), ofUser)
	for _, dir := range projectFolders(m) {
		for _, file := range (Client{Machine: m.InProject(dir)}).projectSettings() {
			if file != filepath.Join(own, "settings.json") { // the home may be the folder that the client is started in
				read(hosts.ScopeProject, m.InProject(dir), file, ofProject)
			}
		}
	}
	all = append(all, settingsSource{where: "--settings", env: lookup(given.variables())})
	for _, file := range administrators(managed, own) {
		read(hosts.ScopeUser, m, file, ofAdministrator)
	}
	return all
}

// setsVariable returns the project's file that sets a variable for the client's processes,
// or for one of its servers.
func setsVariable(m hosts.Machine, name string) string {
	files := (Client{Machine: m}).projectSettings()
	return m.FindMember(append(files, filepath.Join(m.ProjectDir, ".mcp.json")), withoutMark, name)
}

// projectFolders returns the folders whose settings the client may read: that of the
// project, and the one that it is started in.
func projectFolders(m hosts.Machine) []string {
	here, err := os.Getwd()
	if err != nil || hosts.SameFolder(here, m.ProjectDir) {
		return []string{m.ProjectDir}
	}
	return []string{m.ProjectDir, here}
}

// managedFolder returns where the client looks for settings of an administrator on an
// operating system.
func managedFolder(system string) string {
	if system == "darwin" {
		return "/Library/Application Support/ClaudeCode"
	}
	return "/etc/claude-code"
}

// administrators returns the files with settings of an administrator: those on this
// machine, and what the client keeps of those that a server sends.
func administrators(managed, own string) []string {
	parts, err := filepath.Glob(filepath.Join(managed, "managed-settings.d", "*.json"))
	if err != nil {
		parts = nil // the pattern is right
	}
	files := append([]string{filepath.Join(managed, "managed-settings.json")}, parts...)
	return append(files, filepath.Join(own, "remote-settings.json"),
		filepath.Join(managed, "..", "..", "Managed Preferences", "com.anthropic.claudecode.plist"))
}

// envOf returns the variables that the content of a settings file sets. Of a property list,
// which is not read, it is assumed that it sets the base URL if it names it.
func envOf(content []byte) map[string]string {
	env := map[string]string{}
	var settings struct {
		Env      map[string]json.RawMessage `json:"env"`
		Settings struct {
			Env map[string]json.RawMessage `json:"env"`
		} `json:"settings"` // as a server sends them
	}
	if err := json.Unmarshal(withoutMark(content), &settings); err != nil {
		isList := bytes.HasPrefix(content, []byte("bplist")) || bytes.HasPrefix(content, []byte("<?xml"))
		if isList && bytes.Contains(content, []byte(baseVariable)) {
			env[baseVariable] = "a property list"
		}
		return env
	}
	for _, part := range []map[string]json.RawMessage{settings.Settings.Env, settings.Env} {
		for name, raw := range part {
			if value, ok := asText(raw); ok {
				env[name] = value
			}
		}
	}
	return env
}

// withoutMark returns a text without the mark of its byte order.
func withoutMark(text []byte) []byte { return []byte(strings.TrimPrefix(string(text), "\ufeff")) }
