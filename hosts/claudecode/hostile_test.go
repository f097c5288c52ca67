package claudecode_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/hosts"
	"flame/hosts/claudecode"
)

// secret stands in what lies outside of a project.
const secret = "S3CRET"

// A trap is what a repository may ship in the place of a file.
type trap struct {
	link, target string // OUTSIDE stands for the folder beside the project
	pipe, large  string
}

// traps are those for a file, by name, with what is said of it.
func traps(file string) map[string]trap {
	top, _, _ := strings.Cut(file, "/")
	all := map[string]trap{
		"a link to a file outside":  {link: file, target: "OUTSIDE/" + filepath.Base(file)},
		"a link to what never ends": {link: file, target: "/dev/zero"},
		"a link to nothing outside": {link: file, target: "OUTSIDE/none"},
		"a pipe":                    {pipe: file},
		"a file without measure":    {large: file},
	}
	if top != file {
		all["a folder outside"] = trap{link: top, target: "OUTSIDE"}
		all["the folder above"] = trap{link: top, target: ".."}
	}
	return all
}

// lay puts the trap into a project, and something worth reading beside it.
func (tr trap) lay(t *testing.T, m hosts.Machine) (outside string) {
	t.Helper()
	outside = filepath.Join(filepath.Dir(m.ProjectDir), "outside")
	require.NoError(t, os.MkdirAll(outside, 0o755))
	for _, name := range []string{"settings.json", "settings.local.json", ".mcp.json"} {
		text := strings.ReplaceAll(`{"permissions": {"deny": ["SECRET"]}, "enabledPlugins": {"flame@x": true},
			"mcpServers": {"SECRET": {"command": "flame"}}}`, "SECRET", secret)
		require.NoError(t, os.WriteFile(filepath.Join(outside, name), []byte(text), 0o644))
	}
	for _, name := range []string{tr.link, tr.pipe, tr.large} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(m.ProjectDir, name)), 0o755))
	}
	if tr.link != "" {
		require.NoError(t, os.Symlink(strings.Replace(tr.target, "OUTSIDE", outside, 1), filepath.Join(m.ProjectDir, tr.link)))
	}
	if tr.pipe != "" {
		require.NoError(t, syscall.Mkfifo(filepath.Join(m.ProjectDir, tr.pipe), 0o644))
	}
	if tr.large != "" {
		require.NoError(t, os.WriteFile(filepath.Join(m.ProjectDir, tr.large), []byte(strings.Repeat(" ", 4<<20+1)), 0o644))
	}
	return outside
}

// soon fails the test where f does not come back.
func soon(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		require.FailNow(t, "it hangs")
	}
}

// advises checks that an error tells what to do, and nothing of what lies outside.
func advises(t *testing.T, err error) {
	t.Helper()
	var problem *core.Problem
	if assert.ErrorAs(t, err, &problem) {
		assert.NotEmpty(t, problem.Hint)
		assert.NotContains(t, err.Error()+problem.Hint, secret)
	}
}

// What a project denies may lie where flame does not look and Claude Code does, so no
// agent is started without it.
func TestNoAgentStartsPastDenialsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, file := range []string{".claude/settings.json", ".claude/settings.local.json"} {
		for name, tr := range traps(file) {
			t.Run(file+" is "+name, func(t *testing.T) {
				t.Parallel()
				l := claudecode.Client{Machine: machine(t, &fakeClaude{})}
				tr.lay(t, l.Machine)
				soon(t, func() {
					launch, err := l.Launch(hosts.Child{Mode: hosts.Plan})
					advises(t, err)
					assert.Empty(t, launch)
				})
			})
		}
	}
}

func TestServersOutsideOfTheProjectAreNotRegistrations(t *testing.T) {
	t.Parallel()
	for name, tr := range traps(".mcp.json") {
		t.Run(".mcp.json is "+name, func(t *testing.T) {
			t.Parallel()
			m := machine(t, &fakeClaude{})
			tr.lay(t, m)
			soon(t, func() {
				launch, err := claudecode.Client{Machine: m}.Launch(hosts.Child{Mode: hosts.Plan})
				assert.NoError(t, err, "flame's own server comes with the agent")
				assert.NotContains(t, strings.Join(launch.Command, " "), secret)
				assert.Contains(t, launch.Command, "--mcp-config")
				_, err = claudecode.Client{Machine: m}.Status(t.Context())
				advises(t, err)
			})
		})
	}
}

func TestClaudeCodeWritesToNoProjectThatLeadsOut(t *testing.T) {
	t.Parallel()
	for name, tr := range traps(".claude/settings.json") {
		t.Run("where .claude/settings.json is "+name, func(t *testing.T) {
			t.Parallel()
			claude := &fakeClaude{}
			s := claudecode.Client{Machine: machine(t, claude)}
			install(t, s, hosts.Project)
			claude.ran = nil
			before := len(claude.plugins)
			outside := tr.lay(t, s.Machine)
			soon(t, func() {
				for _, plan := range []func() ([]hosts.Step, error){
					func() ([]hosts.Step, error) { return s.Install(t.Context(), hosts.Project) },
					func() ([]hosts.Step, error) { return s.Remove(t.Context(), hosts.Project) },
				} {
					steps, err := plan()
					advises(t, err)
					assert.Empty(t, steps)
				}
				_, err := s.Install(t.Context(), hosts.User)
				assert.NoError(t, err, "links in the user's own folder are allowed")
			})
			assert.Empty(t, claude.ran)
			assert.Len(t, claude.plugins, before)
			entries, err := os.ReadDir(outside)
			require.NoError(t, err)
			assert.Len(t, entries, 3)
		})
	}
}

// One word holds all denials, so none of a repository's may take in flame's.
func TestADenialCannotAbsorbItsNeighbours(t *testing.T) {
	t.Parallel()
	l := launcher(t)
	l.Machine.Home = t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(l.Machine.ProjectDir, ".claude"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(l.Machine.ProjectDir, ".claude", "settings.json"), []byte(
		`{"permissions": {"deny": ["X(", "-p", "--dangerously-skip-permissions", "WebFetch", "Bash(a(b)", "Read(./.env)", ""]}}`), 0o644))
	launch, err := l.Launch(hosts.Child{Mode: hosts.Plan, Tools: hosts.ToolSet{}.Without("Agent")})
	require.NoError(t, err)
	assert.Equal(t, "Agent,Edit,Write,MultiEdit,NotebookEdit,Bash,WebFetch,Read(./.env)", after(launch.Command, "--disallowedTools"))
}
