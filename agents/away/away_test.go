package away_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/away"
	"flame/agents/definition"
	"flame/agents/permission"
	"flame/agents/record"
	"flame/hosts"
)

// good is work that any worker takes.
func good() away.Work {
	run := record.Run{
		ID: "agent-k3x9a1b2", Frame: "frame-1", Host: "claude-code", Description: "Look", Mode: permission.Choice{Effective: hosts.AcceptEdits},
	}
	def := definition.Definition{
		Name: "builder", Prompt: "Build.", Source: definition.Source{Kind: definition.User, File: "/home/me/.claude/agents/builder.md"},
		HostKeys: map[string]json.RawMessage{"hooks": json.RawMessage(`{}`)},
	}
	return away.Of(run, record.Assignment{Task: "Look at it"}, def)
}

func TestWorkTravelsWithoutPathsAndWithoutWhatRunsCommands(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(good())
	require.NoError(t, err)
	assert.NotContains(t, string(text), "/home/me")
	assert.NotContains(t, string(text), "hooks")
	w, err := away.Read(text)
	require.NoError(t, err)
	assert.Equal(t, good(), w)
}

func TestWorkThatCannotBeRightIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*away.Work)
		says   string
	}{
		"an id that leads elsewhere": {func(w *away.Work) { w.ID = "agent-../../x" }, "its id is none"},
		"no task":                    {func(w *away.Work) { w.Task = " \n" }, "no task"},
		"a long task":                {func(w *away.Work) { w.Task = strings.Repeat("x", 500_000) }, "too long"},
		"an option for a model":      {func(w *away.Work) { w.Model = "--dangerously" }, "no model"},
		"no mode":                    {func(w *away.Work) { w.Mode.Effective = "root" }, "no permission mode"},
		"a tool that is an option":   {func(w *away.Work) { w.Tools.Allowed = []string{"--allow"} }, "tools"},
		"a negative limit":           {func(w *away.Work) { w.Limits.Wall = -1 }, "negative"},
		"a newer version":            {func(w *away.Work) { w.V = away.Version + 1 }, "newer flame"},
		"a long name":                {func(w *away.Work) { w.Definition.Name = strings.Repeat("n", 300) }, "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := good()
			c.change(&w)
			text, err := json.Marshal(w)
			require.NoError(t, err)
			_, err = away.Read(text)
			assert.ErrorContains(t, err, c.says)
		})
	}
}

func TestReportsThatCannotBeRightAreRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no JSON":             `{"progress":`,
		"negative usage":      `{"progress":{"usage":{"tokensIn":-5}}}`,
		"a cost beyond sense": `{"progress":{"usage":{"costUSD":1e300}}}`,
		"no end":              `{"outcome":{"state":"active"}}`,
	} {
		_, err := away.ReadReport([]byte(text))
		assert.Error(t, err, name)
	}
	r, err := away.ReadReport([]byte(`{"progress":{"text":"half"},"machine":"evil"}`))
	require.NoError(t, err)
	assert.Equal(t, "half", r.Progress.Text)
	assert.Empty(t, r.Machine, "the hub's record says which machine it is")
}

func TestAWorkerNarrowsAModeAndNeverWidensIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ asked, most, want hosts.Mode }{
		{hosts.Plan, hosts.AcceptEdits, hosts.Plan},
		{hosts.AcceptEdits, hosts.Plan, hosts.Plan},
		{hosts.Bypass, hosts.AcceptEdits, hosts.AcceptEdits},
		{hosts.Default, hosts.Default, hosts.Default},
	} {
		got := away.Narrowed(permission.Choice{Effective: c.asked, Grant: "grant-1"}, c.most)
		assert.Equal(t, c.want, got.Effective)
		assert.Empty(t, got.Grant, "what a person granted on one machine does not hold on another")
	}
}

// FuzzRead checks that nothing that anybody sends makes reading fail otherwise than by an error.
func FuzzRead(f *testing.F) {
	text, err := json.Marshal(good())
	require.NoError(f, err)
	f.Add(text)
	f.Add([]byte(`{"v":1,"base":{}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		w, err := away.Read(text)
		if err == nil {
			assert.True(t, away.ValidID(w.ID))
			assert.Empty(t, w.Definition.HostKeys)
		}
		_, _ = away.ReadReport(text) // it does not panic
	})
}
