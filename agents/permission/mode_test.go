package permission_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/agents/definition"
	"flame/agents/permission"
	"flame/hosts"
)

func TestAChildsModeNeverExceedsItsParents(t *testing.T) {
	t.Parallel()
	bypass := &permission.Grant{ID: "g", Mode: hosts.Bypass}
	edits := &permission.Grant{ID: "g", Mode: hosts.AcceptEdits}
	tests := map[string]struct {
		ask  permission.Question
		want permission.Choice
	}{
		"nothing asked: the parent's": {permission.Question{Parent: hosts.AcceptEdits}, permission.Choice{Effective: hosts.AcceptEdits}},
		"an unknown parent counts as default": {
			permission.Question{Call: hosts.AcceptEdits},
			permission.Choice{Requested: hosts.AcceptEdits, Effective: hosts.Default, CappedBy: "parent"},
		},
		"less than the parent": {
			permission.Question{Call: hosts.Plan, Parent: hosts.AcceptEdits},
			permission.Choice{Requested: hosts.Plan, Effective: hosts.Plan},
		},
		"the call before the definition": {
			permission.Question{Call: hosts.Plan, Definition: hosts.AcceptEdits, Parent: hosts.AcceptEdits},
			permission.Choice{Requested: hosts.Plan, Effective: hosts.Plan},
		},
		"the definition's": {
			permission.Question{Definition: hosts.AcceptEdits, Parent: hosts.AcceptEdits},
			permission.Choice{Requested: hosts.AcceptEdits, Effective: hosts.AcceptEdits},
		},
		"a reader plans": {permission.Question{Type: "analyzer", Parent: hosts.AcceptEdits}, permission.Choice{Effective: hosts.Plan}},
		"a builder works as its parent": {
			permission.Question{Type: "builder", Parent: hosts.AcceptEdits},
			permission.Choice{Effective: hosts.AcceptEdits},
		},
		"bypass is not inherited": {permission.Question{Parent: hosts.Bypass}, permission.Choice{Effective: hosts.AcceptEdits, CappedBy: "grant"}},
		"bypass needs a grant even below bypass": {
			permission.Question{Call: hosts.Bypass, Parent: hosts.Bypass},
			permission.Choice{Requested: hosts.Bypass, Effective: hosts.AcceptEdits, CappedBy: "grant"},
		},
		"bypass with a grant": {
			permission.Question{Call: hosts.Bypass, Parent: hosts.Default, Grant: bypass},
			permission.Choice{Requested: hosts.Bypass, Effective: hosts.Bypass, Grant: "g"},
		},
		"a grant for less does not do": {
			permission.Question{Call: hosts.Bypass, Parent: hosts.Plan, Grant: edits},
			permission.Choice{Requested: hosts.Bypass, Effective: hosts.Plan, CappedBy: "parent"},
		},
		"a grant lifts a child above its parent": {
			permission.Question{Call: hosts.AcceptEdits, Parent: hosts.Plan, Grant: edits},
			permission.Choice{Requested: hosts.AcceptEdits, Effective: hosts.AcceptEdits, Grant: "g"},
		},
		"a grant is not used where none is needed": {
			permission.Question{Call: hosts.Plan, Parent: hosts.Default, Grant: bypass},
			permission.Choice{Requested: hosts.Plan, Effective: hosts.Plan},
		},
		"a mode that nobody knows counts as default": {
			permission.Question{Parent: "yolo", Call: hosts.AcceptEdits},
			permission.Choice{Requested: hosts.AcceptEdits, Effective: hosts.Default, CappedBy: "parent"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, permission.Choose(tt.ask))
		})
	}
}

func TestGrantsFitWhatTheyWereMadeFor(t *testing.T) {
	t.Parallel()
	builder := definition.Definition{Name: "builder", Prompt: "Build."}
	g := permission.Grant{Mode: hosts.Bypass, Agent: "builder", Digest: builder.Digest(), Session: "root", ExpiresAt: 100}
	assert.True(t, g.Fits(builder, "root", 1, 99))
	assert.False(t, g.Fits(definition.Definition{Name: "tester"}, "root", 1, 99), "another agent")
	assert.False(t, g.Fits(definition.Definition{Name: "builder", Prompt: "Take all."}, "root", 1, 99), "another one of the same name")
	assert.False(t, g.Fits(builder, "other", 1, 99), "another session's tree")
	assert.False(t, g.Fits(builder, "root", 1, 100), "too late")
	assert.False(t, g.Fits(builder, "root", 2, 99), "a child of a child")
	g.Inherited = true
	assert.True(t, g.Fits(builder, "root", 2, 99))
}
