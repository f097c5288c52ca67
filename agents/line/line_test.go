package line_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/line"
	"flame/core"
)

// options are those of a command with all kinds of them.
var options = []line.Option{
	{Name: "agent-type"},
	{Name: "timeout"},
	{Name: "tools"},
	{Name: "inherit-context", Switch: true},
	{Name: "transfer-control", Switch: true},
}

type values = map[string]string

func TestParse(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text   string
		words  []string
		rest   string
		values values
	}{
		"an empty line has nothing":            {"", nil, "", nil},
		"a line of blanks has nothing":         {" \t\n", nil, "", nil},
		"words alone are text":                 {"agent-1  agent-2", []string{"agent-1", "agent-2"}, "agent-1  agent-2", nil},
		"options stand behind the text":        {"fix it --agent-type builder", []string{"fix", "it"}, "fix it", values{"agent-type": "builder"}},
		"options stand before the text":        {"--agent-type builder  fix it", []string{"fix", "it"}, "fix it", values{"agent-type": "builder"}},
		"options stand within the text":        {"fix --timeout 5 it", []string{"fix", "it"}, "fix it", values{"timeout": "5"}},
		"a value may stand behind an equals":   {"x --timeout=5", []string{"x"}, "x", values{"timeout": "5"}},
		"only the first equals counts":         {"x --tools=a=b", []string{"x"}, "x", values{"tools": "a=b"}},
		"underscores are hyphens":              {"x --agent_type=builder", []string{"x"}, "x", values{"agent-type": "builder"}},
		"a quoted value keeps its blanks":      {`x --tools "Read, Bash(git *)"`, []string{"x"}, "x", values{"tools": "Read, Bash(git *)"}},
		"a value behind an equals is quoted":   {`x --tools='Read, Grep'`, []string{"x"}, "x", values{"tools": "Read, Grep"}},
		"an empty value is given in quotes":    {`x --tools=""`, []string{"x"}, "x", values{"tools": ""}},
		"a quoted value may look like options": {`x --tools "--timeout"`, []string{"x"}, "x", values{"tools": "--timeout"}},
		"a switch stands alone":                {"--transfer-control agent-1", []string{"agent-1"}, "agent-1", values{"transfer-control": "true"}},
		"a switch is turned off":               {"x --inherit-context=false", []string{"x"}, "x", values{"inherit-context": "false"}},
		"a switch takes false as next word":    {"--inherit-context false fix it", []string{"fix", "it"}, "fix it", values{"inherit-context": "false"}},
		"a switch leaves any other word":       {"--inherit-context falsehoods", []string{"falsehoods"}, "falsehoods", values{"inherit-context": "true"}},
		"a switch at the end is on":            {"x --inherit-context ", []string{"x"}, "x", values{"inherit-context": "true"}},
		"a negative number is a value":         {"x --timeout -5", []string{"x"}, "x", values{"timeout": "-5"}},
		"double hyphens end the options": {
			"--timeout 5 -- run go test --race", []string{"run", "go", "test", "--race"}, "run go test --race", values{"timeout": "5"},
		},
		"only the first double hyphens end": {"-- a -- b", []string{"a", "--", "b"}, "a -- b", nil},
		"one hyphen is text":                {"run ls -l - or --- so", []string{"run", "ls", "-l", "-", "or", "---", "so"}, "run ls -l - or --- so", nil},
		"hyphens inside a word are text":    {"a--timeout b", []string{"a--timeout", "b"}, "a--timeout b", nil},
		"quoted hyphens are text":           {`run "go test --race" now`, []string{"run", "go test --race", "now"}, `run "go test --race" now`, nil},
		"single-quoted hyphens are text":    {`run 'go test --race'`, []string{"run", "go test --race"}, `run 'go test --race'`, nil},
		"backquoted hyphens are text": {
			"make `flame track --follow` work", []string{"make", "`flame track --follow`", "work"}, "make `flame track --follow` work", nil,
		},
		"a fenced block is text": {
			"do\n```\nx --flag\n```\n--timeout 5", []string{"do", "```\nx --flag\n```"}, "do\n```\nx --flag\n```", values{"timeout": "5"},
		},
		"escaped hyphens are text":            {`\--timeout`, []string{"--timeout"}, `\--timeout`, nil},
		"an escaped blank joins words":        {`a\ b c`, []string{"a b", "c"}, `a\ b c`, nil},
		"a last backslash is text":            {`a\`, []string{`a\`}, `a\`, nil},
		"quotes inside a word join it":        {`a"b c"d`, []string{"ab cd"}, `a"b c"d`, nil},
		"backslashes in double quotes":        {`"a \"b\" \n \\"`, []string{`a "b" \n \`}, `"a \"b\" \n \\"`, nil},
		"backslashes in single quotes":        {`'a \n'`, []string{`a \n`}, `'a \n'`, nil},
		"an empty quoted word is a word":      {`"" a`, []string{"", "a"}, `"" a`, nil},
		"an apostrophe is text":               {"don't stop --timeout 5", []string{"don't", "stop"}, "don't stop", values{"timeout": "5"}},
		"two apostrophes quote nothing":       {"don't --timeout 5 what isn't", []string{"don't", "what", "isn't"}, "don't what isn't", values{"timeout": "5"}},
		"an apostrophe at a word's end":       {"users' --timeout 5 agents'", []string{"users'", "agents'"}, "users' agents'", values{"timeout": "5"}},
		"an apostrophe at a word's beginning": {"'tis --timeout 5", []string{"'tis"}, "'tis", values{"timeout": "5"}},
		"an apostrophe inside single quotes":  {"'don't --stop' now", []string{"don't --stop", "now"}, "'don't --stop' now", nil},
		"an unpaired double quote is text":    {`a 5" disk --timeout 5`, []string{"a", `5"`, "disk"}, `a 5" disk`, values{"timeout": "5"}},
		"an unpaired backquote is text":       {"a ` b --timeout 5", []string{"a", "`", "b"}, "a ` b", values{"timeout": "5"}},
		"lines and blanks of text stay":       {"one\n\n  two\t three --timeout 5", []string{"one", "two", "three"}, "one\n\n  two\t three", values{"timeout": "5"}},
		"a line continues after a backslash":  {"fix it \\\n  --timeout 5", []string{"fix", "it"}, "fix it", values{"timeout": "5"}},
		"any script is text":                  {"исправь “это” --timeout 5", []string{"исправь", "“это”"}, "исправь “это”", values{"timeout": "5"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := line.Parse(tt.text, options)
			require.NoError(t, err)
			assert.Equal(t, append([]string{}, tt.words...), got.Words)
			assert.Equal(t, tt.rest, got.Rest)
			if tt.values == nil {
				tt.values = values{}
			}
			assert.Equal(t, tt.values, got.Values)
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text, message, hint string
	}{
		"an unknown option": {"run go test --race",
			"unknown option --race: there are --agent-type, --timeout, --tools, --inherit-context, --transfer-control",
			"if it is part of the text, put it in quotes, or put -- before the text"},
		"an unknown option with a value": {"x --race=1",
			"unknown option --race: there are --agent-type, --timeout, --tools, --inherit-context, --transfer-control",
			"if it is part of the text, put it in quotes, or put -- before the text"},
		"an option given twice": {"--timeout 5 x --timeout=6",
			"option --timeout is given twice", "give it once"},
		"an option given in two spellings": {"--agent-type a --agent_type b",
			"option --agent-type is given twice", "give it once"},
		"an option at the end without value": {"x --timeout",
			"option --timeout has no value", "write --timeout VALUE, or --timeout=VALUE if the value begins with hyphens"},
		"an option with nothing behind its equals": {"x --timeout= 5",
			"option --timeout has no value", "write --timeout VALUE, or --timeout=VALUE if the value begins with hyphens"},
		"an option before another one": {"--timeout --agent-type builder",
			"option --timeout has no value", "write --timeout VALUE, or --timeout=VALUE if the value begins with hyphens"},
		"an option before the end of options": {"--timeout -- 5",
			"option --timeout has no value", "write --timeout VALUE, or --timeout=VALUE if the value begins with hyphens"},
		"a switch that is neither on nor off": {"--inherit-context=some x",
			`option --inherit-context is true or false, not "some"`, "write --inherit-context, or --inherit-context=false"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := line.Parse(tt.text, options)
			var problem *core.Problem
			require.ErrorAs(t, err, &problem)
			assert.ErrorIs(t, err, core.ErrInvalid)
			assert.Equal(t, tt.message, problem.Message)
			assert.Equal(t, tt.hint, problem.Hint)
		})
	}
}

func TestParseWithoutOptions(t *testing.T) {
	t.Parallel()
	_, err := line.Parse("x --timeout 5", nil)
	assert.ErrorContains(t, err, "unknown option --timeout: there are none")
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "fix it --agent-type builder --timeout=5", `run "go test --race" -- --x`, "don't 'do that' `--x`",
		"--inherit-context false \\\n x", `"\" '\ `, "--timeout", "\x80--\xff '\x80'",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := line.Parse(text, options)
		if err != nil {
			if !errors.Is(err, core.ErrInvalid) {
				t.Fatalf("%q: %v is no advice", text, err)
			}
			return
		}
		if _, err := line.Parse("-- "+text, nil); err != nil {
			t.Fatalf("%q: refused though it is text alone: %v", text, err)
		}
		again, err := line.Parse("-- "+got.Rest, options)
		if err != nil || len(again.Words) != len(got.Words) {
			t.Fatalf("%q: the rest %q has words %q (%v), not %q", text, got.Rest, again.Words, err, got.Words)
		}
	})
}
