package codex

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"flame/core"
	"flame/hosts"
)

// Where Codex sends its requests to OpenAI with an API key. With a login by ChatGPT it asks a server
// where to send them.
const (
	openAI      = "openai" // the provider
	baseSetting = "openai_base_url"
	keyedBase   = "https://api.openai.com/v1"
)

// keyVariable holds an API key for `codex exec`, whatever the login.
const keyVariable = "CODEX_API_KEY"

// plainly ends a refusal.
const plainly = "use plain `" + Program + "` here; flame's frames work in it all the same"

// certificates names a file of certificates that Codex trusts; else SSL_CERT_FILE does.
const certificates = "CODEX_CA_CERTIFICATE"

// behind returns how a command line of Codex runs behind a gateway.
func (h Client) behind(args []string) (hosts.GatewayLaunch, error) {
	line := read(args)
	if plain[line.command] {
		return hosts.GatewayLaunch{Plain: true}, nil
	}
	if line.elsewhere != "" {
		return hosts.GatewayLaunch{}, core.Invalidf("with %s, flame does not know where Codex sends its requests", line.elsewhere).WithHint(plainly)
	}
	codex, err := facts().On(h.Machine)
	if err != nil {
		return hosts.GatewayLaunch{}, err
	}
	c, err := h.configured(context.Background(), codex, line.options)
	if err != nil {
		return hosts.GatewayLaunch{}, err
	}
	upstream, setting, err := c.route(h.Machine.Getenv(keyVariable) != "" && line.command == "exec")
	if err != nil {
		return hosts.GatewayLaunch{}, err
	}
	network := hosts.NetworkOf(h.Machine.Getenv)
	network[hosts.Certificates] = cmp.Or(h.Machine.Getenv(certificates), network[hosts.Certificates])
	notes := []string(nil)
	if !slices.Contains(args, "--dangerously-bypass-hook-trust") {
		notes = hosts.NoFoldingNote(c.Hooks.consent())
	}
	return hosts.GatewayLaunch{
		Upstream: upstream, Network: network, Notes: notes,
		Args: func(_, base string) []string { return line.with(setting(base)) },
		Env:  func(_, mark string) []string { return append(hosts.BypassProxies(h.Machine.Getenv), mark) },
	}, nil
}

// A config is what Codex says of its configuration and login.
type config struct {
	Settings *struct {
		Provider  string                     `json:"model_provider"`
		Base      string                     `json:"openai_base_url"`
		Providers map[string]json.RawMessage `json:"model_providers"`
	} `json:"config"`
	Origins map[string]struct {
		Name struct {
			Type string `json:"type"`
		} `json:"name"`
	} `json:"origins"`
	Hooks   hookList `json:"-"`
	Account struct {
		Account *struct {
			Type string `json:"type"`
		} `json:"account"`
	} `json:"-"`
}

// configured asks Codex for its configuration, with the settings of a command line.
func (h Client) configured(ctx context.Context, codex hosts.Program, options []string) (c config, err error) {
	err = h.ask(ctx, codex, options,
		question{"config/read", map[string]any{"includeLayers": false, "cwd": h.Machine.ProjectDir}, &c},
		question{"account/read", map[string]any{"refreshToken": false}, &c.Account},
		question{"hooks/list", map[string]any{"cwds": []string{h.Machine.ProjectDir}}, &c.Hooks})
	if err != nil || c.Settings == nil {
		return c, core.Unavailablef(err, "Codex does not say where its requests go").WithHint(plainly)
	}
	return c, nil
}

// A provider is a model provider of the user's own.
type provider struct {
	Base string    `json:"base_url"`
	API  string    `json:"wire_api"`
	AWS  *struct{} `json:"aws"`
}

// named matches names that need no quotes in a key of a setting.
var named = core.Pattern(`^[A-Za-z0-9_-]+$`)

// azure matches base URLs by which Codex knows Azure, to which it speaks otherwise.
var azure = core.Pattern(`(?i)azure|windows\.net`)

