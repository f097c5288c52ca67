package codex_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/op"
	"flame/hosts"
	"flame/hosts/codex"
)

// behind returns how Codex runs behind a gateway, by what its app server says of configuration and
// login; environ are variables.
func behind(t *testing.T, config, account string, environ map[string]string, args ...string) (b hosts.Behind, asked string, err error) {
	t.Helper()
	m := client(t, &fakeCodex{}).Machine
	m.Getenv = func(name string) string { return environ[name] }
	m.Converse = func(_ context.Context, _, _ string, isLast func(string) bool, _ string, args ...string) error {
		asked = strings.Join(args, " ")
		lines := []string{`{"id":0,"result":{}}`, "noise", `{"id":2,` + account + `}`, `{"method":"x","id":7}`, `{"id":1,` + config + `}`}
		for _, line := range lines {
			if isLast(line) {
				return nil
			}
		}
		return errors.New("no answer")
	}
	b, err = codex.Host(nil).Behind(m, args)
	return b, asked, err
}

const (
	key     = `"result":{"account":{"type":"apiKey"}}`
	noLogin = `"result":{"account":null}`
	mine    = `"model_provider":"mine","model_providers":{"mine":{"base_url":"https://mine.example/v1","wire_api":"responses","aws":null}}`
)

func config(members string) string { return `"result":{"config":{` + members + `}}` }

func TestWhereRequestsGo(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		config, account string
		environ         map[string]string
		args            []string
		upstream        string
		line            string // with the gateway BASE
		refusal         string
	}{
		"a login with a key": {config: config(`"model_provider":null`), account: key, args: []string{"exec", "do it"}, upstream: "https://api.openai.com/v1",
			line: `exec|do it|-c|openai_base_url="BASE"|-c|features.enable_request_compression=false`},
		"a key of the environment": {config: config(``), account: noLogin, environ: map[string]string{"CODEX_API_KEY": "x"}, args: []string{"e", "x"},
			upstream: "https://api.openai.com/v1"},
		"that key in a terminal":   {config: config(``), account: noLogin, environ: map[string]string{"CODEX_API_KEY": "x"}, refusal: "no API key"},
		"no login":                 {config: config(``), account: noLogin, refusal: "no API key"},
		"a login with ChatGPT":     {config: config(``), account: `"result":{"account":{"type":"chatgpt"}}`, refusal: "login with ChatGPT"},
		"a login that is not said": {config: config(``), account: `"error":{"code":1}`, refusal: "login with ChatGPT"},
		"another address":          {config: config(`"openai_base_url":"http://proxy.example/v1"`), account: `"error":{}`, upstream: "http://proxy.example/v1"},
		"a provider": {config: config(mine), account: noLogin, args: []string{"resume", "--", "ID"}, upstream: "https://mine.example/v1",
			line: `resume|-c|model_providers.mine.base_url="BASE"|-c|features.enable_request_compression=false|--|ID`},
		"a provider of the project's": {
			config:  `"result":{"config":{` + mine + `},"origins":{"model_providers.mine.base_url":{"name":{"type":"project"}}}}`,
			account: key, refusal: "the project's settings",
		},
		"an unknown provider":      {config: config(`"model_provider":"amazon-bedrock"`), account: key, refusal: `provider "amazon-bedrock"`},
		"a provider on Azure":      {config: config(strings.Replace(mine, "mine.example", "mine.openai.azure.com", 1)), account: key, refusal: `"mine"`},
		"a provider on AWS":        {config: config(strings.Replace(mine, "null", "{}", 1)), account: key, refusal: `"mine"`},
		"an odd name":              {config: config(strings.ReplaceAll(mine, `"mine"`, `"mi\"ne"`)), account: key, refusal: "does not serve"},
		"no URL":                   {config: config(`"openai_base_url":"file:///x"`), account: key, refusal: "not the URL of a server"},
		"a local model":            {args: []string{"exec", "--oss", "x"}, refusal: "with --oss"},
		"a profile":                {args: []string{"-p", "work"}, refusal: "with -p"},
		"a profile in one word":    {args: []string{"-pwork"}, refusal: "with -pwork"},
		"a server elsewhere":       {args: []string{"--remote=ws://x"}, refusal: "with --remote"},
		"an app server of silence": {config: `"error":{}`, account: key, refusal: "does not say where"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, _, err := behind(t, tt.config, tt.account, tt.environ, tt.args...)
			if tt.refusal != "" {
				require.Error(t, err)
				assert.Contains(t, err.Error(), tt.refusal)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.upstream, b.Upstream.String())
			args, environ, err := b.Start("BASE", "M=1", nil)
			require.NoError(t, err)
			assert.Equal(t, []string{"M=1"}, environ)
			if tt.line != "" {
				assert.Equal(t, tt.line, strings.Join(args, "|"))
			}
		})
	}
}

