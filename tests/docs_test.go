package tests

import (
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
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
		case tool.AlwaysLoad:
			name = "**" + name + "**"
		case tool.InLean, tool.Group == "lean":
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

// readmeLines is the length that a user can read in five minutes.
const readmeLines = 130

func TestDocumentsBeginWithAShortOne(t *testing.T) {
	lines := strings.Count(documents(t)["README.md"], "\n")
	assert.LessOrEqual(t, lines, readmeLines, "what is looked up belongs into docs/reference.md")
}

// link finds the targets of links and pictures.
var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func TestLinksInDocumentsLeadSomewhere(t *testing.T) {
	texts := documents(t)
	found := 0
	for name, text := range texts {
		for _, match := range link.FindAllStringSubmatch(withoutCode(text), -1) {
			if strings.Contains(match[1], "://") {
				continue // not ours
			}
			found++
			target, anchor, _ := strings.Cut(match[1], "#")
			file := name
			if target != "" {
				file = filepath.ToSlash(filepath.Join(filepath.Dir(name), target))
			}
			_, err := os.Stat(filepath.Join("..", filepath.FromSlash(file)))
			assert.NoError(t, err, "%s has a link to %s", name, match[1])
			if anchor != "" {
				assert.Contains(t, anchors(texts[file]), anchor, "%s has a link to %s", name, match[1])
			}
		}
	}
	assert.Greater(t, found, 5, "the test found too few links")
}

// documents returns the documents for users and contributors, by path.
func documents(t *testing.T) map[string]string {
	paths, err := filepath.Glob("../*.md")
	require.NoError(t, err)
	more, err := filepath.Glob("../docs/*.md")
	require.NoError(t, err)
	texts := map[string]string{}
	for _, path := range append(paths, more...) {
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		name, err := filepath.Rel("..", path)
		require.NoError(t, err)
		texts[filepath.ToSlash(name)] = string(raw)
	}
	return texts
}

// anchors returns the anchors of a document's headings, as GitHub makes them.
func anchors(text string) (found []string) {
	for _, line := range strings.Split(withoutCode(text), "\n") {
		heading := strings.TrimLeft(line, "#")
		if heading == line || !strings.HasPrefix(heading, " ") {
			continue
		}
		heading = notInAnchors.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), "")
		found = append(found, strings.ReplaceAll(heading, " ", "-"))
	}
	return found
}

// notInAnchors matches characters that GitHub drops from anchors.
var notInAnchors = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// withoutCode returns a document without its blocks of code, which may contain lines like headings
// and links.
func withoutCode(text string) string {
	var kept []string
	for i, part := range strings.Split("\n"+text, "\n```") {
		if i%2 == 0 {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, "\n")
}

// named finds paths of the repository in a document.
var named = regexp.MustCompile("`([a-z][\\w.-]*(?:/[\\w.-]*)+|\\w+\\.go)`")

func TestDocumentsOfTheCodeNameExistingPaths(t *testing.T) {
	texts := documents(t)
	for _, name := range []string{"docs/architecture.md", "CONTRIBUTING.md"} {
		paths := named.FindAllStringSubmatch(withoutCode(texts[name]), -1)
		assert.Greater(t, len(paths), 1, "no paths were found in %s", name)
		for _, path := range paths {
			_, err := os.Stat(filepath.Join("..", filepath.FromSlash(path[1])))
			assert.NoError(t, err, name)
		}
	}
}

// A link may lead anywhere, and a checkout on another system makes a file of it.
func TestTheTreeHasNoSymbolicLinks(t *testing.T) {
	require.NoError(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == ".git" {
			return fs.SkipDir
		}
		if err == nil && d.Type() == fs.ModeSymlink {
			assert.Fail(t, "a symbolic link", path)
		}
		return err
	}))
}

// plainOnly are the commands without JSON output of their own, and why.
var plainOnly = map[string]string{
	"completion":    "a script for a shell",
	"serve":         "the protocol's messages",
	"hook":          "what the host expects",
	"claude":        "what Claude Code prints",
	"codex":         "what Codex CLI prints",
	"gemini":        "what Gemini CLI prints",
	"gateway":       "runs until it is ended",
	"web":           "runs until it is ended",
	"agents attach": "opens a host at the terminal",
	"agents grant":  "only for a person at a terminal",
	"hub":           "runs until it is ended",
	"worker":        "runs until it is ended",
	"hub invite":    "needs a hub; see TestMachinesJoinAndLeaveAHub",
	"hub machines":  "likewise",
	"join":          "likewise",
	"leave":         "likewise",
}

// commandWords matches the name of a command, before its arguments.
var commandWords = regexp.MustCompile(`^flame ((?:[a-z]+ ?)+?)(?: [^a-z].*| [a-z]+\|.*)?$`)

// TestEveryCommandThatPrintsDoesSoInJSON looks for each in the scripts.
func TestEveryCommandThatPrintsDoesSoInJSON(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txtar")
	require.NoError(t, err)
	scripts := ""
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		scripts += string(text)
	}
	for _, command := range cli.Docs(hoststest.Known(), command.All()) {
		name := strings.TrimSpace(commandWords.FindStringSubmatch(command.Use)[1])
		runs := regexp.MustCompile(`(?m)^(?:exec |exits 1 )?flame (?:\S+ )*` + name + `(?: .*)? --json\b|^flame --json ` + name + `\b`)
		_, plain := plainOnly[name]
		assert.True(t, plain || runs.MatchString(scripts), "no script runs %s with --json", name)
	}
}
