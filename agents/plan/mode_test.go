package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/agents/definition"
	"flame/agents/plan"
	"flame/agents/record"
	"flame/hosts"
)

func TestAChildsModeNeverExceedsItsParents(t *testing.T) {
	t.Parallel()
	bypass := &plan.Grant{ID: "g", Mode: hosts.Bypass}
	edits := &plan.Grant{ID: "g", Mode: hosts.AcceptEdits}
	tests := map[string]struct {
		ask  plan.Question
		want record.Choice
	}{
		"nothing asked: the parent's": {plan.Question{Parent: hosts.AcceptEdits}, record.Choice{Effective: hosts.AcceptEdits}},
		"an unknown parent counts as default": {
			plan.Question{Call: hosts.AcceptEdits},
			record.Choice{Requested: hosts.AcceptEdits, Effective: hosts.Default, CappedBy: "parent"},
		},
		"less than the parent": {
			plan.Question{Call: hosts.Plan, Parent: hosts.AcceptEdits},
			record.Choice{Requested: hosts.Plan, Effective: hosts.Plan},
		},
		"the call before the definition": {
			plan.Question{Call: hosts.Plan, Definition: hosts.AcceptEdits, Parent: hosts.AcceptEdits},
			record.Choice{Requested: hosts.Plan, Effective: hosts.Plan},
		},
		"the definition's": {
			plan.Question{Definition: hosts.AcceptEdits, Parent: hosts.AcceptEdits},
			record.Choice{Requested: hosts.AcceptEdits, Effective: hosts.AcceptEdits},
		},
		"a reader plans": {plan.Question{Type: "analyzer", Parent: hosts.AcceptEdits}, record.Choice{Effective: hosts.Plan}},
		"a builder works as its parent": {
			plan.Question{Type: "builder", Parent: hosts.AcceptEdits},
			record.Choice{Effective: hosts.AcceptEdits},
		},
		"bypass is not inherited": {plan.Question{Parent: hosts.Bypass}, record.Choice{Effective: hosts.AcceptEdits, CappedBy: "grant"}},
		"bypass needs a grant even below bypass": {
			plan.Question{Call: hosts.Bypass, Parent: hosts.Bypass},
			record.Choice{Requested: hosts.Bypass, Effective: hosts.AcceptEdits, CappedBy: "grant"},
		},
		"bypass with a grant": {
			plan.Question{Call: hosts.Bypass, Parent: hosts.Default, Grant: bypass},
			record.Choice{Requested: hosts.Bypass, Effective: hosts.Bypass, Grant: "g"},
		},
		"a grant for less does not do": {
			plan.Question{Call: hosts.Bypass, Parent: hosts.Plan, Grant: edits},
			record.Choice{Requested: hosts.Bypass, Effective: hosts.Plan, CappedBy: "parent"},
		},
		"a grant lifts a child above its parent": {
			plan.Question{Call: hosts.AcceptEdits, Parent: hosts.Plan, Grant: edits},
			record.Choice{Requested: hosts.AcceptEdits, Effective: hosts.AcceptEdits, Grant: "g"},
		},
		"a grant is not used where none is needed": {
			plan.Question{Call: hosts.Plan, Parent: hosts.Default, Grant: bypass},
			record.Choice{Requested: hosts.Plan, Effective: hosts.Plan},
		},
		"an unknown mode counts as default": {
			plan.Question{Parent: "yolo", Call: hosts.AcceptEdits},
			record.Choice{Requested: hosts.AcceptEdits, Effective: hosts.Default, CappedBy: "parent"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, plan.ChooseMode(tt.ask))
		})
	}
}

func TestGrantsFitTheirDefinitionSessionAndTime(t *testing.T) {
	t.Parallel()
	builder := definition.Definition{Name: "builder", Prompt: "Build."}
	g := plan.Grant{Mode: hosts.Bypass, Agent: "builder", Digest: builder.Digest(), Session: "root", ExpiresAt: 100}
	assert.True(t, g.Fits(builder, "root", 1, 99))
	assert.False(t, g.Fits(definition.Definition{Name: "tester"}, "root", 1, 99), "another agent")
	assert.False(t, g.Fits(definition.Definition{Name: "builder", Prompt: "Take all."}, "root", 1, 99), "another one of the same name")
	assert.False(t, g.Fits(builder, "other", 1, 99), "another session's tree")
	assert.False(t, g.Fits(builder, "root", 1, 100), "too late")
	assert.False(t, g.Fits(builder, "root", 2, 99), "a child of a child")
	g.Inherited = true
	assert.True(t, g.Fits(builder, "root", 2, 99))
}
