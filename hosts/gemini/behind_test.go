package gemini_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core/op"
	"flame/hosts"
	"flame/hosts/gemini"
	"flame/tests/cases"
	"flame/tests/clienttest"
)

func TestCommandLinesBehindAGateway(t *testing.T) {
	clienttest.Behinds(t, func(m hosts.Machine, tt clienttest.Behind) (hosts.GatewayLaunch, error) {
		trust(t, m, "TRUST_FOLDER")
		return gemini.Host(nil).Gateway.Plan(m, tt.Args)
	}, "testdata/behind.json")
}

// trust writes what the user said about the project's folder.
func trust(t *testing.T, m hosts.Machine, said string) {
	t.Helper()
	text, err := json.Marshal(map[string]string{m.ProjectDir: said})
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(m.Home, ".gemini"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(m.Home, ".gemini", "trustedFolders.json"), text, 0o600))
}

// In a folder without trust the client runs no hooks.
func TestAGatewayInAFolderWithoutTrustSaysThatItLeavesNothingOut(t *testing.T) {
	t.Parallel()
	for said, notes := range map[string]int{"TRUST_FOLDER": 0, "DO_NOT_TRUST": 1, "": 1} {
		m := clienttest.Machine(t)
		clienttest.Environment{Environ: map[string]string{"GEMINI_API_KEY": "k"}}.Put(t, &m)
		trust(t, m, said)
		b, err := gemini.Host(nil).Gateway.Plan(m, nil)
		require.NoError(t, err)
		require.Len(t, b.Notes, notes, said)
		for _, note := range b.Notes {
			assert.Contains(t, note, "leaves nothing out")
		}
	}
}

func TestWhatARequestIsFor(t *testing.T) {
	t.Parallel()
	tests := cases.Read[struct {
		Body string
		Want hosts.RequestClass
	}](t, "testdata/requests.yaml")
	w := gemini.Host(nil).Gateway.Spec
	for name, tt := range tests {
		assert.Equal(t, hosts.RequestInfo{Class: tt.Want}, w.RequestInfo(nil, []byte(tt.Body)), name)
	}
	assert.Equal(t, hosts.ClassMain, w.RequestInfo(nil, nil).Class, "one that is too long")

	assert.Equal(t, op.Push, w.FlameTool("mcp_flame_flame_push"))
	assert.Equal(t, op.Spawn, w.FlameTool("mcp_flame_spawn_agent"))
	assert.Empty(t, w.FlameTool("mcp_flame_other")+w.FlameTool("flame_push"))
	assert.Equal(t, "Build it", w.UserWords("<hook_context>c</hook_context>\n\nBuild it", false))
	assert.Empty(t, w.UserWords("<session_context>\nx</session_context>", false)+w.UserWords("<hook_context>c</hook_context>", false))
	assert.True(t, w.IsSummary("<state_snapshot>\nx\n</state_snapshot>"))
	assert.Equal(t, "Started frame-a.", w.Answer("<untrusted_context>\nStarted frame-a.\n</untrusted_context>\n\n<hook_context>c</hook_context>"))
	assert.Equal(t, "plain", w.Answer("plain"))
	u := w.Usage("gemini-2.5-pro", []byte(`{"promptTokenCount":100,"cachedContentTokenCount":40,"candidatesTokenCount":7,"thoughtsTokenCount":3}`), nil)
	assert.Equal(t, []int64{60, 10, 40}, []int64{u.TokensIn, u.TokensOut, u.CacheRead})
	assert.InDelta(t, (60*1.25+10*10+40*0.125)/1e6, u.CostUSD, 1e-12)
}
