package agents_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents"
)

func TestAChildsModeNeverExceedsItsParents(t *testing.T) {
	t.Parallel()
	bypass := &agents.Grant{ID: "g", Mode: agents.Bypass}
	edits := &agents.Grant{ID: "g", Mode: agents.AcceptEdits}
	tests := map[string]struct {
		ask  agents.ModeQuestion
		want agents.ModeChoice
	}{
		"nothing asked: the parent's":                {agents.ModeQuestion{Parent: agents.AcceptEdits}, agents.ModeChoice{Effective: agents.AcceptEdits}},
		"an unknown parent counts as default":        {agents.ModeQuestion{Call: agents.AcceptEdits}, agents.ModeChoice{Requested: agents.AcceptEdits, Effective: agents.Default, CappedBy: "parent"}},
		"less than the parent":                       {agents.ModeQuestion{Call: agents.Plan, Parent: agents.AcceptEdits}, agents.ModeChoice{Requested: agents.Plan, Effective: agents.Plan}},
		"the call before the definition":             {agents.ModeQuestion{Call: agents.Plan, Definition: agents.AcceptEdits, Parent: agents.AcceptEdits}, agents.ModeChoice{Requested: agents.Plan, Effective: agents.Plan}},
		"the definition's":                           {agents.ModeQuestion{Definition: agents.AcceptEdits, Parent: agents.AcceptEdits}, agents.ModeChoice{Requested: agents.AcceptEdits, Effective: agents.AcceptEdits}},
		"a reader plans":                             {agents.ModeQuestion{Type: "analyzer", Parent: agents.AcceptEdits}, agents.ModeChoice{Effective: agents.Plan}},
		"a builder works as its parent":              {agents.ModeQuestion{Type: "builder", Parent: agents.AcceptEdits}, agents.ModeChoice{Effective: agents.AcceptEdits}},
		"bypass is not inherited":                    {agents.ModeQuestion{Parent: agents.Bypass}, agents.ModeChoice{Effective: agents.AcceptEdits, CappedBy: "grant"}},
		"bypass needs a grant even below bypass":     {agents.ModeQuestion{Call: agents.Bypass, Parent: agents.Bypass}, agents.ModeChoice{Requested: agents.Bypass, Effective: agents.AcceptEdits, CappedBy: "grant"}},
		"bypass with a grant":                        {agents.ModeQuestion{Call: agents.Bypass, Parent: agents.Default, Grant: bypass}, agents.ModeChoice{Requested: agents.Bypass, Effective: agents.Bypass, Grant: "g"}},
		"a grant for less does not do":               {agents.ModeQuestion{Call: agents.Bypass, Parent: agents.Plan, Grant: edits}, agents.ModeChoice{Requested: agents.Bypass, Effective: agents.Plan, CappedBy: "parent"}},
		"a grant lifts a child above its parent":     {agents.ModeQuestion{Call: agents.AcceptEdits, Parent: agents.Plan, Grant: edits}, agents.ModeChoice{Requested: agents.AcceptEdits, Effective: agents.AcceptEdits, Grant: "g"}},
		"a grant is not used where none is needed":   {agents.ModeQuestion{Call: agents.Plan, Parent: agents.Default, Grant: bypass}, agents.ModeChoice{Requested: agents.Plan, Effective: agents.Plan}},
		"a mode that nobody knows counts as default": {agents.ModeQuestion{Parent: "yolo", Call: agents.AcceptEdits}, agents.ModeChoice{Requested: agents.AcceptEdits, Effective: agents.Default, CappedBy: "parent"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, agents.ChooseMode(tt.ask))
		})
	}
}

func TestGrantsFitWhatTheyWereMadeFor(t *testing.T) {
	t.Parallel()
	builder := agents.Definition{Name: "builder", Prompt: "Build."}
	g := agents.Grant{Mode: agents.Bypass, Agent: "builder", Digest: builder.Digest(), Session: "root", ExpiresAt: 100}
	assert.True(t, g.Fits(builder, "root", 1, 99))
	assert.False(t, g.Fits(agents.Definition{Name: "tester"}, "root", 1, 99), "another agent")
	assert.False(t, g.Fits(agents.Definition{Name: "builder", Prompt: "Take all."}, "root", 1, 99), "another one of the same name")
	assert.False(t, g.Fits(builder, "other", 1, 99), "another session's tree")
	assert.False(t, g.Fits(builder, "root", 1, 100), "too late")
	assert.False(t, g.Fits(builder, "root", 2, 99), "a child of a child")
	g.Inherited = true
	assert.True(t, g.Fits(builder, "root", 2, 99))
}

func TestModesAreKnownByTheClientsNames(t *testing.T) {
	t.Parallel()
	mode, err := agents.ParseMode("acceptEdits")
	require.NoError(t, err)
	assert.Equal(t, agents.AcceptEdits, mode)
	_, err = agents.ParseMode("acceptedits")
	assert.ErrorContains(t, err, `"acceptedits"`)
}
