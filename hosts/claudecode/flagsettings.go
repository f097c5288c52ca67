package claudecode

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"flame/core"
	"flame/hosts"
)

// settingsOption is the client's option for settings of one run: a file, or JSON. Of
// several the last one counts.
const settingsOption = "--settings"

// flagSettings are the settings that a command line gives.
type flagSettings struct {
	line []string
	at   []int                      // the indexes of the options, in line
	all  map[string]json.RawMessage // of the last one
	env  map[string]json.RawMessage
}

// givenSettings returns the settings of a command line.
func givenSettings(m hosts.Machine, line []string) (flagSettings, error) {
	g := flagSettings{line: line}
	last, found := "", false
	for i := 0; i < len(line) && line[i] != "--"; i++ {
		if value, joined := strings.CutPrefix(line[i], settingsOption+"="); joined {
			last, found, g.at = value, true, append(g.at, i)
		} else if line[i] == settingsOption && i+1 < len(line) {
			last, found, g.at = line[i+1], true, append(g.at, i)
			i++
		}
	}
	if !found {
		return g, nil
	}
	return g, g.read(m, last)
}

// read reads what the option says: JSON, or the name of a file with it.
func (g *flagSettings) read(m hosts.Machine, value string) error {
	text, dir := []byte(strings.TrimSpace(value)), ""
	if !strings.HasPrefix(string(text), "{") || !strings.HasSuffix(string(text), "}") {
		file, err := filepath.Abs(value)
		if err != nil {
			return err
		}
		if text, err = m.Files(hosts.ScopeUser).Read(file); err != nil {
			return core.Invalidf("flame cannot read the file of --settings: %v", err)
		}
		if real, err := filepath.EvalSymlinks(file); err == nil {
			file = real
		}
		dir = filepath.Dir(file)
	}
	if err := json.Unmarshal(withoutMark(text), &g.all); err != nil || g.all == nil {
		return core.Invalidf("--settings is not a JSON object, as %s needs it", Program)
	}
	if raw, set := g.all["env"]; set && json.Unmarshal(raw, &g.env) != nil {
		return core.Invalidf("`env` of --settings is not an object of variables, as %s needs it", Program)
	}
	if dir != "" {
		g.root(dir)
	}
	return nil
}

// variables returns what the settings set for the client.
func (g flagSettings) variables() map[string]string {
	env := map[string]string{}
	for name, raw := range g.env {
		if value, ok := asText(raw); ok {
			env[name] = value
		}
	}
	return env
}

// with returns the settings with more variables.
func (g flagSettings) with(more map[string]string) ([]byte, error) {
	all, env := maps.Clone(g.all), maps.Clone(g.env)
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	if env == nil {
		env = map[string]json.RawMessage{}
	}
	for name, value := range more {
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		env[name] = raw
	}
	raw, err := json.Marshal(env)
	if err != nil {
		return nil, err
	}
	all["env"] = raw
	return json.Marshal(all)
}

// args returns the command line with a file in place of the settings it gives.
func (g flagSettings) args(file string) []string {
	if len(g.at) == 0 {
		return append([]string{settingsOption, file}, g.line...)
	}
	args := slices.Clone(g.line)
	for n, i := range slices.Backward(g.at) {
		end := i + 1
		if args[i] == settingsOption {
			end++
		}
		var instead []string
		if n == len(g.at)-1 {
			instead = []string{settingsOption, file}
		}
		args = slices.Replace(args, i, end, instead...)
	}
	return args
}

// fileRule matches a rule for a file below the folder of the settings that hold it.
var fileRule = core.Pattern(`^(Read|Edit|Write|MultiEdit|NotebookEdit|Glob|Grep|LS)\(/([^/].*)\)$`)

// root makes paths absolute that mean something below dir, the folder of the file that the
// settings are from: they are to mean the same from another file.
func (g *flagSettings) root(dir string) {
	prefix := "//" + strings.TrimPrefix(dir+string(os.PathSeparator), "/")
	change(g.all, "permissions", []string{"allow", "deny", "ask"}, func(rule string) string {
		if m := fileRule().FindStringSubmatch(rule); m != nil {
			return m[1] + "(" + prefix + m[2] + ")"
		}
		return rule
	})
	sandbox := part(g.all["sandbox"])
	change(sandbox, "filesystem", []string{"allowWrite", "denyWrite", "allowRead", "denyRead"}, func(path string) string {
		if path == "" || strings.HasPrefix(path, "/") || strings.HasPrefix(path, "~") {
			return path
		}
		return filepath.Join(dir, path)
	})
	set(g.all, "sandbox", sandbox)
}

// change changes the texts of lists in an object of settings.
func change(settings map[string]json.RawMessage, object string, lists []string, to func(string) string) {
	values := part(settings[object])
	for _, name := range lists {
		var texts []string
		if values[name] == nil || json.Unmarshal(values[name], &texts) != nil {
			continue
		}
		for i, text := range texts {
			texts[i] = to(text)
		}
		set(values, name, texts)
	}
	set(settings, object, values)
}

// part returns an object of settings, or nil.
func part(raw json.RawMessage) (values map[string]json.RawMessage) {
	if json.Unmarshal(raw, &values) != nil {
		return nil
	}
	return values
}

// set puts a value into an object of settings that has one of this name.
func set(settings map[string]json.RawMessage, name string, value any) {
	raw, err := json.Marshal(value)
	if _, there := settings[name]; there && err == nil && string(raw) != "null" {
		settings[name] = raw
	}
}

// asText returns a value of `env` as the client takes it.
func asText(raw json.RawMessage) (string, bool) {
	var value any
	if json.Unmarshal(raw, &value) != nil || value == nil {
		return "", false
	}
	if s, ok := value.(string); ok {
		return s, true
	}
	return strings.TrimSpace(string(raw)), true
}
