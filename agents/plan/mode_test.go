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
	bypass := &plan.Grant{ID: "g", Mode: hosts.ModeBypass}
	edits := &plan.Grant{ID: "g", Mode: hosts.ModeAcceptEdits}
	type row struct {
		Ask  plan.ModeInput
		Want record.ModeChoice
	}
	tests := cases.Read[row](t, "testdata/modes.yaml")
	tests["bypass with a grant"] = row{
		plan.ModeInput{Call: hosts.ModeBypass, Parent: hosts.ModeDefault, Grant: bypass},
		record.ModeChoice{Requested: hosts.ModeBypass, Effective: hosts.ModeBypass, Grant: "g"},
	}
	tests["a grant for less does not do"] = row{
		plan.ModeInput{Call: hosts.ModeBypass, Parent: hosts.ModePlan, Grant: edits},
		record.ModeChoice{Requested: hosts.ModeBypass, Effective: hosts.ModePlan, CappedBy: "parent"},
	}
	tests["a grant lifts a child above its parent"] = row{
		plan.ModeInput{Call: hosts.ModeAcceptEdits, Parent: hosts.ModePlan, Grant: edits},
		record.ModeChoice{Requested: hosts.ModeAcceptEdits, Effective: hosts.ModeAcceptEdits, Grant: "g"},
	}
	tests["a grant is not used where none is needed"] = row{
		plan.ModeInput{Call: hosts.ModePlan, Parent: hosts.ModeDefault, Grant: bypass},
		record.ModeChoice{Requested: hosts.ModePlan, Effective: hosts.ModePlan},
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
	g := plan.Grant{Mode: hosts.ModeBypass, Agent: "builder", Digest: builder.Digest(), Session: "root", ExpiresAt: 100}
	assert.True(t, g.Fits(builder, "root", 1, 99))
	assert.False(t, g.Fits(definition.Definition{Name: "tester"}, "root", 1, 99), "another agent")
	assert.False(t, g.Fits(definition.Definition{Name: "builder", Prompt: "Take all."}, "root", 1, 99), "another one of the same name")
	assert.False(t, g.Fits(builder, "other", 1, 99), "another session's tree")
	assert.False(t, g.Fits(builder, "root", 1, 100), "too late")
	assert.False(t, g.Fits(builder, "root", 2, 99), "a child of a child")
	g.Inherited = true
	assert.True(t, g.Fits(builder, "root", 2, 99))
}
