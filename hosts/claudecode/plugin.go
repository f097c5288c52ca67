package claudecode

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"strings"

	"github.com/samber/lo"

	"flame/config/env"
	"flame/core/op"
	"flame/hosts"
	"flame/hosts/hooks"
)

// plugin is also what the repository offers as a marketplace; there its commands run a script
// that finds flame, or says how to install it.
//
//go:embed all:plugin
var plugin embed.FS

// The script of the plugin, and what its commands call it.
const (
	script  = "plugin/start"
	starter = "${CLAUDE_PLUGIN_ROOT}/start"
)

// pluginVersion is the member of plugin.json that Claude Code compares to see
// whether its copy is outdated.
const pluginVersion = "version"

// pluginFiles returns the files of our plugin, whose servers and hooks run the flame at
// binary. Where Claude Code can call the server for an event, calling has its hooks do so.
func pluginFiles(binary string, calling bool) (files map[string][]byte, err error) {
	files = map[string][]byte{}
	err = fs.WalkDir(plugin, "plugin", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == script {
			return err
		}
		content, err := plugin.ReadFile(name)
		if err == nil && calling {
			content = asCalling(name, content)
		}
		if path.Ext(name) == ".json" { // one rule for servers and hooks
			content = bytes.ReplaceAll(content, asJSON(starter), asJSON(binary))
		}
		files[name] = content
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("the plugin inside this program: %w", err)
	}
	return files, nil
}

// asCalling returns a file of a plugin whose hooks call its server. That server has a
// command line of its own: Claude Code starts no server of a plugin that equals one
// registered by hand (observed).
func asCalling(name string, content []byte) []byte {
	switch path.Base(name) {
	case "hooks.json":
		return hooksFile(true)
	case ".mcp.json":
		server := map[string]any{"command": starter, "args": servesHooks(), "env": map[string]string{env.Tools: "${" + env.Tools + ":-" + profile + "}"}}
		return hooks.Document(map[string]any{"mcpServers": map[string]any{"flame": server}})
	}
	return content
}

// profile is the set of tools that the server offers (FLAME_TOOLS) unless the user chose one: each
// request names them all.
const profile = hosts.LeanTools + "," + string(op.PlanChildren+","+op.Activate+","+op.Search+","+op.Status+","+op.Invalidate+","+op.AgentWait)

// servesHooks returns the arguments of flame as the server that hooks call.
func servesHooks() []string { return []string{"serve", "--host", Name} }

// A form is one form of our plugin, in a marketplace of its own.
type form struct {
	calling bool              // its hooks call its server
	files   map[string][]byte // of the marketplace
	version string            // ends in a digest of the content, so it changes with the content
}

// formOf returns a form of the plugin that runs the flame at binary.
func formOf(binary string, calling bool) (f form, err error) {
	f.calling = calling
	if f.files, err = pluginFiles(binary, calling); err != nil {
		return f, err
	}
	if f.version, err = stampVersion(f.files); err != nil {
		return f, err
	}
	f.files[marketplaceFile] = marketplace(marketplaceName, "Flame, written by flame setup", "./plugin")
	return f, nil
}

// marketplaceFile is the file of a marketplace, in its folder.
const marketplaceFile = ".claude-plugin/marketplace.json"

// marketplace returns the file of a marketplace that offers the plugin in a folder.
func marketplace(name, description, folder string) []byte {
	return hooks.Document(map[string]any{
		"name":        name,
		"description": description,
		"owner":       map[string]any{"name": "flame"},
		"plugins":     []any{map[string]any{"name": "flame", "source": folder, "description": env.Summary}},
	})
}

// asJSON returns a text as JSON.
func asJSON(text string) []byte { return bytes.TrimSpace(hooks.Document(text)) }

// stampVersion adds the digest to the version in plugin.json and returns the
// full version.
func stampVersion(files map[string][]byte) (string, error) {
	digest := hooks.Digest(files)
	const manifest = "plugin/.claude-plugin/plugin.json"
	var fields map[string]any
	if err := json.Unmarshal(files[manifest], &fields); err != nil {
		return "", fmt.Errorf("the plugin inside this program: %w", err)
	}
	version := fmt.Sprintf("%v+%s", fields[pluginVersion], digest)
	fields[pluginVersion] = version
	files[manifest] = hooks.Document(fields)
	return version, nil
}

// commandFile returns a slash command as Claude Code reads it: Markdown after a
// YAML head. The tool may run without asking: typing the command is asking for
// it. The model has the tool itself, so its requests need not list the command.
func commandFile(c op.Command) string {
	head := []string{"---", "description: " + c.Description}
	if c.Hint != "" {
		head = append(head, fmt.Sprintf("argument-hint: %q", c.Hint))
	}
	head = append(head, "allowed-tools: mcp__plugin_flame_flame__"+string(c.Tool), "disable-model-invocation: true", "---")
	return strings.Join(head, "\n") + "\n" + c.Prompt(op.CommandLine) + "\n"
}

