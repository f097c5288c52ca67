package cli

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents"
	"flame/cli/app"
	"flame/core"
	"flame/core/op"
	"flame/flame-hub/command"
	"flame/local/place"
	"flame/project"
	"flame/render"
	"flame/tests/hoststest"
	"flame/tools"
)

// A said is what a command line gave.
type said struct {
	code        int
	out, errors string
}

// unread is a store that only says why it does not answer.
type unread struct{ project.Store }

func (unread) View(ctx context.Context, _ func(project.Tx) error) error   { return ctx.Err() }
func (unread) Update(ctx context.Context, _ func(project.Tx) error) error { return ctx.Err() }
func (unread) Run(ctx context.Context, _ func(project.Tx) error) error    { return ctx.Err() }

// run runs a command line that has no business with any store.
func run(t *testing.T, ctx context.Context, args ...string) said {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app.App{
		Build: app.Build{Version: "1.2.3"}, Hosts: hoststest.Known(), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
		Open: func(place.Place, bool) (*project.Project, func() error) {
			if ctx.Err() == nil {
				t.Errorf("%v opened the store", args)
			}
			return &project.Project{Store: unread{}, Log: slog.New(slog.DiscardHandler), Now: func() core.Millis { return 1 }}, func() error { return nil }
		},
		Check: func(context.Context, place.Place) []core.Finding { return nil },
		Exit:  func(int) {}, StartHub: func([]string) error { return core.Unavailablef(nil, "flame-hub is not installed") },
	}
	code := Run(ctx, a, args)
	return said{code, out.String(), errs.String()}
}

func TestFlameEndsACommandThatIgnoresASignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		exited := make(chan int, 1)
		reader, stdout := io.Pipe()
		a := &app.App{Hosts: hoststest.Known(), Stdin: strings.NewReader(""), Stdout: stdout, Stderr: io.Discard, Exit: func(code int) { exited <- code }}
		ctx, stop := context.WithCancel(t.Context())
		go Run(ctx, a, []string{"config"})
		time.Sleep(time.Hour)
		assert.Empty(t, exited, "without a signal it may block")
		signalled := time.Now()
		stop()
		assert.Equal(t, exitError, <-exited)
		assert.Equal(t, endTime, time.Since(signalled))
		require.NoError(t, reader.Close())
	})
}

// all returns every command, help included.
func all() []*cobra.Command {
	root := All(hoststest.Known(), hubStarters())
	root.InitDefaultHelpCmd()
	return append(root.Commands(), root)
}

func TestEveryCommandExplainsItselfWithAnExample(t *testing.T) {
	for _, cmd := range all() {
		t.Run(cmd.Name(), func(t *testing.T) {
			assert.Regexp(t, `^[A-Z].*[^.]$`, cmd.Short)
			assert.Regexp(t, `(?m)^  .*\bflame\b`, cmd.Example)
			assert.NotNil(t, cmd.Args, "nothing checks its arguments")
			name := strings.TrimPrefix(cmd.CommandPath(), "flame")
			lines := [][]string{append([]string{"help"}, strings.Fields(name)...)}
			if !cmd.DisableFlagParsing { // else --help is for a host's program
				lines = append(lines, append(strings.Fields(name), "--help"))
			}
			for _, line := range lines {
				got := run(t, t.Context(), line...)
				assert.Equal(t, exitOK, got.code)
				assert.Empty(t, got.errors)
				assert.Contains(t, got.out, cmd.Example)
			}
		})
	}
}

func TestCommandsThatNeedNoStoreDoNotOpenIt(t *testing.T) {
	for _, line := range []string{
		"--version", "help", "help tree", "config", "config --json", "completion bash", "__complete pu", "__complete call flame_p", "nonsense",
		"tree --nonsense", "show",
	} {
		t.Run(line, func(t *testing.T) {
			run(t, t.Context(), strings.Fields(line)...)
		})
	}
}

func TestAnInterruptedCommandSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Equal(t, said{exitError, "", "flame: interrupted\n"}, run(t, ctx, "tree"))
}

func TestHintsNameExistingCommands(t *testing.T) {
	root := All(hoststest.Known(), command.All())
	for _, tool := range tools.All(&project.Project{}, &agents.Agents{}) {
		words := render.ToCommands("use " + op.Name(tool.Name).String())
		named := regexp.MustCompile("^use `flame (.+)`$").FindStringSubmatch(words)
		if named == nil {
			assert.Equal(t, "use "+tool.Name, words, "is neither a command nor whole")
			continue
		}
		cmd, rest, err := root.Find(strings.Fields(named[1]))
		require.NoError(t, err)
		assert.Empty(t, rest)
		assert.NotEqual(t, root, cmd)
	}
}

