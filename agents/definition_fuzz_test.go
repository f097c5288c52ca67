package agents_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents"
)

// sound checks what holds for whatever was read.
func sound(t *testing.T, def agents.Definition, findings []agents.Finding) {
	t.Helper()
	fatal := slices.ContainsFunc(findings, func(f agents.Finding) bool { return f.Fatal })
	for _, finding := range findings {
		assert.NotEmpty(t, finding.Reason)
		assert.GreaterOrEqual(t, finding.Line, 0)
	}
	if fatal {
		require.NotNil(t, def.Tools)
		assert.Empty(t, *def.Tools)
		return
	}
	assert.NotEmpty(t, def.Name)
	assert.True(t, def.Disabled || def.Prompt != "" && def.Description != "")
	_, err := json.Marshal(def)
	assert.NoError(t, err)
	def.For("claude-code")
	def.For("opencode")
}

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/definitions/*/*.md")
	require.NoError(f, err)
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(content)
	}
	f.Add([]byte("---\ndescription: d: e\nx: &a [*a]\n---\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		def, findings := agents.Parse("a.md", content)
		sound(t, def, findings)
	})
}

// Whatever the key tools holds, and whatever else the file says, the agent does
// not get its caller's tools by it.
func FuzzToolsNeverWiden(f *testing.F) {
	for _, value := range []string{
		" Read, Bash", " [Read]", "\n  - Read\n  - Bash(git *)", "", " null", " ~", " {}", " {bash: false}", " {\"*\": false, read: true}", " &a Read\nx: *a",
		" |\n  Read", " >-\n  Read,\n  Bash", " !!null x", " !!str", " # Read", "\n...\n", "\n---\n", " Read\ntools: Bash", " Read\npermission: allow", " [Read]\ndisable: true",
	} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		def, findings := agents.Parse("a.md", []byte("---\nname: a\ndescription: d\ntools:"+value+"\n---\nDo it.\n"))
		sound(t, def, findings)
		assert.NotNil(t, def.Tools)
	})
}

// Rules in any order give no tool that OpenCode, where the last match holds,
// would refuse.
func FuzzPermissionsNeverWiden(f *testing.F) {
	f.Add("01", "ab")
	f.Add("3a4b*a", "adadad")
	f.Fuzz(func(t *testing.T, tools, actions string) {
		names := []string{"*", "read", "bash", "x_one", "x_two", "x_*", "*_one", "edit"}
		var lines []string
		type entry struct {
			name  string
			allow bool
		}
		var rules []entry
		for i := range min(len(tools), len(actions)) {
			name, allow := names[int(tools[i])%len(names)], actions[i]%2 == 0
			rules = slices.DeleteFunc(rules, func(e entry) bool { return e.name == name })
			rules = append(rules, entry{name, allow})
		}
		for _, rule := range rules {
			action := "deny"
			if rule.allow {
				action = "allow"
			}
			lines = append(lines, "  \""+rule.name+"\": "+action)
		}
		if len(lines) == 0 {
			return
		}
		def, findings := agents.Parse("a.md", []byte(front(good, "permission:", strings.Join(lines, "\n"))))
		sound(t, def, findings)
		set := agents.ToolSet{}.Only(def.Tools).Without(def.DisallowedTools...)
		for _, tool := range []string{"read", "bash", "x_one", "x_two", "y_one", "edit", "other"} {
			allowed := true
			for _, rule := range rules {
				if matched, _ := filepath.Match(rule.name, tool); matched {
					allowed = rule.allow
				}
			}
			assert.False(t, set.Permits(tool) && !allowed, "%s by %v", tool, lines)
		}
	})
}
