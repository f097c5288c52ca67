package definition_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/definition"
	"flame/hosts"
	"flame/tests/hoststest"
)

// sound checks what holds for whatever was read.
func sound(t *testing.T, def definition.Definition, findings []definition.Issue) {
	t.Helper()
	fatal := slices.ContainsFunc(findings, func(f definition.Issue) bool { return f.Fatal })
	assert.LessOrEqual(t, len(findings), 25, "a longer list helps no reader")
	for _, finding := range findings {
		assert.NotEmpty(t, finding.Reason)
		assert.GreaterOrEqual(t, finding.Line, 0)
		assert.LessOrEqual(t, utf8.RuneCountInString(finding.Reason), 301)
		assert.LessOrEqual(t, utf8.RuneCountInString(finding.Agent), 201)
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
	assert.LessOrEqual(t, len(def.Name), 200)
	assert.LessOrEqual(t, len(lo.FromPtr(def.Tools)), 1_000)
	assert.LessOrEqual(t, len(def.DisallowedTools), 2_000)
	for _, tool := range slices.Concat(lo.FromPtr(def.Tools), def.DisallowedTools) {
		assert.False(t, strings.HasPrefix(tool, "-"), tool)
		assert.Equal(t, strings.Count(tool, "("), strings.Count(tool, ")"), tool)
	}
	def.TranslateFor(hoststest.Known(), "claude-code")
	def.TranslateFor(hoststest.Known(), "opencode")
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
	for _, bomb := range bombs() {
		lines := strings.Replace("---\n"+good+"\n"+bomb+"\n---\nDo it.\n", "description: d\ndescription:", "description:", 1)
		f.Add([]byte(strings.Replace(lines, "name: a\ndescription: d\nname:", "description: d\nname:", 1)))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		def, findings := parsed(string(content))
		sound(t, def, findings)
		hosts.ToolSet{}.Only(def.Tools).Without(def.DisallowedTools...).For(hoststest.Known(), "opencode").For(hoststest.Known(), "claude-code")
	})
}

