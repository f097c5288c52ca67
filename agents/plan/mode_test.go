package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/agents/definition"
	"flame/agents/plan"
	"flame/agents/record"
	"flame/hosts"
	"flame/tests/cases"
)

func TestAChildsModeNeverExceedsItsParents(t *testing.T) {
	t.Parallel()
	bypass := &plan.Grant{ID: "g", Mode: hosts.Bypass}
	edits := &plan.Grant{ID: "g", Mode: hosts.AcceptEdits}
	type row struct {
		Ask  plan.Question
		Want record.Choice
	}
	tests := cases.Read[row](t, "testdata/modes.yaml")
	tests["bypass with a grant"] = row{
		plan.Question{Call: hosts.Bypass, Parent: hosts.Default, Grant: bypass},
		record.Choice{Requested: hosts.Bypass, Effective: hosts.Bypass, Grant: "g"},
	}
	tests["a grant for less does not do"] = row{
		plan.Question{Call: hosts.Bypass, Parent: hosts.Plan, Grant: edits},
		record.Choice{Requested: hosts.Bypass, Effective: hosts.Plan, CappedBy: "parent"},
	}
	tests["a grant lifts a child above its parent"] = row{
		plan.Question{Call: hosts.AcceptEdits, Parent: hosts.Plan, Grant: edits},
		record.Choice{Requested: hosts.AcceptEdits, Effective: hosts.AcceptEdits, Grant: "g"},
	}
	tests["a grant is not used where none is needed"] = row{
		plan.Question{Call: hosts.Plan, Parent: hosts.Default, Grant: bypass},
		record.Choice{Requested: hosts.Plan, Effective: hosts.Plan},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.Want, plan.ChooseMode(tt.Ask))
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
