package agents_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/definition"
	"flame/hosts"
	"flame/tests/hoststest"
)

// What flame knows of a host and the host's own package go by the same names.
func TestEachHostIsKnown(t *testing.T) {
	t.Parallel()
	none := func(string) string { return "" }
	assert.False(t, hoststest.Known().IsInHost(none, []string{"bash", "flame"}))
	for _, host := range hoststest.Known() {
		name := host.Name
		assert.NotEmpty(t, host.Tools.Own.Names(hosts.EffectEdit), name)
		assert.True(t, hoststest.Known().IsInHost(none, []string{"bash", host.Program}), name)
		def, err := definition.Inline(hoststest.Known(), json.RawMessage(`{"description":"d","prompt":"p","flame":{"host":"`+name+`"}}`))
		require.NoError(t, err)
		assert.Equal(t, name, def.Host)
	}
	for _, variable := range []string{"CLAUDECODE", "OPENCODE"} {
		assert.True(t, hoststest.Known().IsInHost(func(asked string) string { return map[string]string{variable: "1"}[asked] }, nil), variable)
	}
	_, err := definition.Inline(hoststest.Known(), json.RawMessage(`{"description":"d","prompt":"p","flame":{"host":"emacs"}}`))
	assert.ErrorContains(t, err, "must be one of claude-code, opencode, codex, gemini, auto")
}
