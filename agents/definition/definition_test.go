package definition_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/definition"
	"flame/core"
	"flame/tests/hoststest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The files are as users of each host write them; the golden ones say what flame
// understands, warnings included.
func TestDefinitionsOfEveryHostAreUnderstood(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/definitions/*/*.md")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimPrefix(file, "testdata/definitions/"), func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(file)
			require.NoError(t, err)
			def, findings := definition.Parse(hoststest.Known(), file, content)
			var got bytes.Buffer
			encoder := json.NewEncoder(&got)
			encoder.SetEscapeHTML(false)
			encoder.SetIndent("", "  ")
			require.NoError(t, encoder.Encode(map[string]any{"definition": def, "findings": findings}))

			golden := strings.TrimSuffix(file, ".md") + ".json"
			if *update {
				require.NoError(t, os.WriteFile(golden, got.Bytes(), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			assert.Equal(t, string(want), got.String())
		})
	}
}

// front makes a file of front matter.
func front(lines ...string) string {
	return "---\n" + strings.Join(lines, "\n") + "\n---\nDo it.\n"
}

// good are the lines that every file needs.
const good = "name: a\ndescription: d"

func TestBadFilesAreReportedWithTheirLine(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ content, want string }{
		"empty":                        {"", "a.md: the file is empty"},
		"blank":                        {" \n\t\n", "a.md: the file is empty"},
		"binary":                       {"---\n" + good + "\x00\n---\nx", "a.md: the file is not text in UTF-8"},
		"in another encoding":          {"\xff\xfe-\x00-\x00-\x00", "a.md: the file is not text in UTF-8"},
		"no front matter":              {"# Notes\n", "a.md:1: no front matter: the first line must be ---"},
		"front matter without end":     {"---\n" + good + "\nDo it.\n", "a.md:1: the front matter has no end: a line --- must follow it"},
		"front matter without measure": {front(good, "x: "+strings.Repeat("x", 64<<10)), "a.md:1: the front matter is larger than 64 KB"},
		"front matter without keys":    {"---\n---\nDo it.\n", "a.md:1: the front matter must be a map of keys to values"},
		"front matter that is a list":  {front("- a"), "a.md:1: the front matter must be a map of keys to values"},
		"a bracket left open":          {front(good, "tools: [Read", "model: m"), "a.md:5: not valid YAML: did not find expected ',' or ']'"},
		"a wrong indentation":          {front(good, "tools:", "  - Read", " - Bash"), "a.md:6: not valid YAML: did not find expected key"},
		"a tab":                        {front(good, "\ttools: Read"), "a.md:4: not valid YAML: found a tab character that violates indentation"},
		"a colon elsewhere":            {front(good, "model: a: b"), "a.md:4: not valid YAML: mapping values are not allowed in this context"},
		"a key twice":                  {front(good, "tools: Read", "tools: Bash"), "a.md:5: tools: appears twice"},
		"a key of flame's twice":       {front(good, "flame:", "  type: tester", "  type: builder"), "a.md:6: type: appears twice"},
		"an alias":                     {front(good, "x: &t [Read]", "tools: *t"), "a.md:5: aliases (*t) are not read"},
		"a merged map":                 {front(good, "<<: {tools: Read}"), "a.md:4: a key must be a word"},
		"a second document":            {front(good, "...", "tools: Read"), "a.md: not valid YAML: expected single document, found multiple"},
		"no description":               {front("name: a"), "a.md:1: description: is missing; it says when to use the agent"},
		"no instructions":              {"---\n" + good + "\n---\n \n", "a.md:1: there are no instructions: write them below the front matter"},
		"a name with blanks": {
			front("name: my agent", "description: d"),
			`a.md:1: the name "my agent" must begin with a letter and continue with letters, digits and hyphens; plugin:name is also allowed`,
		},
		"a name of another script": {
			front("name: é", "description: d"),
			`a.md:1: the name "é" must begin with a letter and continue with letters, digits and hyphens; plugin:name is also allowed`,
		},
		"a name that leaves the folder": {
			front("name: ../a", "description: d"),
			`a.md:1: the name "../a" must begin with a letter and continue with letters, digits and hyphens; plugin:name is also allowed`,
		},
		"tools without value":          {front(good, "tools:"), "a.md:4: tools: has no value; write [] for none, or leave the key out"},
		"tools with an empty item":     {front(good, "tools:", "  - Read", "  -"), "a.md:4: tools: has no value; write [] for none, or leave the key out"},
		"tools that are a number":      {front(good, "tools: 7"), "a.md:4: tools: must be a list of tool names"},
		"tools that are true":          {front(good, "tools: true"), "a.md:4: tools: must be a list of tool names"},
		"tools in lists in a list":     {front(good, "tools: [[Read]]"), "a.md:4: tools: must be a list of tool names"},
		"tools with maps in a list":    {front(good, "tools:", "  - Bash(git: status)", "  - Read: yes"), "a.md:4: tools: must be a list of tool names"},
		"tools that are a sentence":    {front(good, "tools: all of them"), `a.md:4: tools: "all of them" is not the name of a tool`},
		"a rule left open":             {front(good, "tools: Read, Bash(git *"), `a.md:4: tools: "Bash(git *" is not the name of a tool`},
		"a rule cut by a list":         {front(good, "tools: [Bash(git add, git diff)]"), `a.md:4: tools: "Bash(git add" is not the name of a tool`},
		"a rule for any tool":          {front(good, "tools: '*(x)'"), `a.md:4: tools: "*(x)" is not the name of a tool`},
		"tools that map to words":      {front(good, "tools: {bash: maybe}"), "a.md:4: tools: must be a list of tool names, or a map of them to true or false"},
		"denied tools without value":   {front(good, "disallowedTools:"), "a.md:4: disallowedTools: has no value; write [] for none, or leave the key out"},
		"a permission of another word": {front(good, "permission: {bash: perhaps}"), "a.md:4: permission: bash must be allow, ask or deny"},
		"permissions that are a list":  {front(good, "permission: [bash]"), "a.md:4: permission: must be allow, ask or deny, or a map of tools to these"},
		"patterns for all tools":       {front(good, "permission: {'*': {x: deny}}"), `a.md:4: permission: "*(x)" is not the name of a tool`},
		"a list and a map of tools": {
			front(good, "tools: Read", "permission: {'*': deny, bash: allow}"),
			"a.md:1: tools is a list and permission denies the rest: say in one of them what is allowed",
		},
		"a key that sounds like tools": {
			front(good, "allowed-tools: Read"),
			"a.md:4: allowed-tools: is not a key, and may be meant to limit the agent: write tools, disallowedTools, permissionMode or permission",
		},
		"tools in capitals": {
			front(good, "Tools: Read"),
			"a.md:4: Tools: is not a key, and may be meant to limit the agent: write tools, disallowedTools, permissionMode or permission",
		},
		"tools among flame's keys": {
			front(good, "flame:", "  tools: Read"),
			"a.md:5: flame.tools: is not a key, and may be meant to limit the agent: write tools, disallowedTools, permissionMode or permission",
		},
		"an unknown mode": {
			front(good, "permissionMode: yolo"), "a.md:4: permissionMode: must be one of plan, dontAsk, default, acceptEdits, bypassPermissions",
		},
		"a mode of the wrong kind":   {front(good, "mode: plan"), "a.md:4: mode: must be one of primary, subagent, all"},
		"apart in a way that is not": {front(good, "isolation: remote"), "a.md:4: isolation: must be one of worktree, none"},
		"turns in words":             {front(good, "maxTurns: ten"), "a.md:4: maxTurns: must be a whole number from 1"},
		"no turns":                   {front(good, "steps: 0"), "a.md:4: steps: must be a whole number from 1"},
		"background in words":        {front(good, "background: maybe"), "a.md:4: background: must be true or false"},
		"a model that is a list":     {front(good, "model: [a]"), "a.md:4: model: must be text"},
		"flame's keys as text":       {front(good, "flame: fast"), "a.md:4: flame: must be a map of keys to values"},
		"an unknown host":            {front(good, "flame: {host: emacs}"), "a.md:4: flame.host: must be one of claude-code, opencode, codex, gemini, auto"},
		"an unknown type":            {front(good, "flame: {type: wizard}"), "a.md:4: flame.type: must be one of builder, tester, analyzer, retriever"},
		"time that runs backwards":   {front(good, "flame: {timeout: -5m}"), "a.md:4: flame.timeout: must be seconds, or a duration such as 5m"},
		"depth below none":           {front(good, "flame: {max_depth: -1}"), "a.md:4: flame.max_depth: must be a whole number from 0"},
		"a budget of nothing":        {front(good, "flame: {budget_usd: 0}"), "a.md:4: flame.budget_usd: must be an amount above 0, in USD"},
		"a budget that is no number": {front(good, "flame: {budget_usd: .nan}"), "a.md:4: flame.budget_usd: must be an amount above 0, in USD"},
		"a schema that is text":      {front(good, "flame: {result_schema: object}"), "a.md:4: flame.result_schema: must be a JSON schema: a map"},
		"a value that JSON lacks":    {front(good, "temperature: .inf"), "a.md:4: temperature: holds what JSON cannot"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			def, findings := definition.Parse(hoststest.Known(), "a.md", []byte(tt.content))
			require.Len(t, findings, 1, "%v", findings)
			assert.True(t, findings[0].Fatal)
			assert.Equal(t, tt.want, findings[0].String())
			require.NotNil(t, def.Tools, "a broken definition allows no tools")
			assert.Empty(t, *def.Tools)
		})
	}
}

func TestDoubtfulFilesDefineAnAgentWithAWarning(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ content, want string }{
		"an unknown key":                 {front(good, "colour: red"), "a.md:4: colour: is not a known key"},
		"an unknown key of flame's":      {front(good, "flame: {speed: 9}"), "a.md:4: flame.speed: is not a known key"},
		"Descartes' levels beside tools": {front(good, "tools: Read", "tool_level: readonly"), "a.md:5: tool_level: is not a known key"},
		"instructions twice":             {front(good, "prompt: Other."), "a.md:4: prompt: is not used, the text below the front matter is"},
		"a description with colons": {
			front("name: a", "description: Use when: asked"), "a.md:3: description: is not valid YAML and was taken literally; quote it",
		},
		"a permission to ask": {
			front(good, "permission: {bash: ask}"), "a.md:4: permission: bash would ask, and an agent has nobody to ask: it is denied",
		},
		"a permission that is about none": {
			front(good, "permission: {doom_loop: deny}"), "a.md:4: permission: doom_loop is about no tool; only OpenCode can apply it",
		},
		"an exception from a denial": {
			front(good, "permission:", "  bash: {'*': deny, 'git *': allow}"),
			`a.md:5: bash(git *) is an exception from a denial, which cannot be kept: the denial holds; begin with "*": deny and allow what is needed`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			def, findings := definition.Parse(hoststest.Known(), "a.md", []byte(tt.content))
			require.Len(t, findings, 1, "%v", findings)
			assert.False(t, findings[0].Fatal)
			assert.Equal(t, tt.want, findings[0].String())
			assert.Equal(t, "Do it.", def.Prompt)
		})
	}
}

func TestToolsAreReadFromEveryNotation(t *testing.T) {
	t.Parallel()
	list := func(names ...string) *[]string { names = append([]string{}, names...); return &names }
	tests := map[string]struct {
		lines  []string
		tools  *[]string
		denied []string
	}{
		"not named":            {nil, nil, nil},
		"with commas":          {[]string{"tools: Read, Bash , mcp__docs__*"}, list("Read", "Bash", "mcp__docs__*"), nil},
		"a comma at the end":   {[]string{"tools: Read,"}, list("Read"), nil},
		"a flow list":          {[]string{"tools: [Read, Bash]"}, list("Read", "Bash"), nil},
		"a block list":         {[]string{"tools:", "  - Read", "  - Bash"}, list("Read", "Bash"), nil},
		"a list not indented":  {[]string{"tools:", "- Read", "- Bash"}, list("Read", "Bash"), nil},
		"commas in a rule":     {[]string{`tools: Bash(git add, git diff), Read`}, list("Bash(git add, git diff)", "Read"), nil},
		"brackets in a rule":   {[]string{`tools: ["Bash(echo (a))", Read]`}, list("Bash(echo (a))", "Read"), nil},
		"an empty list":        {[]string{"tools: []"}, list(), nil},
		"empty text":           {[]string{`tools: ""`}, list(), nil},
		"all, by name":         {[]string{`tools: "*"`}, list("*"), nil},
		"denied":               {[]string{"disallowedTools: Write, Edit"}, nil, []string{"Write", "Edit"}},
		"a map":                {[]string{"tools: {bash: false, read: true}"}, list("*"), []string{"bash"}},
		"a map from nothing":   {[]string{`tools: {"*": false, read: true}`}, list("read"), nil},
		"a map that ends it":   {[]string{`tools: {read: true, "*": false}`}, list(), nil},
		"the edit permission":  {[]string{"permission: {edit: deny}"}, nil, []string{"edit", "write", "apply_patch"}},
		"writing only":         {[]string{"tools: {write: false}"}, list("*"), []string{"edit", "write", "apply_patch"}},
		"nothing permitted":    {[]string{"permission: deny"}, list(), nil},
		"all permitted":        {[]string{"permission: allow"}, nil, nil},
		"a part denied":        {[]string{"permission: {bash: {'rm *': deny}}"}, nil, []string{"bash(rm *)"}},
		"the last rule holds":  {[]string{"permission: {bash: deny, '*': allow}"}, nil, nil},
		"an order that counts": {[]string{"permission: {'*': deny, 'x_*': allow, x_bad: deny}"}, list("x_*"), []string{"x_bad"}},
		"an idle denial":       {[]string{"permission: {'*': deny, bash: {'*': deny, 'git *': allow}}"}, list("bash(git *)"), nil},
		"patterns that cross":  {[]string{"permission: {'*': deny, '*_x': allow, 'bad_*': deny}"}, list("*_x"), []string{"bad_*"}},
		"permission comes last, wherever it stands": {
			[]string{"permission: {bash: allow}", "tools: {'*': false, read: true}"}, list("read", "bash"), nil,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			def, findings := definition.Parse(hoststest.Known(), "a.md", []byte(front(append([]string{good}, tt.lines...)...)))
			assert.Empty(t, findings)
			assert.Equal(t, tt.tools, def.Tools)
			assert.Equal(t, tt.denied, def.DisallowedTools)
		})
	}
}

func TestTimesAreSecondsOrDurations(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]time.Duration{"90": 90 * time.Second, "1.5": 1500 * time.Millisecond, "5m": 5 * time.Minute} {
		def, findings := definition.Parse(hoststest.Known(), "a.md", []byte(front(good, "flame: {timeout: "+value+"}")))
		assert.Empty(t, findings)
		assert.Equal(t, want, def.Timeout)
	}
}

func TestACallMayCarryItsDefinition(t *testing.T) {
	t.Parallel()
	def, err := definition.Inline(hoststest.Known(), json.RawMessage(
		`{"description": "d \ud83d\ude00", "prompt": "Do it.", "tools": ["Read"], "maxTurns": 3, "flame": {"max_depth": 0, "result_schema": {"b": 1, "a": 2}}}`,
	))
	require.NoError(t, err)
	none := 0
	assert.Equal(t, definition.Definition{
		Name: "inline", Description: "d 😀", Prompt: "Do it.", Tools: &[]string{"Read"}, MaxTurns: 3, MaxDepth: &none,
		ResultSchema: json.RawMessage(`{"b":1,"a":2}`), Source: definition.Source{Kind: definition.Call},
	}, def)
}

func TestABadDefinitionInACallIsAnError(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ raw, want string }{
		"not JSON":        {`{`, "it is not valid JSON"},
		"not an object":   {`["Read"]`, "it must be a JSON object"},
		"a key twice":     {`{"tools": ["Read"], "tools": null}`, "tools: appears twice"},
		"tools null":      {`{"description": "d", "prompt": "p", "tools": null}`, "tools: has no value"},
		"an unknown key":  {`{"description": "d", "prompt": "p", "colour": "red"}`, "colour: is not a known key"},
		"no prompt":       {`{"description": "d"}`, "there are no instructions"},
		"too deep a list": {strings.Repeat("[", 100_000), "it is not valid JSON"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			def, err := definition.Inline(hoststest.Known(), json.RawMessage(tt.raw))
			require.ErrorIs(t, err, core.ErrInvalid)
			assert.ErrorContains(t, err, tt.want)
			assert.NotNil(t, def.Tools)
		})
	}
}
