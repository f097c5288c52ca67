package definition_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/definition"
	"flame/core"
	"flame/hosts"
	"flame/tests/cases"
	"flame/tests/effort"
	"flame/tests/hoststest"
	"flame/tests/repository"
)

// agent makes a file with a prompt of its own; a name of its own if there is one.
func agent(name, prompt string) string {
	if name != "" {
		name = "name: " + name + "\n"
	}
	return "---\n" + name + "description: d\n---\n" + prompt + "\n"
}

// dirs returns the folders to look in on a machine.
func dirs(home, project string, getenv func(string) string) []definition.Dir {
	return definition.Dirs(hoststest.Known(), hosts.Machine{Home: home, ProjectDir: project, Getenv: getenv})
}

// nobody is an environment without variables.
func nobody(string) string { return "" }

// loaded returns the definitions of one folder of a user's and what is wrong there.
func loaded(root string, nested bool) (names []string, findings []string, catalog definition.Catalog) {
	catalog = definition.Load(hoststest.Known(), []definition.Dir{{Path: root, Kind: definition.User, Nested: nested}})
	for _, def := range catalog.Available() {
		if def.Source.Kind != definition.Builtin {
			names = append(names, def.Name)
		}
	}
	for _, finding := range catalog.Issues {
		findings = append(findings, strings.ReplaceAll(finding.String(), root, "DIR"))
	}
	return names, findings, catalog
}

func TestFoldersHaveTheirPrecedence(t *testing.T) {
	paths := func(dirs []definition.Dir) (lines []string) {
		for _, dir := range dirs {
			line := dir.Kind + " " + dir.Path
			if dir.Nested {
				line += "/**"
			}
			lines = append(lines, line)
		}
		return lines
	}
	project := []string{
		"project /p/.claude/agents/**", "project /p/.wave/agents", "project /p/.opencode/agent/**", "project /p/.opencode/agents/**", "project /p/.flame/agents",
	}
	assert.Equal(t, append([]string{
		"user /h/.claude/agents/**", "user /h/.wave/agents",
		"user /h/.config/opencode/agent/**", "user /h/.config/opencode/agents/**", "user /h/.config/flame/agents",
	}, project...), paths(dirs("/h", "/p", nobody)))
	assert.Equal(t, append([]string{
		"user /c/agents/**", "user /h/.wave/agents",
		"user /x/opencode/agent/**", "user /x/opencode/agents/**", "user /o/agent/**", "user /o/agents/**", "user /x/flame/agents",
	}, project...), paths(dirs("/h", "/p", func(name string) string {
		return map[string]string{"CLAUDE_CONFIG_DIR": "/c", "OPENCODE_CONFIG_DIR": "/o", "XDG_CONFIG_HOME": "/x"}[name]
	})))
	assert.Equal(t, project, paths(dirs("", "/p", nobody)), "without a home folder")
	assert.Equal(t, []string{
		"user /h/.config/opencode/agent/**", "user /h/.config/opencode/agents/**", "user /h/.config/flame/agents",
		"user /h/.claude/agents/**", "user /h/.wave/agents", "user /h/.opencode/agent/**", "user /h/.opencode/agents/**", "user /h/.flame/agents",
	}, paths(dirs("/h", "/h", nobody)), "a folder counts once, and what lies in the home folder is the user's")
}

func TestALaterFolderReplacesTheWholeDefinition(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	repository.Write(t, home, map[string]string{
		".claude/agents/helper.md":           front("name: helper", "description: d", "tools: Read"),
		".config/opencode/agent/helper.md":   agent("", "OpenCode's"),
		".config/flame/agents/only-here.md":  agent("", "flame's"),
		".config/opencode/agent/sub/deep.md": agent("", "nested"),
		".wave/agents/sub/deep.md":           agent("", "not read"),
	})
	repository.Write(t, project, map[string]string{
		".flame/agents/helper.md":   agent("helper", "the project's"),
		".claude/agents/builder.md": agent("builder", "our own builder"),
	})
	catalog := definition.Load(hoststest.Known(), dirs(home, project, nobody))
	assert.Empty(t, catalog.Issues)

	helper, err := catalog.Find("helper")
	require.NoError(t, err)
	assert.Equal(t, "the project's", helper.Prompt)
	assert.Nil(t, helper.Tools, "a definition inherits nothing from the definition that it replaces")
	assert.Equal(t, definition.Source{Kind: definition.Project, File: filepath.Join(project, ".flame/agents/helper.md")}, helper.Source)

	builder, err := catalog.Find("builder")
	require.NoError(t, err)
	assert.Equal(t, "our own builder", builder.Prompt)

	var all, available []string
	for _, def := range catalog.Definitions {
		name := def.Name + " " + def.Source.Kind
		if def.ShadowedBy != "" {
			name += " under " + strings.NewReplacer(home, "~", project, ".").Replace(def.ShadowedBy)
		}
		all = append(all, name)
	}
	for _, def := range catalog.Available() {
		available = append(available, def.Name)
	}
	assert.Equal(t, []string{
		"analyzer builtin", "builder project", "builder builtin under ./.claude/agents/builder.md",
		"helper project", "helper user under ./.flame/agents/helper.md", "helper user under ./.flame/agents/helper.md",
		"only-here user", "retriever builtin", "sub/deep user", "tester builtin",
	}, all)
	assert.Equal(t, []string{"analyzer", "builder", "helper", "only-here", "retriever", "sub/deep", "tester"}, available)
}

