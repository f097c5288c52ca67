package wiring

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/config"
	"flame/config/env"
	"flame/core"
	"flame/hosts"
	"flame/hosts/claudecode"
	"flame/hosts/gateway/wrap"
	"flame/hosts/opencode"
	"flame/local/place"
	"flame/tools"
)

// A project's settings may set variables in the process that supervises an agent.
func TestAnAgentsGatewayReachesTheNetworkAsThatOfItsSession(t *testing.T) {
	home := t.TempDir()
	root := filepath.Join(home, "project")
	require.NoError(t, os.MkdirAll(filepath.Join(root, ".flame"), 0o755))
	at := place.At(root)
	at.Data = place.FolderOf(at, place.Env{Home: home}, nil)
	_, err := at.Data.Ready(t.Context(), true)
	require.NoError(t, err)
	g := gates{wiring{settings: config.Settings{LogLevel: "off"}, known: hosts.Registry{claudecode.Host(), opencode.Host(tools.Names)}}, at}
	metered := func(core.Usage, bool) {}

	t.Setenv(env.Gateway, "")
	gate, err := g.open(claudecode.Host(), "agent-1", metered)
	require.NoError(t, err)
	assert.Nil(t, gate, "there is none around")

	network := map[string]string{"HTTPS_PROXY": "http://mine", "SSL_CERT_FILE": ""}
	session, err := wrap.MakeFolder(at.Data.Path, "gateway-11111111")
	require.NoError(t, err)
	require.NoError(t, session.Note(wrap.Endpoint{
		Base: "http://127.0.0.1:1/s", Host: claudecode.Name, Upstream: "http://up", Folding: "off", Network: network,
	}))
	t.Setenv(env.Gateway, "gateway-11111111")
	t.Setenv("HTTPS_PROXY", "http://evil")
	t.Setenv("SSL_CERT_FILE", "/evil.pem")
	gate, err = g.open(claudecode.Host(), "agent-1", metered)
	require.NoError(t, err)
	assert.Equal(t, "http://mine", os.Getenv("HTTPS_PROXY"))
	assert.Empty(t, os.Getenv("SSL_CERT_FILE"))
	assert.Equal(t, []string{"ANTHROPIC_BASE_URL=http://up"}, gate.Env)
	assert.Regexp(t, `^http://127\.0\.0\.1:\d+/\w{26}$`, gate.Base)
	own := filepath.Join(at.Data.Path, "gateway", gate.Mark[len(env.Gateway)+1:])
	below, found := wrap.Find(at.Data.Path, filepath.Base(own))
	assert.True(t, found)
	assert.Equal(t, wrap.Endpoint{Base: gate.Base, Host: claudecode.Name, Upstream: "http://up", Folding: "off", Network: network}, below)
	gate.Close()
	gate.Close()
	assert.NoDirExists(t, own)

	other, err := g.open(opencode.Host(tools.Names), "agent-1", metered)
	require.NoError(t, err)
	assert.Equal(t, gate.Env, other.Env)
	assert.Empty(t, other.Base)
}

func TestAnAgentLeavesAGatewayThatIsGone(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	ended, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, ended.Close())
	gone := wrap.Base(ended.Addr().String(), wrap.NewSecret())
	for name, tt := range map[string]struct{ base, want string }{
		"it is gone":         {gone, ""},
		"it is another's":    {wrap.Base(l.Addr().String(), wrap.NewSecret()), "the same"},
		"of the user's own":  {"http://" + ended.Addr().String(), "the same"},
		"on another machine": {"https://example.com/" + wrap.NewSecret(), "the same"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(env.Gateway, "gateway-00000000")
			t.Setenv("ANTHROPIC_BASE_URL", tt.base)
			g := gates{wiring{known: hosts.Registry{claudecode.Host()}}, place.Place{Data: &place.Folder{Path: t.TempDir()}}}
			gate, err := g.open(claudecode.Host(), "agent-1", nil)
			assert.Nil(t, gate)
			require.ErrorIs(t, err, core.ErrNotFound, "it is logged")
			value, set := os.LookupEnv("ANTHROPIC_BASE_URL")
			assert.Equal(t, tt.want != "", set)
			if set {
				assert.Equal(t, tt.base, value)
			}
		})
	}
}
