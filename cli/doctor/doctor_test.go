package doctor

import (
	"context"
	"errors"
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
	"flame/cli/app"
	"flame/core"
	"flame/hosts"
	"flame/local/place"
	"flame/project"
	"flame/render"
	"flame/store"
	"flame/tests/hoststest"
	"flame/tests/projecttest"
)

// quiet is a host whose agents never start.
type quiet struct{ hosts.Setup }

func (quiet) Launch(hosts.LaunchSpec) (hosts.Launch, error) {
	return hosts.Launch{Command: []string{"true"}}, nil
}

func TestTheDoctorReportsGrantsThatWereMadeWhileAgentsRan(t *testing.T) {
	dir, data := t.TempDir(), t.TempDir()
	p := &project.Project{
		Store: store.Open(data, store.Options{}), Dir: dir, NewID: project.NewID, Log: slog.New(slog.DiscardHandler),
		Budget: core.DefaultBudget(), Subagents: core.DefaultSubagentConfig(), Autonomy: core.DefaultAutonomyConfig(),
		Now: func() core.Millis { return core.MillisOf(time.Now()) },
	}
	s := &agents.Agents{
		Setup: plan.Setup{
			Project: p, Data: data, Dir: dir, Hosts: hoststest.Reached(map[string]hosts.Client{"claude-code": quiet{}}),
			Machine: hoststest.With("claude"), Bounds: plan.DefaultBounds(),
			Catalog: func(string) definition.Catalog { return definition.Load(hoststest.Known(), nil) },
		},
		Program: "flame",
		Start:   func(context.Context, supervise.StartSpec) (supervise.Process, error) { return supervise.Process{}, nil },
	}
	grants := func() []core.Finding {
		c := &checkup{app: &app.App{Agents: func(*project.Project, place.Place) *agents.Agents { return s }}}
		c.grants(t.Context(), p)
		return c.found
	}
	grant := func(g plan.Grant) plan.Grant {
		g.Reason = "r"
		made, err := s.Grant(t.Context(), g)
		require.NoError(t, err)
		return made
	}
	assert.Empty(t, grants())
	grant(plan.Grant{Mode: hosts.ModeBypass})
	run, err := s.Spawn(t.Context(), project.Caller{Session: "s", Host: "claude-code"}, plan.Request{Type: "builder", Prompt: "work"})
	require.NoError(t, err)
	assert.Empty(t, grants(), "it was made before")
	grant(plan.Grant{Mode: hosts.ModeBypass, ExpiresAt: 1})
	made := grant(plan.Grant{Mode: hosts.ModeBypass, Agent: "builder"})
	findings := grants()
	require.Len(t, findings, 1, "one that is over lets nobody do anything")
	at := render.Time(made.MadeAt, core.MillisOf(time.Now()))
	assert.Equal(t, "note   agents: "+made.ID+", which lets agents of type builder work in the mode bypassPermissions, was made at "+at+
		" while "+run.ID+" ran\n       -> if you did not make it: `flame agents grant --revoke "+made.ID+"`\n", render.Findings(findings[:1], false))
	require.NoError(t, s.Revoke(t.Context(), made.ID))
	assert.Empty(t, grants())
}

func TestTheDoctorNamesAgentsThatNobodyWatches(t *testing.T) {
	f := projecttest.New(t)
	now := f.Project.Now()
	far := supervise.Process{PID: 1, Started: "1/" + strings.Split(supervise.Self().Started, "/")[1] + "/another container"}
	require.NoError(t, f.Store.Update(t.Context(), func(tx project.Tx) error {
		return errors.Join(
			record.ActiveAgents.Save(tx, "agent-lost", record.ActiveAgent{}),
			record.ActiveAgents.Save(tx, "agent-far", record.ActiveAgent{Supervisor: far, Seen: now - 5*60_000}),
			record.ActiveAgents.Save(tx, "agent-new", record.ActiveAgent{Starter: supervise.Self(), Since: now}),
		)
	}))
	c := &checkup{}
	c.lost(t.Context(), f.Project)
	assert.Equal(t, "todo   agent-lost: the process that watches it is gone, or gives no sign of life\n       -> `flame agents` ends what is left of it\n",
		render.Findings(c.found, false))
}

func TestTheDoctorListsSomeOfManyFindings(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, ".claude", "agents")
	require.NoError(t, os.MkdirAll(folder, 0o755))
	for i := range 13 {
		require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(folder, string(rune('a'+i))+".md")))
	}
	machine := hosts.Machine{Home: t.TempDir(), ProjectDir: dir, Getenv: func(string) string { return "" }}
	c := &checkup{}
	c.definitions(definition.Load(hoststest.Known(), definition.Dirs(hoststest.Known(), machine)))
	var theirs []core.Finding
	for _, f := range c.found {
		assert.False(t, f.Broken)
		if assert.NotEmpty(t, f.Hint) {
			theirs = append(theirs, f)
		}
	}
	require.GreaterOrEqual(t, len(theirs), 11)
	assert.Regexp(t, `^agents: \d+ more findings$`, theirs[len(theirs)-1].What)
}

func TestTheDoctorChecksTheStream(t *testing.T) {
	const answers = "while read -r line; do n=${line#*:}; printf '{\"n\":%d}\\n' \"${n%%,*}\"; done"
	tests := map[string]struct{ script, broken string }{
		"that answers each event":     {script: answers},
		"that answers in the end":     {`read -r a; read -r b; printf '{"n":1}\n{"n":2}\n'`, "its answer is"},
		"that answers another event":  {`read -r a; printf '{"n":2}\n'; cat > /dev/null`, `its answer is "{\"n\":2}" instead of {"n":1}`},
		"that puts events by":         {`read -r a; printf '{"n":1,"late":true}\n'; cat > /dev/null`, "late"},
		"that ends after the first":   {`read -r a; printf '{"n":1}\n'`, "hook opencode --stream, does not work"},
		"that fails when it is ended": {answers + "; exit 3", "exit status 3"},
		"that is missing":             {"", "no such file"},
	}
	dir := t.TempDir()
	for name, tt := range tests {
		program := filepath.Join(dir, name)
		if tt.script != "" {
			script := "#!/bin/sh\n[ \"$*\" = 'hook opencode --stream' ] || exit 9\n" + tt.script + "\n"
			require.NoError(t, os.WriteFile(program, []byte(script), 0o755))
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel() // no script is still open for writing when one starts
			limit := time.Minute
			if name == "that answers in the end" {
				limit = 3 * time.Second
			}
			ctx, stop := context.WithTimeout(t.Context(), limit)
			defer stop()
			c := &checkup{}
			c.tryStream(ctx, hosts.Host{Name: "opencode", Title: "OpenCode"}, program)
			found := c.found[0]
			assert.Equal(t, tt.broken != "", found.Broken, found.What)
			assert.Contains(t, found.What, tt.broken)
			assert.Contains(t, found.What, "hook opencode --stream")
		})
	}
}