func TestABadFileBlocksNoOtherFile(t *testing.T) {
	root := t.TempDir()
	repository.Write(t, root, map[string]string{
		"a.md":      agent("", "good"),
		"b.md":      "---\nname: b\ndescription: d\ntools: {\n---\nbad",
		"c.md":      strings.Repeat("x", 1<<20+1),
		"d.md":      "",
		"e.md":      front("description: d", "tools: 7", "name: other"),
		"f.md":      agent("", "good"),
		"g.txt":     "not looked at",
		".#h.md":    "an editor's lock",
		"README.md": "# Our agents",
	})
	require.NoError(t, os.Symlink("nowhere.md", filepath.Join(root, "i.md")))
	require.NoError(t, os.Symlink("j.md", filepath.Join(root, "j.md")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(root, "k.md"), 0o644))
	require.NoError(t, os.Symlink("a.md", filepath.Join(root, "link.md")))

	names, findings, catalog := loaded(root, false)
	assert.Equal(t, []string{"a", "f", "link"}, names)
	assert.Equal(t, []string{
		"DIR/README.md:1: no front matter: the first line must be ---",
		"DIR/b.md:5: not valid YAML: did not find expected node content",
		"DIR/c.md: is larger than 1024 KB",
		"DIR/d.md: the file is empty",
		"DIR/e.md:3: tools: must be a list of tool names",
		"DIR/i.md: cannot be read: no such file or directory",
		"DIR/j.md: cannot be read: too many levels of symbolic links",
		"DIR/k.md: is not a regular file",
	}, findings)
	for _, finding := range catalog.Issues {
		assert.True(t, finding.Fatal, finding)
	}
	_, err := catalog.Find("other")
	assert.ErrorIs(t, err, core.ErrInvalid, "a broken file counts for the name in it")
}

// A narrow definition that breaks must not be replaced by a wide one that it was
// to shadow.
func TestABrokenDefinitionIsNotReplacedByTheOneItShadows(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	repository.Write(t, home, map[string]string{".claude/agents/helper.md": agent("", "wide")})
	repository.Write(t, project, map[string]string{".claude/agents/helper.md": front("description: d", "tools:")})
	catalog := definition.Load(hoststest.Known(), dirs(home, project, nobody))
	_, err := catalog.Find("helper")
	says := "/.claude/agents/helper.md:3: tools: has no value; write [] for none, or leave the key out"
	assert.Contains(t, cases.Advice(t, err), `the definition of agent "helper" is broken: `+project+says)

	repository.Write(t, project, map[string]string{".flame/agents/helper.md": agent("", "higher still")})
	def, err := definition.Load(hoststest.Known(), dirs(home, project, nobody)).Find("helper")
	require.NoError(t, err, "the broken definition is shadowed")
	assert.Equal(t, "higher still", def.Prompt)
}

func TestADisabledDefinitionSwitchesOffItsName(t *testing.T) {
	root := t.TempDir()
	repository.Write(t, root, map[string]string{"builder.md": "---\ndisable: true\n---\n"})
	names, findings, catalog := loaded(root, true)
	assert.Empty(t, names)
	assert.Empty(t, findings)
	_, err := catalog.Find("builder")
	assert.EqualError(t, err, `agent "builder" is disabled by `+root+`/builder.md`)
}