// bombs are front matters that cost a reader more than they look like, by name.
func bombs() map[string]string {
	const n = 60 << 10
	repeat := strings.Repeat
	many := func(line string) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			b.WriteString(strings.ReplaceAll(line, "#", strconv.Itoa(i)))
		}
		return b.String()
	}
	return map[string]string{
		"lists in lists":          "x: " + repeat("[", n/2) + repeat("]", n/2),
		"as many as are read":     "options: " + repeat("[", 9_000) + repeat("]", 9_000),
		"maps in maps":            "x: " + repeat("{a: ", n/8) + repeat("}", n/8),
		"blocks in blocks":        "x:\n " + repeat("- ", n/2),
		"keys that are maps":      repeat("? ", n/2),
		"keys":                    many("k#: 1\n"),
		"keys for the host":       "options:\n" + many("  k#: 1\n"),
		"keys that may limit":     many("tool#: 1\n"),
		"keys twice":              many("k: 1\n"),
		"tools":                   "tools: [" + many("a#,") + "]",
		"tools in a line":         "tools: " + many("a#,"),
		"denials":                 "disallowedTools: [" + many("a#,") + "]",
		"rules":                   "permission:\n" + many("  a#*: deny\n"),
		"rules of one tool":       "permission:\n  bash:\n" + many("    'x#*': deny\n"),
		"tools for others":        "flame:\n  delegate_grants: [" + many("a#,") + "]",
		"aliases":                 "a: &a [x]\n" + many("b#: *a\n"),
		"aliases of aliases":      "a: &a [x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]",
		"anchors":                 many("k#: &a# x\n"),
		"merges":                  many("<<: {k#: 1}\n"),
		"a number":                "options: " + repeat("9", n),
		"a number of turns":       "maxTurns: " + repeat("9", n),
		"a number with exponent":  "options: 1e" + repeat("9", n),
		"a number in hexadecimal": "options: 0x" + repeat("f", n),
		"an amount":               "flame: {budget_usd: " + repeat("9", n) + "}",
		"a time":                  "flame: {timeout: " + repeat("9", n) + "h}",
		"no number":               "options: .nan",
		"without end":             "options: -.inf",
		"binary":                  "options: !!binary " + repeat("QUJD", n/4),
		"invalid binary":          "options: !!binary '*'",
		"binary tools":            "tools: !!binary UmVhZA==",
		"a set of tools":          "tools: !!set {Read}",
		"a tag for each":          many("k#: !!binary QUJD\n"),
		"unknown tags":            many("k#: !<tag:x#> 1\n"),
		"a directive":             "%TAG ! tag:x,2000:\n---\nx: 1",
		"a date":                  "options: !!timestamp 2001-01-01",
		"a line":                  "x: " + repeat("a", n),
		"a key":                   repeat("k", n) + ": 1",
		"escapes":                 "x: \"" + repeat(`\u0041`, n/6) + "\"",
		"an escaped terminal":     `"\e[2J\x07\0": 1`,
		"half a character":        `name: "\ud800"`,
		"folded lines":            "x: >\n" + repeat("  b\n\n", n/5),
		"blanks":                  "x: " + repeat(" ", n),
		"comments":                repeat("#\n", n/2),
		"commas":                  "tools: " + repeat(",", n),
		"brackets":                "tools: " + repeat("(", n),
		"brackets that close":     "tools: a" + repeat("(", n/2) + repeat(")", n/2),
		"an unquoted description": "description: a: b: c\nx: " + repeat("[", 9_000) + repeat("]", 9_000),
		"a schema":                "flame:\n  result_schema: {a: " + repeat("[", 9_000) + repeat("]", 9_000) + "}",
		"a name":                  "name: " + repeat("a/", n/2) + "a",
		"marks of byte order":     "x: \ufeff" + repeat("\ufeff", n/3),
		"other line ends":         "x: " + repeat("\u2028", n/3) + "\u0085",
		"zero":                    "x: \x00",
		"no characters":           "x: \xff\xfe",
	}
}

// A call's definition is JSON; whatever that is, it is an agent or an error.
func FuzzInline(f *testing.F) {
	f.Add([]byte(`{"description":"d","prompt":"p","tools":["Read"],"flame":{"timeout":5}}`))
	f.Add([]byte(`{"description":"d","prompt":"p","tools":["Read"],"tools":null}`))
	f.Add([]byte(`{"description":"d","prompt":"p","options":` + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000) + `}`))
	f.Add([]byte(`{"description":"d","prompt":"p","maxTurns":1e400,"tools":{"*":false}}`))
	f.Add([]byte(`{"name":"\ud800","description":"\u0000","prompt":"p"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		def, err := definition.Inline(hoststest.Known(), raw)
		if err != nil {
			require.NotNil(t, def.Tools)
			assert.Empty(t, *def.Tools)
			return
		}
		sound(t, def, nil)
		assert.Equal(t, definition.Call, def.Source.Kind)
	})
}

// Whatever the key tools holds, and whatever else the file says, the agent does
// not get its caller's tools by it.
func FuzzToolsNeverWiden(f *testing.F) {
	for _, value := range []string{
		" Read, Bash", " [Read]", "\n  - Read\n  - Bash(git *)", "", " null", " ~", " {}", " {bash: false}", " {\"*\": false, read: true}", " &a Read\nx: *a",
		" |\n  Read", " >-\n  Read,\n  Bash", " !!null x", " !!str", " # Read", "\n...\n", "\n---\n",
		" Read\ntools: Bash", " Read\npermission: allow", " [Read]\ndisable: true",
	} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		def, findings := parsed("---\nname: a\ndescription: d\ntools:" + value + "\n---\nDo it.\n")
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
		def, findings := parsed(front(good, "permission:", strings.Join(lines, "\n")))
		sound(t, def, findings)
		set := hosts.ToolSet{}.Only(def.Tools).Without(def.DisallowedTools...)
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
