package claudecode_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/hosts"
	"flame/hosts/claudecode"
)

// A desk is a machine with the settings files of a test.
type desk struct{ home, project, managed string }

// at is a desk with files, whose names begin with home, project or managed.
func at(t *testing.T, files map[string]string) desk {
	t.Helper()
	top := t.TempDir()
	for _, dir := range []string{"home", "project", "managed"} {
		require.NoError(t, os.Mkdir(filepath.Join(top, dir), 0o755))
	}
	for name, text := range files {
		path := filepath.Join(top, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return desk{filepath.Join(top, "home"), filepath.Join(top, "project"), filepath.Join(top, "managed")}
}

func (d desk) behind(env map[string]string, args ...string) (hosts.Behind, error) {
	m := hosts.Machine{Home: d.home, ProjectDir: d.project, Getenv: func(name string) string { return env[name] }}
	return claudecode.BehindIn(m, d.managed, args)
}

// sets is a settings file with these variables.
func sets(variables ...string) string {
	env := map[string]string{}
	for i := 0; i < len(variables); i += 2 {
		env[variables[i]] = variables[i+1]
	}
	text, err := json.Marshal(map[string]any{"env": env})
	if err != nil {
		panic(err)
	}
	return string(text)
}

const (
	base      = "ANTHROPIC_BASE_URL"
	settings  = "home/.claude/settings.json"
	committed = "project/.claude/settings.json"
)

func TestTheUpstreamIsTheClientsWithoutTheProjectsSettings(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		files map[string]string
		env   map[string]string
		args  []string
		want  string
		notes int
	}{
		"nothing is set":   {want: "https://api.anthropic.com"},
		"the environment":  {env: map[string]string{base: "http://one:1/path"}, want: "http://one:1/path"},
		"blanks around it": {env: map[string]string{base: " http://one:1 "}, want: "http://one:1"},
		"the file of old": {
			files: map[string]string{"home/.claude.json": sets(base, "http://two")},
			env:   map[string]string{base: "http://one"},
			want:  "http://two",
		},
		"the user's settings": {files: map[string]string{settings: sets(base, "http://two"), "home/.claude.json": sets(base, "http://old")}, want: "http://two"},
		"settings elsewhere": {
			files: map[string]string{"home/other/settings.json": sets(base, "http://two"), settings: sets(base, "http://unused")},
			env:   map[string]string{"CLAUDE_CONFIG_DIR": "home/other"}, want: "http://two",
		},
		"the command line": {
			files: map[string]string{settings: sets(base, "http://two")},
			args:  []string{"--settings", sets(base, "http://three")},
			want:  "http://three",
		},
		"the last of several": {args: []string{"--settings", sets(base, "http://three"), "-p", "--settings=" + sets(base, "http://four")}, want: "http://four"},
		"what is no option":   {args: []string{"-p", "--", "--settings", sets(base, "http://three")}, want: "https://api.anthropic.com"},
		"emptied": {
			files: map[string]string{settings: sets(base, "")},
			env:   map[string]string{base: "http://one"},
			want:  "https://api.anthropic.com",
		},
		"a file that is broken": {files: map[string]string{settings: `{"env":{`}, env: map[string]string{base: "http://one"}, want: "http://one"},
		"the project":           {files: map[string]string{committed: sets(base, "http://evil")}, want: "https://api.anthropic.com", notes: 1},
		"the project, beside the user": {
			files: map[string]string{
				committed: sets(base, "http://evil"), "project/.claude/settings.local.json": sets(base, "http://worse"), settings: sets(base, "http://two"),
			},
			want: "http://two", notes: 2,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := at(t, tt.files)
			if dir := tt.env["CLAUDE_CONFIG_DIR"]; dir != "" {
				tt.env["CLAUDE_CONFIG_DIR"] = filepath.Join(filepath.Dir(d.home), dir)
			}
			behind, err := d.behind(tt.env, tt.args...)
			require.NoError(t, err)
			assert.Equal(t, tt.want, behind.Upstream.String())
			assert.Len(t, behind.Notes, tt.notes)
			for _, note := range behind.Notes {
				assert.Contains(t, note, "which flame ignores")
				assert.NotContains(t, note, "http://")
			}
		})
	}
}

func TestSettingsThatBypassAGatewayAreRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		files map[string]string
		env   map[string]string
		args  []string
		says  string // empty: it is not refused
	}{
		"Bedrock":                       {env: map[string]string{"CLAUDE_CODE_USE_BEDROCK": "1"}, says: "Amazon Bedrock"},
		"Vertex in the user's settings": {files: map[string]string{settings: `{"env":{"CLAUDE_CODE_USE_VERTEX":true}}`}, says: "Google Vertex AI"},
		"Foundry in the project's":      {files: map[string]string{committed: sets("CLAUDE_CODE_USE_FOUNDRY", "yes")}, says: "Microsoft Foundry"},
		"Bedrock on the command line":   {args: []string{"--settings", sets("CLAUDE_CODE_USE_BEDROCK", "TRUE")}, says: "--settings"},
		"Bedrock, off":                  {env: map[string]string{"CLAUDE_CODE_USE_BEDROCK": "0"}},
		"Bedrock, turned off again": {
			env:   map[string]string{"CLAUDE_CODE_USE_BEDROCK": "1"},
			files: map[string]string{settings: sets("CLAUDE_CODE_USE_BEDROCK", "")},
		},
		"a socket": {env: map[string]string{"ANTHROPIC_UNIX_SOCKET": "/run/x"}, says: "ANTHROPIC_UNIX_SOCKET"},
		"an administrator's base URL": {
			files: map[string]string{"managed/managed-settings.json": sets(base, "http://corp")},
			says:  "no other setting can change",
		},
		"one in a part": {files: map[string]string{"managed/managed-settings.d/10-net.json": sets(base, "http://corp")}, says: "10-net.json"},
		"one that a server sent": {
			files: map[string]string{"home/.claude/remote-settings.json": `{"settings":` + sets(base, "http://corp") + `}`},
			says:  "remote-settings",
		},
		"an administrator without one": {files: map[string]string{"managed/managed-settings.json": sets("HTTPS_PROXY", "http://proxy")}},
		"no URL":                       {env: map[string]string{base: "api.example.com"}, says: "not the URL of a server"},
		"the URL of a file":            {env: map[string]string{base: "file:///etc/passwd"}, says: "not the URL of a server"},
		"settings that are no JSON":    {args: []string{"--settings", `{"env":` + `}`}, says: "not a JSON object"},
		"settings that are a list":     {args: []string{"--settings=home.json"}, files: map[string]string{}, says: "flame cannot read the file"},
		"variables that are a list":    {args: []string{"--settings", `{"env":[]}`}, says: "`env` of --settings"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := at(t, tt.files).behind(tt.env, tt.args...)
			if tt.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, core.ErrInvalid)
			assert.ErrorContains(t, err, tt.says)
		})
	}
}