// hookSeconds is how long Claude Code waits for a hook that hangs; flame itself
// gives up earlier.
const hookSeconds = 5

// hooksFile returns the plugin's hooks.json: for each event one entry for the tools of all
// its rows. With calling, hooks may call the server, and rows that need a process get their own
// entry.
func hooksFile(calling bool) []byte {
	entries := map[string][]hooks.Matcher{}
	for _, r := range rows {
		entries[r.Event] = matchersOf(r.Event, calling)
	}
	return hooks.Document(map[string]any{"description": "Keeps flame's frames in step with the session", "hooks": entries})
}

func matchersOf(event string, calling bool) []hooks.Matcher {
	command := hooks.Entry{Type: "command", Command: starter, Args: []string{"hook", Name}, Timeout: hookSeconds}
	all := lo.Filter(rows, func(r row, _ int) bool { return r.Event == event })
	called, started := lo.FilterReject(all, func(r row, _ int) bool { return calling && r.ProcessReason == "" })
	switch {
	case len(called) == 0:
		return []hooks.Matcher{hooks.On(hooks.ToolsOf(all), command)}
	case len(started) == 0:
		return callsFor(called)
	}
	tools := hooks.ToolsOf(started)
	return []hooks.Matcher{hooks.On(tools, command), hooks.On("^(?!"+strings.TrimPrefix(tools, "^")+")", call(callInput()))}
}

// callsFor returns the entries of rows that all call the server: one of their own for the
// tools that write files.
func callsFor(called []row) (matchers []hooks.Matcher) {
	files, others := lo.FilterReject(called, func(r row, _ int) bool { return r.Tools == fileTools })
	if len(others) > 0 {
		matchers = append(matchers, hooks.On(hooks.ToolsOf(others), call(callInput())))
	}
	if len(files) > 0 {
		matchers = append(matchers, hooks.On(hooks.ToolsOf(files), call(fileInput())))
	}
	return matchers
}

func call(input map[string]any) hooks.Entry {
	return hooks.Entry{Type: "mcp_tool", Server: pluginServer, Tool: callTool, Input: input, Timeout: hookSeconds}
}

// callTool is the tool that hooks of type mcp_tool call. No list names it, and
// Claude Code refuses a model that guesses its name (observed).
const callTool = "hook"

// calls say how Claude Code calls that tool.
func calls() *hosts.HookTool {
	return &hosts.HookTool{Tool: callTool, Event: calledEvent, Silence: silence}
}

// A field is one field of an event.
type field struct {
	name string // in JSON
	text bool   // it is a string; others come as their JSON in a string
}

// fields lists the fields of an event that flame reads. A hook of type mcp_tool must name
// each one that it passes on.
func fields() []field { return fieldsOf(reflect.TypeFor[event]()) }

func fieldsOf(object reflect.Type) (list []field) {
	for _, f := range reflect.VisibleFields(object) {
		if name := f.Tag.Get("json"); name != "" {
			list = append(list, field{name, f.Type.Kind() == reflect.String})
		}
	}
	return list
}

// The fields of a tool's call and of its answer.
const (
	inputField    = "tool_input"
	responseField = "tool_response"
)

// callInput is the input of such a hook: for each field a placeholder, which Claude Code replaces
// by a string (observed): the value of a string field unchanged, other values as compact JSON, and
// an empty string for a missing field.
func callInput() map[string]any {
	input := map[string]any{}
	for _, f := range fields() {
		input[f.name] = placeholder(f.name)
	}
	return input
}

// fileInput is callInput for a tool that writes a file: it passes on only the names in the call.
// Both the call and the answer contain the whole file.
func fileInput() map[string]any {
	input, names := callInput(), map[string]string{}
	for _, f := range fieldsOf(reflect.TypeFor[fileCall]()) {
		names[f.name] = placeholder(inputField + "." + f.name)
	}
	input[inputField] = names
	delete(input, responseField)
	return input
}

func placeholder(name string) string { return "${" + name + "}" }

// calledEvent returns the event of a call.
func calledEvent(arguments json.RawMessage) (event []byte, folder string, err error) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &given); err != nil {
		return nil, "", err
	}
	had := map[string]json.RawMessage{}
	for _, f := range fields() {
		var value string
		switch err := json.Unmarshal(given[f.name], &value); {
		case f.name == inputField && err != nil && len(given[f.name]) > 0:
			had[f.name] = given[f.name] // of fileInput
		case err != nil || value == "" || value == placeholder(f.name):
		case f.text || !json.Valid([]byte(value)):
			had[f.name] = given[f.name]
		default:
			had[f.name] = json.RawMessage(value)
		}
	}
	_ = json.Unmarshal(had["cwd"], &folder) // of the wrong type: not said
	event, err = json.Marshal(had)
	return event, folder, err
}

// silence returns an answer that says nothing. Claude Code shows the model an empty one as
// a success, and adds any other to the instructions for a summary (observed).
func silence(raw []byte) string {
	if e, err := decodeEvent(raw); err == nil && e.Name == "PreCompact" {
		return ""
	}
	return "{}"
}
