package record_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/definition"
	"flame/agents/record"
	"flame/hosts"
)

// good is work that any worker takes.
func good() record.Task {
	run := record.Agent{
		ID: "agent-k3x9a1b2", Frame: "frame-1", Host: "claude-code", Description: "Look", Mode: record.ModeChoice{Effective: hosts.ModeAcceptEdits},
	}
	def := definition.Definition{
		Name: "builder", Prompt: "Build.", Source: definition.Source{Kind: definition.User, File: "/home/me/.claude/agents/builder.md"},
		HostKeys: map[string]json.RawMessage{"hooks": json.RawMessage(`{}`)},
	}
	return record.WorkOf(run, record.Assignment{Task: "Look at it"}, def)
}

func TestWorkHasNoPathsAndCommands(t *testing.T) {
	text, err := json.Marshal(good())
	require.NoError(t, err)
	assert.NotContains(t, string(text), "/home/me")
	assert.NotContains(t, string(text), "hooks")
	w, err := record.ReadWork(text)
	require.NoError(t, err)
	assert.Equal(t, good(), w)
}

func TestInvalidWorkIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*record.Task)
		says   string
	}{
		"an id with a path":        {func(w *record.Task) { w.ID = "agent-../../x" }, "its id is not the id of an agent"},
		"no task":                  {func(w *record.Task) { w.Task = " \n" }, "no task"},
		"a long task":              {func(w *record.Task) { w.Task = strings.Repeat("x", 500_000) }, "too long"},
		"an option for a model":    {func(w *record.Task) { w.Model = "--dangerously" }, "no model"},
		"no mode":                  {func(w *record.Task) { w.Mode.Effective = "root" }, "no permission mode"},
		"a tool that is an option": {func(w *record.Task) { w.Tools.Allowed = []string{"--allow"} }, "tools"},
		"a negative limit":         {func(w *record.Task) { w.Limits.Wall = -1 }, "negative"},
		"a newer version":          {func(w *record.Task) { w.V = record.TaskVersion + 1 }, "newer version of flame"},
		"a long name":              {func(w *record.Task) { w.Definition.Name = strings.Repeat("n", 300) }, "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			w := good()
			c.change(&w)
			text, err := json.Marshal(w)
			require.NoError(t, err)
			_, err = record.ReadWork(text)
			assert.ErrorContains(t, err, c.says)
		})
	}
}

func TestInvalidReportsAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":            `{"progress":`,
		"negative usage":     `{"progress":{"usage":{"tokensIn":-5}}}`,
		"an impossible cost": `{"progress":{"usage":{"costUSD":1e300}}}`,
		"no end":             `{"outcome":{"state":"active"}}`,
	} {
		_, err := record.ReadReport([]byte(text))
		assert.Error(t, err, name)
	}
	r, err := record.ReadReport([]byte(`{"progress":{"text":"half"},"machine":"evil"}`))
	require.NoError(t, err)
	assert.Equal(t, "half", r.Progress.Text)
	assert.Empty(t, r.Machine, "the machine comes from the hub, not from the report")
}

func TestAWorkerNarrowsAModeAndNeverWidensIt(t *testing.T) {
	for _, c := range []struct{ asked, most, want hosts.Mode }{
		{hosts.ModePlan, hosts.ModeAcceptEdits, hosts.ModePlan},
		{hosts.ModeAcceptEdits, hosts.ModePlan, hosts.ModePlan},
		{hosts.ModeBypass, hosts.ModeAcceptEdits, hosts.ModeAcceptEdits},
		{hosts.ModeDefault, hosts.ModeDefault, hosts.ModeDefault},
	} {
		got := record.CapMode(record.ModeChoice{Effective: c.asked, Grant: "grant-1"}, c.most)
		assert.Equal(t, c.want, got.Effective)
		assert.Empty(t, got.Grant, "a grant on one machine does not hold on another")
	}
}

// FuzzRead checks that nothing that anybody sends makes reading fail otherwise than by an error.
func FuzzRead(f *testing.F) {
	text, err := json.Marshal(good())
	require.NoError(f, err)
	f.Add(text)
	f.Add([]byte(`{"v":1,"base":{}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		w, err := record.ReadWork(text)
		if err == nil {
			assert.True(t, record.ValidID(w.ID))
			assert.Empty(t, w.Definition.HostKeys)
		}
		_, _ = record.ReadReport(text) // it does not panic
	})
}