func TestTheUsersSettingsApplyUnchangedInTheFileOfARun(t *testing.T) {
	t.Parallel()
	const mark = "FLAME_GATEWAY=gateway-12345678"
	ours := `"ANTHROPIC_BASE_URL":"http://127.0.0.1:1/s","CLAUDE_CODE_GATEWAY_HINT_HEADERS":"1","FLAME_GATEWAY":"gateway-12345678"`
	tests := map[string]struct{ given, want string }{
		"none": {"", `{"env":{` + ours + `}}`},
		"other keys": {
			`{"model":"opus","big":12345678901234567890,"text":"\ud800 <b>"}`,
			`{"model":"opus","big":12345678901234567890,"text":"\ud800 <b>","env":{` + ours + `}}`,
		},
		"other variables":    {`{"env":{"A":"1","N":7}}`, `{"env":{"A":"1","N":7,` + ours + `}}`},
		"their own base URL": {`{"env":{"ANTHROPIC_BASE_URL":"http://mine"}}`, `{"env":{` + ours + `}}`},
		"a proxy":            {`{"env":{"HTTPS_PROXY":"http://p"}}`, `{"env":{"HTTPS_PROXY":"http://p","NO_PROXY":"127.0.0.1",` + ours + `}}`},
		"a proxy, with others": {
			`{"env":{"https_proxy":"http://p","no_proxy":"corp"}}`,
			`{"env":{"https_proxy":"http://p","no_proxy":"corp,127.0.0.1","NO_PROXY":"corp,127.0.0.1",` + ours + `}}`,
		},
		"no proxy for any": {`{"env":{"HTTPS_PROXY":"http://p","NO_PROXY":"*"}}`, `{"env":{"HTTPS_PROXY":"http://p","NO_PROXY":"*",` + ours + `}}`},
		"no variables":     {`{"env":null}`, `{"env":{` + ours + `}}`},
		"rules of the command line": {
			`{"permissions":{"deny":["Read(/a)"]}}`, `{"permissions":{"deny":["Read(/a)"]},"env":{` + ours + `}}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, args := at(t, nil), []string{"-p"}
			if tt.given != "" {
				args = append(args, "--settings", tt.given)
			}
			behind, err := d.behind(nil, args...)
			require.NoError(t, err)
			got, err := behind.Settings("http://127.0.0.1:1/s", mark)
			require.NoError(t, err)
			assert.JSONEq(t, tt.want, string(got))
			assert.Equal(t, strings.Contains(tt.want, "12345678901234567890"), strings.Contains(string(got), "12345678901234567890"))
		})
	}
}

func TestRelativePathsOfASettingsFileAreKept(t *testing.T) {
	t.Parallel()
	d := at(t, map[string]string{"home/own/s.json": "\ufeff" + `{
		"permissions":{"allow":["Read(/a/**)","Edit(//b)","Bash(/bin/ls:*)","Read(~/c)","Read(d)","WebFetch"],"deny":["Edit(/e)"],"defaultMode":"plan"},
		"sandbox":{"enabled":true,"filesystem":{"allowWrite":["x","/y","~/z"]}}}`})
	dir, err := filepath.EvalSymlinks(filepath.Join(d.home, "own"))
	require.NoError(t, err)
	behind, err := d.behind(nil, "--settings", filepath.Join(d.home, "own", "s.json"))
	require.NoError(t, err)
	got, err := behind.Settings("http://g", "A=b")
	require.NoError(t, err)
	assert.JSONEq(t, `{"env":{"ANTHROPIC_BASE_URL":"http://g","CLAUDE_CODE_GATEWAY_HINT_HEADERS":"1","A":"b"},
		"permissions":{"allow":["Read(/`+dir+`/a/**)","Edit(//b)","Bash(/bin/ls:*)","Read(~/c)","Read(d)","WebFetch"],
			"deny":["Edit(/`+dir+`/e)"],"defaultMode":"plan"},
		"sandbox":{"enabled":true,"filesystem":{"allowWrite":["`+dir+`/x","/y","~/z"]}}}`, string(got))
}

func TestOtherArgumentsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	const given = `{"a":1}`
	tests := map[string]struct{ args, want []string }{
		"none":              {nil, []string{"--settings", "F"}},
		"without settings":  {[]string{"-p", "", "x y", "--", "--settings", given}, []string{"--settings", "F", "-p", "", "x y", "--", "--settings", given}},
		"with settings":     {[]string{"-p", "--settings", given, "hi"}, []string{"-p", "--settings", "F", "hi"}},
		"joined":            {[]string{"-p", "--settings=" + given, "hi"}, []string{"-p", "--settings", "F", "hi"}},
		"several":           {[]string{"--settings", given, "-p", "--settings=" + given, "--settings", given, "hi"}, []string{"-p", "--settings", "F", "hi"}},
		"without its value": {[]string{"-p", "--settings"}, []string{"--settings", "F", "-p", "--settings"}},
		"its value is one": {
			[]string{"-p", "--model", "opus", "--setting-sources", "user"},
			[]string{"--settings", "F", "-p", "--model", "opus", "--setting-sources", "user"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			behind, err := at(t, nil).behind(nil, tt.args...)
			require.NoError(t, err)
			assert.False(t, behind.Plain)
			assert.Equal(t, tt.want, behind.Args("F", ""))
		})
	}
}

func TestCommandsWithoutAModelRunPlainly(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args  []string
		plain bool
		notes int
	}{
		"a command":             {[]string{"mcp", "list"}, true, 0},
		"the version":           {[]string{"--version"}, true, 0},
		"a background session":  {[]string{"-p", "--bg", "fix it"}, true, 1},
		"a prompt":              {[]string{"update the docs"}, false, 0},
		"a prompt that says it": {[]string{"-p", "--", "--bg"}, false, 0},
		"a word later":          {[]string{"-p", "mcp"}, false, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			behind, err := at(t, nil).behind(map[string]string{"CLAUDE_CODE_USE_BEDROCK": map[bool]string{true: "1"}[tt.plain]}, tt.args...)
			require.NoError(t, err)
			assert.Equal(t, tt.plain, behind.Plain)
			assert.Len(t, behind.Notes, tt.notes)
		})
	}
}

func TestTheGatewayReachesTheNetworkAsTheUserSays(t *testing.T) {
	t.Parallel()
	d := at(t, map[string]string{
		settings:  sets("HTTPS_PROXY", "http://theirs", "NODE_EXTRA_CA_CERTS", "/ca.pem", "OTHER", "x"),
		committed: sets("HTTPS_PROXY", "http://evil", "HTTP_PROXY", "http://evil", "SSL_CERT_FILE", "/evil.pem", "SSL_CERT_DIR", "/evil"),
	})
	behind, err := d.behind(map[string]string{"NO_PROXY": "here", "http_proxy": "http://mine"}, "--settings", sets("NO_PROXY", "a,b"))
	require.NoError(t, err)
	assert.Equal(t, map[string]string{
		"HTTPS_PROXY": "http://theirs", "https_proxy": "", "HTTP_PROXY": "", "http_proxy": "http://mine", "ALL_PROXY": "", "all_proxy": "",
		"NO_PROXY": "a,b", "no_proxy": "", "NODE_EXTRA_CA_CERTS": "/ca.pem", "SSL_CERT_FILE": "", "SSL_CERT_DIR": "",
	}, behind.Network)
}
