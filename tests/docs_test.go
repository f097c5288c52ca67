package tests

import (
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents"
	"flame/agents/converge"
	"flame/agents/definition"
	"flame/agents/record"
	"flame/cli"
	"flame/config"
	"flame/config/env"
	"flame/core/op"
	"flame/flame-hub/command"
	"flame/hosts"
	"flame/project"
	"flame/tests/hoststest"
	"flame/tools"
)

var update = flag.Bool("update", false, "write the generated parts of the documents")

// generated are the parts of the documents that are generated from code, by file and by the name
// in their markers.
var generated = map[string]map[string]func() string{
	"docs/reference.md": {
		"tools":    toolTable,
		"commands": commandTable,
		"settings": settingTable,
	},
	"docs/hosts.md": {
		"claude-code events": func() string { return eventTable(hoststest.Known().Of(claudeCode).Events.Docs()) },
		"opencode events":    func() string { return eventTable(hoststest.Known().Of(openCode).Events.Docs()) },
		"codex events":       func() string { return eventTable(hoststest.Known().Of(codex).Events.Docs()) },
		"gemini events":      func() string { return eventTable(hoststest.Known().Of(gemini).Events.Docs()) },
	},
	"docs/install.md": {"links": installLinks},
}

func TestGeneratedPartsOfTheDocumentsAreUpToDate(t *testing.T) {
	for name, parts := range generated {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("..", filepath.FromSlash(name))
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			text := string(raw)
			for part, table := range parts {
				begin, end := "<!-- generated: "+part+" -->\n", "<!-- end: "+part+" -->"
				before, rest, ok := strings.Cut(text, begin)
				require.True(t, ok, "there is no place for %s", part)
				_, after, ok := strings.Cut(rest, end)
				require.True(t, ok, "%s has no end", part)
				text = before + begin + table() + end + after
			}
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
				return
			}
			assert.Equal(t, text, string(raw), "go test ./tests -run Documents -update brings it up to date")
		})
	}
}

// installLinks returns the links by which other clients take flame's package: VS Code's by its
// redirect for web pages, and Cursor's, each in the form that its maker documents.
func installLinks() string {
	config := map[string]any{
		"command": "npx", "args": []string{"-y", env.NPM, "serve"}, "env": map[string]string{env.ProjectDir: "${workspaceFolder}"},
	}
	server, _ := json.Marshal(config) // maps of texts can always be encoded
	config["name"] = "flame"
	named, _ := json.Marshal(config)
	code := "https://insiders.vscode.dev/redirect?url=" + url.QueryEscape("vscode:mcp/install?"+url.QueryEscape(string(named)))
	cursor := "cursor://anysphere.cursor-deeplink/mcp/install?name=flame&config=" + url.QueryEscape(base64.StdEncoding.EncodeToString(server))
	return "- [Install in VS Code](" + code + ")\n- [Install in Cursor](" + cursor + ")\n"
}

// written finds the values of options in documents and in the hints of slash commands.
var written = regexp.MustCompile(`--([a-z-]+) (\w+(?:\|\w+)+)`)

// TestOptionsInDocumentsHaveTheirValues also covers hosts' commands, which know only the name of
// their tool.
func TestOptionsInDocumentsHaveTheirValues(t *testing.T) {
	words := map[string][]string{
		"on-failure":          record.OnFailure("").Values(),
		"isolation":           definition.Isolation("").Values(),
		"strategy":            converge.Strategy("").Values(),
		"conflict-resolution": converge.Resolution("").Values(),
		"output-format":       converge.Format("").Values(),
	}
	raw, err := os.ReadFile(filepath.Join("..", "docs", "agents.md"))
	require.NoError(t, err)
	texts := map[string]string{"docs/agents.md": string(raw)}
	for _, command := range op.Commands {
		texts[command.Slash()] = command.Hint
	}
	found := map[string]bool{}
	for name, text := range texts {
		for _, option := range written.FindAllStringSubmatch(text, -1) {
			found[option[1]] = true
			assert.Equal(t, strings.Join(words[option[1]], "|"), option[2], "--%s in %s", option[1], name)
		}
	}
	assert.Len(t, found, len(words), "each is written somewhere")
}

// eventTable lists what hooks do with each event; rows of one event follow one another.
func eventTable(events []hosts.EventDoc) string {
	var b strings.Builder
	told := slices.ContainsFunc(events, func(e hosts.EventDoc) bool { return e.By != "" })
	if told {
		b.WriteString("| event | flame | by |\n|---|---|---|\n")
	} else {
		b.WriteString("| event | flame |\n|---|---|\n")
	}
	for _, e := range events {
		name := "`" + e.Event + "`"
		if e.Tools != "" {
			name += " of `" + cell(e.Tools) + "`"
		}
		row := []string{name, cell(e.Does)}
		if told {
			row = append(row, cell(e.By))
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	return b.String()
}

func toolTable() string {
	var b strings.Builder
	b.WriteString("| tool | group | when |\n|---|---|---|\n")
	for _, tool := range tools.All(&project.Project{}, &agents.Agents{}) {
		name, group := "`"+tool.Name+"`", tool.Group
		switch {
		case tool.Always:
			name = "**" + name + "**"
		case tool.Direct, tool.Group == "lean":
			name = "_" + name + "_"
		}
		if tool.Core {
			group += ", core"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, group, cell(tool.Description))
	}
	return b.String()
}

func commandTable() string {
	var b strings.Builder
	b.WriteString("| command | does |\n|---|---|\n")
	for _, cmd := range cli.Docs(hoststest.Known(), command.All()) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", cell(cmd.Use), cell(cmd.Short))
	}
	return b.String()
}

func settingTable() string {
	var b strings.Builder
	b.WriteString("| variable | default | meaning |\n|---|---|---|\n")
	for _, s := range (config.Settings{}).List() {
		value := ""
		if s.Default != "" {
			value = "`" + cell(s.Default) + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", s.Name, value, cell(s.Meaning))
	}
	return b.String()
}

// cell escapes a text for a cell of a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
