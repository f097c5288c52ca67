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
	"flame/tests/cases"
	"flame/tests/hoststest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The files are as users of each host write them; the golden ones say what flame
// understands, warnings included.
func TestDefinitionsOfEveryHostAreUnderstood(t *testing.T) {
	files, err := filepath.Glob("testdata/definitions/*/*.md")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimPrefix(file, "testdata/definitions/"), func(t *testing.T) {
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

// parsed reads a.md.
func parsed(content string) (definition.Definition, []definition.Issue) {
	return definition.Parse(hoststest.Known(), "a.md", []byte(content))
}

// A flawed file has one flaw.
type flawed struct {
	File  string `json:"file"`
	Front string `json:"front"` // instead: what its front matter has beside the good lines
	Says  string `json:"says"`
}

func TestAFlawIsReportedWithItsLine(t *testing.T) {
	for file, fatal := range map[string]bool{"fatal": true, "doubtful": false} {
		all := cases.Read[flawed](t, "testdata/"+file+".yaml")
		if fatal {
			all["binary"] = flawed{"---\n" + good + "\x00\n---\nx", "", "a.md: the file is not text in UTF-8"}
			all["in another encoding"] = flawed{"\xff\xfe-\x00-\x00-\x00", "", "a.md: the file is not text in UTF-8"}
			all["without measure"] = flawed{front(good, "x: "+strings.Repeat("x", 64<<10)), "", "a.md:1: the front matter is larger than 64 KB"}
			all["empty"] = flawed{"", "", "a.md: the file is empty"}
		}
		for name, tt := range all {
			t.Run(file+"/"+name, func(t *testing.T) {
				content := tt.File
				if tt.Front != "" {
					content = front(good, tt.Front)
				}
				def, findings := parsed(content)
				require.Len(t, findings, 1, "%v", findings)
				assert.Equal(t, fatal, findings[0].Fatal)
				assert.Equal(t, tt.Says, findings[0].String())
				if !fatal {
					assert.Equal(t, "Do it.", def.Prompt)
					return
				}
				require.NotNil(t, def.Tools, "a broken definition allows no tools")
				assert.Empty(t, *def.Tools)
			})
		}
	}
}

func TestToolsAreReadFromEveryNotation(t *testing.T) {
	for name, tt := range cases.Read[struct {
		Front  string    `json:"front"`
		Tools  *[]string `json:"tools"`
		Denied []string  `json:"denied"`
	}](t, "testdata/notations.yaml") {
		def, findings := parsed(front(good, tt.Front))
		assert.Empty(t, findings, name)
		assert.Equal(t, tt.Tools, def.Tools, name)
		assert.Equal(t, tt.Denied, def.DisallowedTools, name)
	}
}

func TestTimesAreSecondsOrDurations(t *testing.T) {
	for value, want := range map[string]time.Duration{"90": 90 * time.Second, "1.5": 1500 * time.Millisecond, "5m": 5 * time.Minute} {
		def, findings := parsed(front(good, "flame: {timeout: "+value+"}"))
		assert.Empty(t, findings)
		assert.Equal(t, want, def.Timeout)
	}
}

func TestACallMayCarryItsDefinition(t *testing.T) {
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
		def, err := definition.Inline(hoststest.Known(), json.RawMessage(tt.raw))
		require.ErrorIs(t, err, core.ErrInvalid, name)
		assert.ErrorContains(t, err, tt.want)
		assert.NotNil(t, def.Tools)
	}
}

func TestADefinitionWithoutInstructionsIsLoadedWithAWarning(t *testing.T) {
	_, findings := parsed("---\nname: a\ndescription: d\n---\n \n")
	require.Len(t, findings, 1)
	assert.False(t, findings[0].Fatal)
	assert.Contains(t, findings[0].Reason, "there are no instructions")
}

func TestNamesThatHostsLoad(t *testing.T) {
	for _, name := range []string{"code reviewer", "v1.2", "snake_case", "3d-artist", "prüfer", "校对", "plugin:x", "team/x"} {
		def, findings := parsed("---\nname: " + name + "\ndescription: d\n---\nDo it.\n")
		assert.Empty(t, findings, name)
		assert.Equal(t, name, def.Name)
	}
	for _, name := range []string{"../a", "/a", "a//b", "a/../b", "--x", "a(b)", "a\\x00b", "a`b`"} {
		_, findings := parsed("---\nname: \"" + name + "\"\ndescription: d\n---\nDo it.\n")
		assert.NotEmpty(t, findings, name)
	}
}