// route returns the base URL that Codex would use, and the settings that replace it. keyed says that
// it uses an API key, whatever its login.
func (c config) route(keyed bool) (upstream *url.URL, settings func(base string) []string, err error) {
	name := cmp.Or(c.Settings.Provider, openAI)
	for key, origin := range c.Origins {
		if origin.Name.Type == "project" && (key == "model_provider" || key == baseSetting || strings.HasPrefix(key, "model_providers")) {
			return nil, nil, core.Invalidf("the project's settings choose where requests go (%s), which flame does not follow", key).WithHint(plainly)
		}
	}
	base, setting := "", baseSetting
	switch own := c.Settings.Providers[name]; {
	case name == openAI:
		if base, err = c.login(keyed); err != nil {
			return nil, nil, err
		}
	case own != nil && named().MatchString(name):
		var p provider
		if json.Unmarshal(own, &p) != nil || p.Base == "" || cmp.Or(p.API, "responses") != "responses" || p.AWS != nil || azure().MatchString(p.Base) {
			return nil, nil, core.Invalidf("flame's gateway does not serve the model provider %q", name).WithHint(plainly)
		}
		base, setting = p.Base, "model_providers."+name+".base_url"
	default:
		return nil, nil, core.Invalidf("flame's gateway does not serve the model provider %q", name).WithHint(plainly)
	}
	upstream, err = hosts.ParseBase(base, fmt.Sprintf("the base URL of Codex's model provider %q", name))
	return upstream, func(base string) []string {
		return []string{"-c", setting + "=" + literal(base), "-c", "features.enable_request_compression=false"}
	}, err
}

// login returns the base URL of OpenAI.
func (c config) login(keyed bool) (string, error) {
	account := c.Account.Account
	switch {
	case c.Settings.Base != "":
		return c.Settings.Base, nil
	case keyed || account != nil && account.Type == "apiKey":
		return keyedBase, nil
	}
	return "", core.Invalidf("Codex has no API key: flame's gateway does not serve a login with ChatGPT").
		WithHint("%s; or log in with an API key (`%s login --with-api-key`)", plainly, Program)
}

// A line is a command line of Codex.
type line struct {
	args      []string
	command   string   // empty: a session in the terminal
	options   []string // that change settings
	elsewhere string   // an option with which its app server does not say where requests go
}

// plain are the commands whose requests to a model, if they send any, pass no gateway: a server has
// sessions of its own.
var plain = map[string]bool{
	"login": true, "logout": true, "mcp": true, "plugin": true, "mcp-server": true, "app-server": true, "exec-server": true, "app": true,
	"completion": true, "update": true, "queue": true, "agents": true, "migrate-rollouts": true, "migrate-nfs-db": true, "doctor": true,
	"sandbox": true, "debug": true, "apply": true, "a": true, "archive": true, "unarchive": true,
	"delete": true, "cloud": true, "features": true, "help": true, "remote-control": true, "execpolicy": true,
	"--help": true, "-h": true, "--version": true, "-V": true,
}

// same are the short names of commands.
var same = map[string]string{"e": "exec"}

// Options of Codex that take a value, by what they mean here.
var (
	settingOptions   = []string{"-c", "--config", "--enable", "--disable"}
	elsewhereOptions = []string{"--oss", "--local-provider", "--remote", "-p", "--profile"}
	valueOptions     = []string{
		"-m", "--model", "-s", "--sandbox", "-a", "--ask-for-approval", "-C", "--cd", "-i", "--image", "--add-dir", "--remote-auth-token-env",
		"--color", "--output-schema", "-o", "--output-last-message",
	}
)

// read reads a command line.
func read(args []string) line {
	l := line{args: args}
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		name, _, joined := strings.Cut(args[i], "=")
		switch {
		case slices.Contains(elsewhereOptions, name), strings.HasPrefix(name, "-p"):
			l.elsewhere = name
		case strings.HasPrefix(name, "-c") && name != "-c": // with its value
			l.options = append(l.options, args[i])
		case slices.Contains(settingOptions, name):
			if l.options = append(l.options, args[i]); !joined && i+1 < len(args) {
				i++
				l.options = append(l.options, args[i])
			}
		case slices.Contains(valueOptions, name) && !joined:
			i++
		case l.command == "" && (!strings.HasPrefix(name, "-") || plain[name]):
			l.command = cmp.Or(same[name], name)
		}
	}
	return l
}

// with returns the command line with more options, which come last: they win over the same ones
// before them.
func (l line) with(options []string) []string {
	at := slices.Index(l.args, "--")
	if at < 0 {
		at = len(l.args)
	}
	return slices.Insert(slices.Clone(l.args), at, options...)
}
