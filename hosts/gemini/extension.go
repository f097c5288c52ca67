package gemini

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"flame/core/op"
	"flame/hosts"
	"flame/hosts/hooks"
)

// hookTime is how long Gemini CLI waits for a hook that hangs, in ms; flame itself gives up earlier.
const hookTime = 5_000

// extensionName is the name of our extension, and of the MCP server in it.
const extensionName = "flame"

// A Client is Gemini CLI on a machine (a hosts.Client).
type Client struct {
	Machine  hosts.Machine
	OwnTools func() []string // lists the names of flame's tools that are offered
}

// offered returns the extension's files, and its version: it ends in a digest of the content, so it
// changes with the content.
func (h Client) offered() (files map[string][]byte, version string) {
	binary := h.Machine.Binary()
	files = map[string][]byte{}
	add := func(name string, document any) { files[name] = hooks.Document(document) }
	add("hooks/hooks.json", map[string]any{"hooks": hooks.ByEvent(rows, hooks.Entry{
		Type: "command", Command: hooks.ShellWord(binary) + " hook " + Name, Timeout: hookTime,
		Env: map[string]string{folderVariable: "${extensionPath}"},
	})})
	for _, c := range op.Commands {
		files["commands/flame/"+c.Name+".toml"] = []byte(command(c))
	}
	version = "1.0.0+" + hooks.Digest(files)
	server := map[string]any{"command": binary, "args": hosts.ServesLean(), "env": passed()}
	add(manifest, map[string]any{
		"name": extensionName, "version": version, "description": "Keeps the work of agents as a tree of frames",
		"mcpServers": map[string]any{extensionName: server},
	})
	return files, version
}

// command returns a slash command as Gemini CLI reads it. Its name is that of its file in the folder
// flame, with a colon between.
func command(c op.Command) string {
	return fmt.Sprintf("description = %s\nprompt = %s\n", hooks.TOML(c.Description), hooks.TOML(c.Prompt("{{args}}")))
}

// A policy is a list of rules, as Gemini CLI reads them.
type policy struct{ text strings.Builder }

// rule adds a rule; conditions are in TOML.
func (p *policy) rule(decision string, priority int, conditions ...string) {
	lines := append([]string{"[[rule]]"}, conditions...)
	p.text.WriteString(strings.Join(append(lines, "decision = "+hooks.TOML(decision), "priority = "+strconv.Itoa(priority)), "\n") + "\n\n")
}

// passed returns the variables that agents which the server starts in Gemini CLI need, and that
// Gemini CLI keeps from servers unless they are named. One that is not set becomes empty.
func passed() map[string]string {
	variables := map[string]string{}
	for _, name := range []string{
		"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION",
	} {
		variables[name] = "${" + name + ":-}"
	}
	return variables
}

// frameTools returns the names of flame's tools that only work on its frames, in TOML.
func (h Client) frameTools() (names []string) {
	for _, name := range h.OwnTools() {
		if strings.HasPrefix(name, "flame_") { // op.More reaches such tools alone
			names = append(names, hooks.TOML(name))
		}
	}
	return names
}

// policy returns the rules by which Gemini CLI does not ask before it calls those tools.
func (h Client) policy() string {
	p := &policy{}
	p.rule("allow", 100, `mcpName = "`+extensionName+`"`, "toolName = ["+strings.Join(h.frameTools(), ", ")+"]")
	return "# Written by flame setup: these tools only work on flame's frames.\n" + p.text.String()
}

// folder returns the extension's folder, to which Gemini CLI links; it must outlast this process and
// any checkout.
func (h Client) folder() string { return filepath.Join(h.Machine.DataHome(), "flame", Name) }

// policyFile returns the path of our rules among the user's.
func (h Client) policyFile() string {
	return filepath.Join(ownFolder(h.Machine), "policies", "flame.toml")
}
