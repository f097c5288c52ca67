package gemini

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"flame/core"
	"flame/hosts"
	"flame/hosts/hooks"
)

// The client's variables that a gateway needs to know, and where it sends requests without any.
const (
	baseVariable = "GOOGLE_GEMINI_BASE_URL"
	keyVariable  = "GEMINI_API_KEY"
	defaultBase  = "https://generativelanguage.googleapis.com"
)

// administrators is the file of an administrator's settings on Linux.
const administrators = "/etc/gemini-cli/settings.json"

// The ways of authentication whose requests go to the base URL: with a key, and the one that the client
// uses for a base URL if the settings choose none.
var withKey = []string{"gemini-api-key", "gateway"}

// elsewhere are the services of the other ways, by their names in the settings.
var elsewhere = map[string]string{
	"oauth-personal": "a login with Google", "vertex-ai": "Vertex AI", "cloud-shell": "Cloud Shell", "compute-default-credentials": "credentials of Google Cloud",
}

// switches are the variables that choose such a way if the settings choose none.
var switches = []struct{ variable, kind string }{{"GOOGLE_GENAI_USE_GCA", "oauth-personal"}, {"GOOGLE_GENAI_USE_VERTEXAI", "vertex-ai"}}

// apart are the words and options with which the program asks no model.
var apart = []string{
	"mcp", "extensions", "extension", "skills", "skill", "hooks", "hook", "--help", "-h", "--version", "-v", "--list-extensions", "-l", "--list-sessions",
}

// plainly ends the sentences about what a gateway cannot serve.
const plainly = "plain `" + Program + "` runs without it; flame's frames work in it all the same"

// behind returns how a command line of the client runs behind a gateway.
func behind(m hosts.Machine, args []string) (hosts.GatewayLaunch, error) {
	if len(args) > 0 && slices.Contains(apart, args[0]) {
		return hosts.GatewayLaunch{Plain: true}, nil
	}
	if err := refusal(m, args); err != nil {
		return hosts.GatewayLaunch{}, err
	}
	upstream, err := hosts.ParseBase(cmp.Or(m.Getenv(baseVariable), ofUser(m, baseVariable), defaultBase), baseVariable)
	if err != nil {
		return hosts.GatewayLaunch{}, err
	}
	b := hosts.GatewayLaunch{
		Upstream: upstream, Network: hosts.NetworkOf(m.Getenv),
		Args: func(_, _ string) []string { return args },
		Env: func(base, mark string) []string {
			return append(hosts.BypassProxies(m.Getenv), baseVariable+"="+base, mark)
		},
	}
	if file := setsVariable(m, baseVariable); file != "" {
		const note = "%s sets %s, which flame ignores: a project could send your requests and your key anywhere"
		b.Notes = append(b.Notes, fmt.Sprintf(note, file, baseVariable))
	}
	b.Notes = append(b.Notes, hosts.NoFoldingNote(Client{Machine: m}.consent())...)
	return b, nil
}

// refusal returns why the client's requests would not go through a gateway; nil if they do.
func refusal(m hosts.Machine, args []string) error {
	kind, where := authentication(m)
	switch {
	case kind == "":
		return core.Invalidf("flame's gateway serves Gemini CLI with an API key, and %s is not set", keyVariable).WithHint("set it; " + plainly)
	case !slices.Contains(withKey, kind):
		return core.Invalidf("%s chooses %s: such requests go elsewhere, and flame's gateway serves those with an API key", where, cmp.Or(elsewhere[kind], kind)).
			WithHint(plainly)
	}
	if isIn(args, cmp.Or(m.Getenv("GEMINI_SANDBOX"), sandboxOf(m))) {
		return core.Invalidf("Gemini CLI works in a sandbox, from which it may not reach a gateway on this machine").WithHint(plainly)
	}
	return nil
}

// isIn reports whether the command line or the environment ask for a sandbox.
func isIn(args []string, variable string) bool {
	asked := slices.ContainsFunc(args, func(word string) bool {
		return word == "-s" || word == "--sandbox" || strings.HasPrefix(word, "--sandbox=") && word != "--sandbox=false"
	})
	return asked || !slices.Contains([]string{"", "0", "false", "sandbox-exec"}, strings.ToLower(variable))
}

// A layer is a file of settings.
type layer struct {
	settings
	path string
}

// layers returns the client's settings: an administrator's come before the project's, and these before
// the user's.
func layers(m hosts.Machine) (all []layer) {
	for _, file := range []struct {
		path string
		of   hosts.Scope
	}{
		{cmp.Or(m.Getenv("GEMINI_CLI_SYSTEM_SETTINGS_PATH"), administrators), hosts.ScopeUser},
		{filepath.Join(m.ProjectDir, ".gemini", "settings.json"), hosts.ScopeProject},
		{filepath.Join(ownFolder(m), "settings.json"), hosts.ScopeUser},
	} {
		l := layer{path: file.path}
		readFile(m.Files(file.of), &l.settings, file.path)
		all = append(all, l)
	}
	return all
}

// sandboxOf returns the sandbox that the settings choose; empty without one.
func sandboxOf(m hosts.Machine) string {
	for _, l := range layers(m) {
		if chosen := l.Tools.Sandbox; chosen != nil {
			return fmt.Sprint(chosen)
		}
	}
	return ""
}

// authentication returns the way that the client chooses, and where that is set.
func authentication(m hosts.Machine) (kind, where string) {
	for _, l := range layers(m) {
		if l.Security.Auth.Type != "" {
			return l.Security.Auth.Type, l.path
		}
	}
	for _, s := range switches {
		if m.Getenv(s.variable) == "true" {
			return s.kind, s.variable
		}
	}
	if m.Getenv(keyVariable) != "" || ofUser(m, keyVariable) != "" {
		return withKey[0], keyVariable
	}
	return "", ""
}

// maxVariables bounds the user's file of variables in bytes.
const maxVariables = 64 << 10

// ofUser returns the value that the user's own file of variables gives one; empty without one.
func ofUser(m hosts.Machine, name string) string {
	for line := range strings.Lines(string(hooks.Head(filepath.Join(ownFolder(m), ".env"), maxVariables))) {
		key, value, set := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		if set && strings.TrimSpace(key) == name {
			return strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return ""
}
