package tests

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/cli"
	"flame/config"
	"flame/project"
	"flame/tools"
)

var update = flag.Bool("update", false, "write the generated parts of the README")

// generated are the parts of the README that are made from the code, by the
// name in their markers.
var generated = map[string]func() string{
	"tools":    toolTable,
	"commands": commandTable,
	"settings": settingTable,
}

func TestGeneratedPartsOfTheREADMEAreUpToDate(t *testing.T) {
	const file = "../README.md"
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	text := string(raw)
	for name, table := range generated {
		begin, end := "<!-- generated: "+name+" -->\n", "<!-- end: "+name+" -->"
		before, rest, ok := strings.Cut(text, begin)
		require.True(t, ok, "the README has no place for %s", name)
		_, after, ok := strings.Cut(rest, end)
		require.True(t, ok, "the README does not end %s", name)
		text = before + begin + table() + end + after
	}
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		return
	}
	assert.Equal(t, text, string(raw), "go test ./tests -run README -update brings it up to date")
}

func toolTable() string {
	var b strings.Builder
	b.WriteString("| tool | group | when |\n|---|---|---|\n")
	for _, tool := range tools.All(&project.Project{}) {
		name := "`" + tool.Name + "`"
		if tool.Core {
			name = "**" + name + "**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, tool.Group, cell(tool.Description))
	}
	return b.String()
}

func commandTable() string {
	var b strings.Builder
	b.WriteString("| command | does |\n|---|---|\n")
	for _, cmd := range cli.Docs() {
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

// cell keeps a text within a cell of a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
