// Package newhost shows that a host is one value: it makes one up, registers it beside the real
// ones, and all of flame works with it.
package newhost

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents"
	"flame/agents/definition"
	"flame/agents/plan"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/cli"
	"flame/cli/app"
	"flame/config"
	"flame/core"
	"flame/hosts"
	"flame/local/git"
	"flame/local/place"
	"flame/project"
	"flame/store"
	"flame/tests/hooktest"
	"flame/tests/hoststest"
)

// TestMain lets the test binary also be the host's program, and flame, which supervises agents.
func TestMain(m *testing.M) {
	switch {
	case filepath.Base(os.Args[0]) == yonder:
		beYonder(os.Args[1:])
	case len(os.Args) > 1 && os.Args[1] == "supervise":
		os.Exit(cli.Run(context.Background(), program(os.Stdin, os.Stdout, os.Stderr), os.Args[1:]))
	default:
		os.Exit(m.Run())
	}
}

// registry returns flame's hosts and the new one: the one line.
func registry() hosts.Registry { return append(hoststest.Known(), yonderHost()) }

// program wires flame with these hosts, as main does.
func program(in io.Reader, out, errs io.Writer) *app.App {
	settings, _ := config.Load()
	program, _ := os.Executable()
	return &app.App{
		Program: func() string { return program }, Build: app.Build{Version: "test"},
		Settings: settings, Hosts: registry(), Stdin: in, Stdout: out, Stderr: errs, FirstCommit: git.FirstCommit, Exit: os.Exit,
		Open: func(at place.Place, longLived bool) (*project.Project, func() error) {
			kept := store.Open(at.Data.Path, store.Options{LongLived: longLived, Ready: at.Data.Ready})
			return &project.Project{
				Store: kept, Dir: at.Worktree, NewID: project.NewID, Log: slog.New(slog.DiscardHandler), Budget: core.DefaultBudget(),
				Subagents: core.DefaultSubagentConfig(), Autonomy: core.DefaultAutonomyConfig(), Transcripts: registry().Formats().Read,
				Now: func() core.Millis { return core.MillisOf(time.Now()) },
			}, kept.Close
		},
		Agents: func(p *project.Project, at place.Place) *agents.Agents {
			machine, _ := hosts.ThisMachine(at.Worktree)
			return &agents.Agents{
				Setup: plan.Setup{
					Project: p, Data: at.Data.Path, Dir: at.Worktree, Bounds: plan.DefaultBounds(), Hosts: registry(), Machine: machine,
					Catalog: func(checkout string) definition.Catalog {
						return definition.Load(registry(), definition.Dirs(registry(), machine.InProject(checkout)))
					},
				},
				Root: at.Dir, Program: program, Start: supervise.Start,
			}
		},
	}
}

// user makes a machine with the host, and a project.
func user(t *testing.T) (home, dir string) {
	home = t.TempDir()
	dir = filepath.Join(home, "project")
	bin := filepath.Join(home, "bin")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, ".flame"), 0o755))
	require.NoError(t, os.Mkdir(bin, 0o755))
	program, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(program, filepath.Join(bin, yonder)))
	for name, value := range map[string]string{
		"HOME": home, "PATH": bin + ":/usr/bin:/bin", "FLAME_PROJECT_DIR": dir, "FLAME_DIR": filepath.Join(home, "data"), "XDG_DATA_HOME": "", "XDG_CONFIG_HOME": "",
	} {
		t.Setenv(name, value)
	}
	return home, dir
}

// flame runs a command and returns its output.
func flame(t *testing.T, stdin string, args ...string) string {
	var out, errs bytes.Buffer
	require.Zero(t, cli.Run(t.Context(), program(strings.NewReader(stdin), &out, &errs), args), "%v: %s", args, &errs)
	return out.String()
}

func TestAHostIsOneValue(t *testing.T) {
	home, dir := user(t)

	assert.Contains(t, flame(t, "", "setup", yonder), "write "+filepath.Join(home, ".yonder"))
	set, err := os.ReadFile(filepath.Join(home, ".yonder"))
	require.NoError(t, err)
	assert.Contains(t, string(set), "flame hook yonder")
	assert.Contains(t, flame(t, "", "setup", yonder), "already set up")

	assert.Equal(t, "noted", flame(t, `{"talk": "talk-1", "asked": "Look over there", "n": "1"}`, "hook", yonder))
	assert.Contains(t, flame(t, "", "tree"), "Look over there")

	t.Setenv("YONDER_TALK", "talk-1")
	assert.Contains(t, flame(t, "", "status"), "Look over there", "the host tells the session")

	run := spawn(t)
	assert.Equal(t, yonder, run.Host, "an agent runs where the one lives who asks for it")
	assert.Equal(t, core.AgentCompleted, run.State)
	log := filepath.Join(home, "talk.jsonl")
	printed, err := filepath.Glob(filepath.Join(home, "data", "*", "agents", run.ID, supervise.OutputFile))
	require.NoError(t, err)
	require.Len(t, printed, 1)
	said, err := os.ReadFile(printed[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(log, said, 0o600))
	assert.Contains(t, string(said), `"tools":"peek"`, "a reader has the host's tools by the host's names")
	assert.Contains(t, flame(t, "", "agents", "graph", log), run.Session)

	flame(t, "", "setup", yonder, "--remove")
	assert.NoFileExists(t, filepath.Join(home, ".yonder"))
	assert.DirExists(t, dir)
}

// Its events are tested as those of all hosts are, by what they look like.
func TestHook(t *testing.T) { hooktest.Run(t, yonderHost(), "testdata") }

// spawn has an agent work for the session, under a real supervisor, until its end.
func spawn(t *testing.T) record.Agent {
	at, err := place.AtDir(os.Getenv("FLAME_PROJECT_DIR"), "/", os.Getenv("HOME"), nil)
	require.NoError(t, err)
	at.Data = place.FolderOf(at, place.Env{FlameDir: os.Getenv("FLAME_DIR"), Home: os.Getenv("HOME")}, git.FirstCommit)
	a := program(nil, nil, nil)
	p, closeProject := a.Open(at, true)
	defer func() { assert.NoError(t, closeProject()) }()
	service := a.Agents(p, at)
	by := project.Caller{Session: "talk-1", Host: yonder, Trust: project.TrustHook}
	run, err := service.Spawn(t.Context(), by, plan.Request{Type: "analyzer", Prompt: "Look"})
	require.NoError(t, err)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	run, err = service.Wait(ctx, run.ID, func(record.Agent) {})
	require.NoError(t, err)
	result, err := service.Result(t.Context(), run.ID)
	require.NoError(t, err)
	assert.Equal(t, "it is all there", result.Text)
	return run
}
