package claudecode

import (
	"crypto/sha256"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"flame/confine"
	"flame/core/op"
)

// plugin is also what a clone of the repository offers; there its commands run
// the flame on PATH.
//
//go:embed all:plugin
var plugin embed.FS

// pluginVersion is the member of plugin.json that Claude Code compares to see
// whether its copy is outdated.
const pluginVersion = "version"

// pluginFiles returns the files of our plugin, whose servers and hooks run the flame at
// binary. Where Claude Code can call the server for an event, calling has its hooks do so.
func pluginFiles(binary string, calling bool) (files map[string][]byte, err error) {
	files = map[string][]byte{}
	err = fs.WalkDir(plugin, "plugin", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := plugin.ReadFile(name)
		if err == nil && calling {
			content, err = asCalling(name, content)
		}
		if err == nil && path.Ext(name) == ".json" {
			content, err = withBinary(content, binary)
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
func asCalling(name string, content []byte) ([]byte, error) {
	switch path.Base(name) {
	case "hooks.json":
		return hooksFile(true)
	case ".mcp.json":
		server := map[string]any{"command": "flame", "args": servesHooks()}
		return encode(map[string]any{"mcpServers": map[string]any{"flame": server}})
	}
	return content, nil
}

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
	f.files[".claude-plugin/marketplace.json"], err = encode(map[string]any{
		"name":        marketplaceName,
		"description": "Flame, written by flame setup",
		"owner":       map[string]any{"name": "flame"},
		"plugins":     []any{map[string]any{"name": "flame", "source": "./plugin"}},
	})
	return f, err
}

// stampVersion adds the digest to the version in plugin.json and returns the
// full version.
func stampVersion(files map[string][]byte) (string, error) {
	digest := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(digest, "%s %d\n%s", name, len(files[name]), files[name])
	}
	const manifest = "plugin/.claude-plugin/plugin.json"
	var fields map[string]any
	if err := json.Unmarshal(files[manifest], &fields); err != nil {
		return "", fmt.Errorf("the plugin inside this program: %w", err)
	}
	version := fmt.Sprintf("%v+%x", fields[pluginVersion], digest.Sum(nil)[:4])
	fields[pluginVersion] = version
	content, err := encode(fields)
	files[manifest] = content
	return version, err
}

// loadedVersion returns the version of the plugin that Claude Code runs this
// hook for, or "" for a hook from settings.
func loadedVersion() string {
	dir := os.Getenv("CLAUDE_PLUGIN_ROOT")
	if dir == "" {
		return ""
	}
	manifest, err := confine.ReadFile(filepath.Join(dir, ".claude-plugin", "plugin.json"), 1<<20)
	var fields struct {
		Version string `json:"version"`
	}
	if err != nil || json.Unmarshal(manifest, &fields) != nil {
		return ""
	}
	return fields.Version
}

// withBinary replaces the program "flame" by binary wherever a JSON document
// names it as a command: one rule for servers and hooks.
func withBinary(document []byte, binary string) ([]byte, error) {
	var root any
	if err := json.Unmarshal(document, &root); err != nil {
		return nil, err
	}
	replaceCommand(root, binary)
	return encode(root)
}

func replaceCommand(node any, binary string) {
	switch node := node.(type) {
	case []any:
		for _, element := range node {
			replaceCommand(element, binary)
		}
	case map[string]any:
		if node["command"] == "flame" {
			node["command"] = binary
		}
		for _, member := range node {
			replaceCommand(member, binary)
		}
	}
}

func encode(document any) ([]byte, error) {
	content, err := json.MarshalIndent(document, "", "  ")
	return append(content, '\n'), err
}

// commandFile returns a slash command as Claude Code reads it: Markdown after a
// YAML head. The tool may run without asking: typing the command is asking for
// it.
func commandFile(c op.Command) string {
	head := []string{"---", "description: " + c.Description}
	if c.Hint != "" {
		head = append(head, fmt.Sprintf("argument-hint: %q", c.Hint))
	}
	head = append(head, "allowed-tools: mcp__plugin_flame_flame__"+string(c.Tool), "---")
	return strings.Join(head, "\n") + "\n" + c.Prompt(op.CommandLine) + "\n"
}