func TestSettingsOfTheCommandLineAreAsked(t *testing.T) {
	t.Parallel()
	_, asked, err := behind(t, config(``), key, nil, "-m", "exec", "--config=a=1", "exec", "-c", "b=2", "-cd=4", "--enable", "x", "--", "-c", "c=3")
	require.NoError(t, err)
	assert.Equal(t, "app-server --config=a=1 -c b=2 -cd=4 --enable x", asked)
}

func TestCommandsWithoutAModelRunPlainly(t *testing.T) {
	t.Parallel()
	b, _, err := behind(t, config(``), key, map[string]string{"HTTP_PROXY": "http://p", "no_proxy": "in.example"})
	require.NoError(t, err)
	assert.Equal(t, []string{"NO_PROXY=in.example,127.0.0.1", "no_proxy=in.example,127.0.0.1", "M=1"}, b.Env("", "M=1"))
	for line, plain := range map[string]bool{
		"mcp list": true, "-c a=1 login": true, "--help": true, "exec --help": false, "-m mcp": false, "fix the mcp": false, "": false, "e x": false, "-- mcp": false,
	} {
		b, _, err := behind(t, config(``), key, map[string]string{"HTTP_PROXY": "http://p", "CODEX_CA_CERTIFICATE": "/c.pem"}, strings.Fields(line)...)
		require.NoError(t, err, line)
		require.Equal(t, plain, b.Plain, line)
		if !plain {
			assert.Equal(t, []string{"NO_PROXY=127.0.0.1", "M=1"}, b.Env("", "M=1"))
			assert.Equal(t, "/c.pem", b.Network["SSL_CERT_FILE"])
			assert.Equal(t, "http://p", b.Network["HTTP_PROXY"])
		}
	}
}

func TestWhoAsks(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		session, thread, turn string
		want                  hosts.Asked
	}{
		"a session":                {"s", "s", `{"request_kind":"turn"}`, hosts.Asked{Session: "s", Class: hosts.Main}},
		"a subagent":               {"s", "t", `{"request_kind":"turn"}`, hosts.Asked{Session: "s", Agent: "t", Class: hosts.Subagent}},
		"a compaction":             {"s", "s", `{"request_kind":"compaction"}`, hosts.Asked{Session: "s", Class: hosts.Compaction}},
		"something beside":         {"s", "s", `{"request_kind":"memory"}`, hosts.Asked{Session: "s", Class: hosts.Auxiliary}},
		"an older version":         {"s", "", ``, hosts.Asked{Session: "s", Class: hosts.Main}},
		"another program":          {"", "", `{`, hosts.Asked{Class: hosts.Main}},
		"a header of another form": {"s", "s", `{"request_kind":5}`, hosts.Asked{Session: "s", Class: hosts.Main}},
	}
	for name, tt := range tests {
		h := http.Header{}
		h.Set("session-id", tt.session)
		h.Set("thread-id", tt.thread)
		h.Set("x-codex-turn-metadata", tt.turn)
		assert.Equal(t, tt.want, codex.Host(nil).Wire.Asked(h, nil), name)
	}
}

func TestWordsOfRequests(t *testing.T) {
	t.Parallel()
	w := codex.Host(nil).Wire
	assert.Equal(t, op.Name("flame_push"), w.Own("mcp__flame__flame_push"))
	assert.Empty(t, w.Own("mcp__docs__flame_push"))
	for text, want := range map[string]string{
		"please": "please", "<environment_context>\nx\n</environment_context>": "", "# AGENTS.md instructions for /x": "",
		"Another language model started to solve this problem:\nDONE": "",
	} {
		assert.Equal(t, want, w.Said(text, false))
		assert.Empty(t, w.Said(text, true))
	}
	assert.True(t, w.Lasts("<permissions instructions>"))
	assert.False(t, w.Lasts("\n<flame-changes session=\"x\">"))
	assert.Equal(t, "Started x", w.Answer("Wall time: 0.1 seconds\nOutput:\nStarted x"))
	assert.Equal(t, "Started x\nOutput:\ny", w.Answer("Started x\nOutput:\ny"))
	assert.Equal(t, core.Usage{TokensIn: 50, TokensOut: 7, CacheRead: 40, CacheWritten: 10},
		w.Usage("m", []byte(`{"input_tokens":100,"input_tokens_details":{"cached_tokens":40,"cache_write_tokens":10},"output_tokens":7}`), nil))
	assert.Zero(t, w.Usage("m", []byte(`{`), nil))
}
