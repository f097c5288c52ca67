package agents_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/agents"
	"flame/agents/definition"
	"flame/hosts"
)

func TestAChildsModeNeverExceedsItsParents(t *testing.T) {
	t.Parallel()
	bypass := &agents.Grant{ID: "g", Mode: hosts.Bypass}
	edits := &agents.Grant{ID: "g", Mode: hosts.AcceptEdits}
	tests := map[string]struct {
		ask  agents.ModeQuestion
		want agents.ModeChoice
	}{
		"nothing asked: the parent's":                {agents.ModeQuestion{Parent: hosts.AcceptEdits}, agents.ModeChoice{Effective: hosts.AcceptEdits}},
		"an unknown parent counts as default":        {agents.ModeQuestion{Call: hosts.AcceptEdits}, agents.ModeChoice{Requested: hosts.AcceptEdits, Effective: hosts.Default, CappedBy: "parent"}},
		"less than the parent":                       {agents.ModeQuestion{Call: hosts.Plan, Parent: hosts.AcceptEdits}, agents.ModeChoice{Requested: hosts.Plan, Effective: hosts.Plan}},
		"the call before the definition":             {agents.ModeQuestion{Call: hosts.Plan, Definition: hosts.AcceptEdits, Parent: hosts.AcceptEdits}, agents.ModeChoice{Requested: hosts.Plan, Effective: hosts.Plan}},
		"the definition's":                           {agents.ModeQuestion{Definition: hosts.AcceptEdits, Parent: hosts.AcceptEdits}, agents.ModeChoice{Requested: hosts.AcceptEdits, Effective: hosts.AcceptEdits}},
		"a reader plans":                             {agents.ModeQuestion{Type: "analyzer", Parent: hosts.AcceptEdits}, agents.ModeChoice{Effective: hosts.Plan}},
		"a builder works as its parent":              {agents.ModeQuestion{Type: "builder", Parent: hosts.AcceptEdits}, agents.ModeChoice{Effective: hosts.AcceptEdits}},
		"bypass is not inherited":                    {agents.ModeQuestion{Parent: hosts.Bypass}, agents.ModeChoice{Effective: hosts.AcceptEdits, CappedBy: "grant"}},
		"bypass needs a grant even below bypass":     {agents.ModeQuestion{Call: hosts.Bypass, Parent: hosts.Bypass}, agents.ModeChoice{Requested: hosts.Bypass, Effective: hosts.AcceptEdits, CappedBy: "grant"}},
		"bypass with a grant":                        {agents.ModeQuestion{Call: hosts.Bypass, Parent: hosts.Default, Grant: bypass}, agents.ModeChoice{Requested: hosts.Bypass, Effective: hosts.Bypass, Grant: "g"}},
		"a grant for less does not do":               {agents.ModeQuestion{Call: hosts.Bypass, Parent: hosts.Plan, Grant: edits}, agents.ModeChoice{Requested: hosts.Bypass, Effective: hosts.Plan, CappedBy: "parent"}},
		"a grant lifts a child above its parent":     {agents.ModeQuestion{Call: hosts.AcceptEdits, Parent: hosts.Plan, Grant: edits}, agents.ModeChoice{Requested: hosts.AcceptEdits, Effective: hosts.AcceptEdits, Grant: "g"}},
		"a grant is not used where none is needed":   {agents.ModeQuestion{Call: hosts.Plan, Parent: hosts.Default, Grant: bypass}, agents.ModeChoice{Requested: hosts.Plan, Effective: hosts.Plan}},
		"a mode that nobody knows counts as default": {agents.ModeQuestion{Parent: "yolo", Call: hosts.AcceptEdits}, agents.ModeChoice{Requested: hosts.AcceptEdits, Effective: hosts.Default, CappedBy: "parent"}},
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
	builder := definition.Definition{Name: "builder", Prompt: "Build."}
	g := agents.Grant{Mode: hosts.Bypass, Agent: "builder", Digest: builder.Digest(), Session: "root", ExpiresAt: 100}
	assert.True(t, g.Fits(builder, "root", 1, 99))
	assert.False(t, g.Fits(definition.Definition{Name: "tester"}, "root", 1, 99), "another agent")
	assert.False(t, g.Fits(definition.Definition{Name: "builder", Prompt: "Take all."}, "root", 1, 99), "another one of the same name")
	assert.False(t, g.Fits(builder, "other", 1, 99), "another session's tree")
	assert.False(t, g.Fits(builder, "root", 1, 100), "too late")
	assert.False(t, g.Fits(builder, "root", 2, 99), "a child of a child")
	g.Inherited = true
	assert.True(t, g.Fits(builder, "root", 2, 99))
}
