package opencode_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/tests/projecttest"
)

// hostKey is the key of the host's process, as flame.js gets it.
var hostKey = base64.RawURLEncoding.EncodeToString(projecttest.Key.Within(projecttest.HostProcess))

func TestPluginNamesNoCallerThatItCannotProve(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	const push = `await before("flame_flame_push", "1", { session_id: "x", agent_id: { a: 1 }, flame_proof: null })`
	h := newHost(t)
	assert.JSONEq(t, `{}`, h.plays(`return `+push), "flame tells no key")

	h.write("answer", `{"key": "`+hostKey+`"}`)
	rest, by := projecttest.Proven(t, f.Project, "flame_push", "", []byte(h.plays(`below("s", "top"); return `+push)))
	assert.JSONEq(t, `{}`, rest)
	assert.Equal(t, project.Caller{Session: "s", Parent: "top", Trust: project.TrustHook}, by)

	proofs := h.plays(`const one = ` + push + `; after("flame_flame_push", "1", {}, {}); const two = ` + push + `; return one.flame_proof === two.flame_proof`)
	assert.Equal(t, "false", proofs, "each proof is used once")

	require.NoError(t, os.WriteFile(filepath.Join(h.project, "opencode.jsonc"), []byte(`{"mcp": {"flame": {"command": ["/evil"]}}}`), 0o600))
	assert.JSONEq(t, `{"session_id": "x", "agent_id": {"a": 1}, "flame_proof": null}`,
		h.plays(`await hooks.config({"mcp": {"flame": {"command": ["/evil"]}}}); return `+push), "the server is the project's")
}

func TestTheKeyForStampsIsThatOfTheHostsProcess(t *testing.T) {
	t.Parallel()
	l := newPlugin(t)
	const asks = `{"event": "stamp.key", "session": "s"}`
	require.NoError(t, l.P.SetOff(t.Context(), true), "even if hooks are off")
	answer, err := l.Raw(asks)
	require.NoError(t, err)
	assert.JSONEq(t, `{"key": "`+hostKey+`"}`, answer)
	l.P.StampKey = nil
	_, err = l.Raw(asks)
	require.Error(t, err)
	require.NotErrorIs(t, err, core.ErrUnavailable, "it is not kept for later")
}