func TestOneNameTwiceInAFolderIsAFinding(t *testing.T) {
	root := t.TempDir()
	repository.Write(t, root, map[string]string{"a.md": agent("same", "first"), "b.md": agent("same", "second")})
	_, findings, catalog := loaded(root, false)
	assert.Equal(t, []string{"DIR/b.md: replaces DIR/a.md, which has the same name"}, findings)
	def, err := catalog.Find("same")
	require.NoError(t, err)
	assert.Equal(t, "second", def.Prompt)
}

func TestNestedFoldersMayNotLoop(t *testing.T) {
	root, other := t.TempDir(), t.TempDir()
	repository.Write(t, root, map[string]string{"a.md": agent("", "a"), "team/b.md": agent("", "b"), "team/named.md": agent("own-name", "c")})
	repository.Write(t, other, map[string]string{"far.md": agent("", "far")})
	require.NoError(t, os.Symlink(root, filepath.Join(root, "team", "up")))
	require.NoError(t, os.Symlink(other, filepath.Join(root, "linked")))
	names, findings, _ := loaded(root, true)
	assert.Equal(t, []string{"a", "linked/far", "own-name", "team/b"}, names)
	assert.Equal(t, []string{"DIR/team/up: leads back to a folder that was already read"}, findings)
}

func TestAFolderThatCannotBeReadIsAFinding(t *testing.T) {
	root := t.TempDir()
	repository.Write(t, root, map[string]string{"file": "x"})
	require.NoError(t, os.Symlink("loop", filepath.Join(root, "loop")))
	catalog := definition.Load(hoststest.Known(), []definition.Dir{
		{Path: filepath.Join(root, "missing"), Kind: definition.User},
		{Path: filepath.Join(root, "file"), Kind: definition.User},
		{Path: filepath.Join(root, "file", "agents"), Kind: definition.User},
		{Path: filepath.Join(root, "loop"), Kind: definition.Project},
	})
	var findings []string
	for _, finding := range catalog.Issues {
		findings = append(findings, strings.ReplaceAll(finding.String(), root, "DIR"))
	}
	assert.Equal(t, []string{
		"DIR/file: cannot be read: not a directory", "DIR/file/agents: cannot be read: not a directory",
		"DIR/loop: cannot be read: too many levels of symbolic links",
	}, findings)
	assert.Len(t, catalog.Available(), 4, "the built-in definitions are there")
}

func TestAFolderOfThousandsIsNotReadToItsEnd(t *testing.T) {
	effort.Heavy(t)
	root := t.TempDir()
	files := map[string]string{}
	for i := range 5001 {
		files[fmt.Sprintf("d%d/n%04d.txt", i%3, i)] = ""
	}
	repository.Write(t, root, files)
	_, findings, _ := loaded(root, true)
	assert.Equal(t, []string{"DIR: holds more than 5000 files; the rest was not read"}, findings)
}

func TestOnlyTheExactNameFindsAnAgent(t *testing.T) {
	root := t.TempDir()
	repository.Write(t, root, map[string]string{
		"reviewer.md": agent("", "r"), "helper.md": agent("tools:helper", "h"),
		"secret.md": front("description: d", "hidden: true"),
	})
	_, _, catalog := loaded(root, false)
	const available = "available agents: analyzer, builder, retriever, reviewer, tester, tools:helper; searched: "
	tests := map[string]struct{ name, hint string }{
		"another case":       {"Reviewer", `did you mean "reviewer"? Names must match exactly`},
		"a letter missing":   {"buidler", `did you mean "builder"? Names must match exactly`},
		"without the plugin": {"helper", "use one of the available agents, or write NAME.md into one of these folders"},
		"something else":     {"zzz", "use one of the available agents, or write NAME.md into one of these folders"},
		"nothing":            {"", "use one of the available agents, or write NAME.md into one of these folders"},
		"a beginning":        {"review", `did you mean "reviewer"? Names must match exactly`},
		"a long text":        {strings.Repeat("reviewer ", 10_000), "use one of the available agents, or write NAME.md into one of these folders"},
	}
	for name, tt := range tests {
		_, err := catalog.Find(tt.name)
		want := core.NotFoundf("no agent found matching %q; ", tt.name).Message + available + root + " " + tt.hint
		assert.Equal(t, want, cases.Advice(t, err, core.ErrNotFound), name)
	}
	_, err := catalog.Find("tools:helper")
	require.NoError(t, err)
	_, err = catalog.Find("secret")
	require.NoError(t, err, "hidden definitions are available")
	_, err = definition.Catalog{}.Find("x")
	assert.EqualError(t, err, `no agent found matching "x"; available agents: none; searched: no folder`)
}