func TestOnlyMisspellingsGetASuggestion(t *testing.T) {
	for _, word := range strings.Fields("rm mv ui open own one on2 top gone cp cat undo init add new start stop run up down edit delete remove kill " +
		"clean save load use go no ok in an a p o complete finish end begin info get set put all") {
		assert.NotContains(t, run(t, t.Context(), word).errors, "did you mean", "of %q nobody knows what is meant", word)
	}
	for word, meant := range map[string]string{
		"tre": "tree", "pus": "push", "popp": "pop", "offf": "off", "agent": "agents", "invalid": "invalidate", "sesions": "sessions", "verison": "version",
	} {
		assert.Contains(t, run(t, t.Context(), word).errors, "did you mean "+meant+"?")
	}
}

// TestWhatIsGoneSaysWhatTookItsPlace is also about a command below one that does something by itself.
func TestWhatIsGoneSaysWhatTookItsPlace(t *testing.T) {
	for line, instead := range map[string]string{
		"agents list": "flame agents show", "agents grants": "flame agents grant", "agents revoke": "flame agents grant --revoke",
		"agents prune": "flame prune --agents", "agents shared": "flame agents result",
		"doctor --repair": "flame export", "setup --statusline": "flame status --line", "agents spawn builder x --uncommitted": "commit what",
		"report --format speedscope": "html|md", "demo": "flame setup",
	} {
		said := run(t, t.Context(), strings.Fields(line)...)
		assert.Equal(t, exitUsage, said.code, line)
		assert.Contains(t, said.errors, instead, line)
	}
}

// TestFlameHubHasItsCommandsAlone is also about what flame says without it.
func TestFlameHubHasItsCommandsAlone(t *testing.T) {
	hub := func(args ...string) said {
		var out, errs bytes.Buffer
		a := &app.App{Build: app.Build{Version: "1.2.3"}, Hosts: hoststest.Known(), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Exit: func(int) {}}
		code := RunHub(t.Context(), a, args, command.All())
		return said{code, out.String(), errs.String()}
	}
	for _, line := range []string{"", "help", "--help"} {
		assert.Regexp(t, `(?s)Several machines:\n  hub .*  worker `, hub(strings.Fields(line)...).out)
	}
	assert.Contains(t, hub("--version").out, "1.2.3")
	assert.Contains(t, hub("help", "hub", "invite").out, "--expires")
	assert.Contains(t, hub("__complete", "hub", "mach").out, "machines")
	assert.Equal(t, exitUsage, hub("tree").code)
	removed := hub("hub", "remove")
	assert.Equal(t, exitUsage, removed.code)
	assert.Contains(t, removed.errors, "flame hub machines --remove")

	assert.Equal(t, said{exitError, "", "flame: flame-hub is not installed\n"}, run(t, t.Context(), "help", "hub", "invite"))
	assert.Equal(t, said{exitError, "", "flame: flame-hub is not installed\n"}, run(t, t.Context(), "hub", "--listen", "x"))
}

// TestEveryFlagForATimeTakesTheSameForms is about flags of one name that took seconds in
// one place and durations in another.
func TestEveryFlagForATimeTakesTheSameForms(t *testing.T) {
	for _, line := range [][]string{
		{"agents", "spawn", "builder", "x", "--timeout"}, {"agents", "wait", "agent-1", "--timeout"}, {"agents", "handoff", "agent-1", "--timeout"},
		{"prune", "--older-than"}, {"agents", "grant", "plan", "--for"},
	} {
		got := run(t, t.Context(), append(line, "abc")...)
		assert.Equal(t, exitUsage, got.code)
		assert.Contains(t, got.errors, "flame: "+line[len(line)-1]+` takes seconds or a duration such as 90s, 5m or 2d, not "abc"`)
	}
}

func TestEventsCanBeFilteredByEveryKind(t *testing.T) {
	source, err := os.ReadFile("../core/event.go")
	require.NoError(t, err)
	var kinds []string
	for _, found := range regexp.MustCompile(`(?m)^\t[A-Z]\w+ += "([A-Z]\w+)"`).FindAllStringSubmatch(string(source), -1) {
		kinds = append(kinds, found[1])
	}
	assert.Greater(t, len(kinds), 30)
	assert.Equal(t, kinds, core.EventKinds)
	assert.NoError(t, knownKinds(kinds))
}

func TestAHookMakesNoOtherCommand(t *testing.T) {
	hook := root(&app.App{Hosts: hoststest.Known()}, groupsFor(groups(hoststest.Known(), hubStarters()), []string{"hook", "opencode"}))
	require.Len(t, hook.Commands(), 1, "each takes time that a host waits for")
	assert.Equal(t, run(t, t.Context(), "help", "hook").out, run(t, t.Context(), "hook", "--help").out)
}

func TestEachCommandIsListedByItsName(t *testing.T) {
	for _, group := range append(groups(hoststest.Known(), hubStarters()), group{commands: command.All()}) {
		for _, e := range group.commands {
			assert.Equal(t, e.Name, e.Make(&app.App{Hosts: hoststest.Known()}).Name())
		}
	}
}
