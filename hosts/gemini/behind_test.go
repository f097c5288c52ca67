package gemini_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core/op"
	"flame/hosts"
	"flame/hosts/gemini"
)

func TestWhereRequestsGo(t *testing.T) {
	t.Parallel()
	type values = map[string]string
	chosen := func(kind string) string {
		return `{"security": {"auth": {"selectedType": "` + kind + `"}}} // chosen`
	}
	tests := map[string]struct {
		own, project string // settings
		env          string // the user's file of variables
		environ      values
		args         []string
		upstream     string
		plain        bool
		refusal      string
		notes        int
	}{
		"a key of the environment": {environ: values{"GEMINI_API_KEY": "k"}, upstream: "https://generativelanguage.googleapis.com"},
		"a key in the user's file": {env: "# mine\nexport GEMINI_API_KEY='k'\n", upstream: "https://generativelanguage.googleapis.com"},
		"a chosen key":             {own: chosen("gemini-api-key"), args: []string{"--prompt", "x"}, upstream: "https://generativelanguage.googleapis.com"},
		"an address of the environment": {
			own: chosen("gateway"), environ: values{"GOOGLE_GEMINI_BASE_URL": "http://proxy.example"}, upstream: "http://proxy.example",
		},
		"an address in the user's file": {own: chosen("gemini-api-key"), env: "GOOGLE_GEMINI_BASE_URL=https://mine.example\n", upstream: "https://mine.example"},
		"an address without a scheme":   {own: chosen("gemini-api-key"), environ: values{"GOOGLE_GEMINI_BASE_URL": "mine"}, refusal: "not the URL of a server"},
		"a project's address": {
			own: chosen("gemini-api-key"), project: `{"x": "GOOGLE_GEMINI_BASE_URL"}`, upstream: "https://generativelanguage.googleapis.com", notes: 1,
		},
		"no key":                    {refusal: "GEMINI_API_KEY is not set"},
		"a login with Google":       {own: chosen("oauth-personal"), environ: values{"GEMINI_API_KEY": "k"}, refusal: "a login with Google"},
		"the project's choice":      {own: chosen("gemini-api-key"), project: chosen("vertex-ai"), refusal: "Vertex AI"},
		"Vertex by a variable":      {environ: values{"GEMINI_API_KEY": "k", "GOOGLE_GENAI_USE_VERTEXAI": "true"}, refusal: "Vertex AI"},
		"a way of a later version":  {own: chosen("carrier-pigeon"), refusal: "carrier-pigeon"},
		"a sandbox":                 {own: chosen("gemini-api-key"), args: []string{"-s"}, refusal: "sandbox"},
		"a sandbox by a variable":   {own: chosen("gemini-api-key"), environ: values{"GEMINI_SANDBOX": "docker"}, refusal: "sandbox"},
		"a sandbox of the settings": {own: `{"security": {"auth": {"selectedType": "gemini-api-key"}}, "tools": {"sandbox": true}}`, refusal: "sandbox"},
		"no sandbox":                {own: chosen("gemini-api-key"), args: []string{"--sandbox=false"}, upstream: "https://generativelanguage.googleapis.com"},
		"a command without a model": {args: []string{"extensions", "list"}, plain: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := client(t)
			c.Machine.Getenv = func(name string) string { return tt.environ[name] }
			own(t, c, "settings.json", tt.own)
			own(t, c, ".env", tt.env)
			if tt.project != "" {
				require.NoError(t, os.MkdirAll(filepath.Join(c.Machine.ProjectDir, ".gemini"), 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(c.Machine.ProjectDir, ".gemini", "settings.json"), []byte(tt.project), 0o644))
			}
			b, err := gemini.Host(nil).Behind(c.Machine, tt.args)
			if tt.refusal != "" {
				assert.ErrorContains(t, err, tt.refusal)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.plain, b.Plain)
			if tt.plain {
				return
			}
			assert.Equal(t, tt.upstream, b.Upstream.String())
			assert.Len(t, b.Notes, tt.notes)
			args, env, err := b.Start("http://127.0.0.1:1/secret", "M=1", nil)
			require.NoError(t, err)
			assert.Equal(t, tt.args, args)
			assert.Equal(t, []string{"GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:1/secret", "M=1"}, env)
		})
	}
}

func TestWhatARequestIsFor(t *testing.T) {
	t.Parallel()
	const tools = `"tools":[{"googleSearch":{}},{"functionDeclarations":[{"name":"x"}]}]`
	tests := map[string]struct {
		body string
		want hosts.Class
	}{
		"the conversation": {`{"contents":[{"role":"user","parts":[{"text":"<session_context>"},{"text":"x"}]}],` + tools + `}`, hosts.Main},
		"a subagent": {
			`{"contents":[{"role":"user","parts":[{"text":"<session_context>"},{"text":"x\n\n[flame: call-00112233]"}]}],` + tools + `}`, hosts.Subagent,
		},
		"a later mention": {
			`{"contents":[{"role":"user","parts":[{"text":"x"}]},{"role":"model","parts":[{"text":"y"}]},` +
				`{"role":"user","parts":[{"text":"[flame: call-00112233]"}]}],` + tools + `}`, hosts.Main,
		},
		"a summary": {`{"systemInstruction":{"parts":[{"text":"write a <state_snapshot>"}]},"contents":[]}`, hosts.Compaction},
		"a talk about summaries": {
			`{"systemInstruction":{"parts":[{"text":"<state_snapshot> is a tag"}]},"contents":[],` + tools + `}`, hosts.Main,
		},
		"a search":            {`{"contents":[{"role":"user","parts":[{"text":"x"}]}],"tools":[{"googleSearch":{}}]}`, hosts.Auxiliary},
		"a question":          {`{"contents":[],"generationConfig":{"responseJsonSchema":{}}}`, hosts.Auxiliary},
		"one that is no JSON": {`{"contents":`, hosts.Auxiliary},
	}
	w := gemini.Host(nil).Wire
	for name, tt := range tests {
		assert.Equal(t, hosts.Asked{Class: tt.want}, w.Asked(nil, []byte(tt.body)), name)
	}
	assert.Equal(t, hosts.Main, w.Asked(nil, nil).Class, "one that is too long")

	assert.Equal(t, op.Push, w.Own("mcp_flame_flame_push"))
	assert.Equal(t, op.Spawn, w.Own("mcp_flame_spawn_agent"))
	assert.Empty(t, w.Own("mcp_flame_other")+w.Own("flame_push"))
	assert.Equal(t, "Build it", w.Said("<hook_context>c</hook_context>\n\nBuild it", false))
	assert.Empty(t, w.Said("<session_context>\nx</session_context>", false)+w.Said("<hook_context>c</hook_context>", false))
	assert.True(t, w.IsSummary("<state_snapshot>\nx\n</state_snapshot>"))
	assert.Equal(t, "Started frame-a.", w.Answer("<untrusted_context>\nStarted frame-a.\n</untrusted_context>\n\n<hook_context>c</hook_context>"))
	assert.Equal(t, "plain", w.Answer("plain"))
	u := w.Usage("gemini-2.5-pro", []byte(`{"promptTokenCount":100,"cachedContentTokenCount":40,"candidatesTokenCount":7,"thoughtsTokenCount":3}`), nil)
	assert.Equal(t, []int64{60, 10, 40}, []int64{u.TokensIn, u.TokensOut, u.CacheRead})
	assert.InDelta(t, (60*1.25+10*10+40*0.125)/1e6, u.CostUSD, 1e-12)
}
