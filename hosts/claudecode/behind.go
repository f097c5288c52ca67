package claudecode

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"flame/core"
	"flame/hosts"
)

// The client's variables that a gateway needs to know, and what it sends requests to
// without any.
const (
	baseVariable  = "ANTHROPIC_BASE_URL"
	hintsVariable = "CLAUDE_CODE_GATEWAY_HINT_HEADERS" // has it say what each request is for
	defaultBase   = "https://api.anthropic.com"
)

// elsewhere are the switches by which the client sends its requests to another service,
// in that one's own format or to that one's own address.
var elsewhere = []struct{ variable, service string }{
	{"CLAUDE_CODE_USE_BEDROCK", "Amazon Bedrock"}, {"CLAUDE_CODE_USE_MANTLE", "Amazon Bedrock"}, {"CLAUDE_CODE_USE_ANTHROPIC_AWS", "Anthropic on AWS"},
	{"CLAUDE_CODE_USE_VERTEX", "Google Vertex AI"}, {"CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD", "Anthropic on Google Cloud"},
	{"CLAUDE_CODE_USE_FOUNDRY", "Microsoft Foundry"}, {"CLAUDE_CODE_USE_GATEWAY", "a gateway that it is logged in to"},
}

// socketVariable names a socket that the client sends its requests to, whatever its base
// URL is.
const socketVariable = "ANTHROPIC_UNIX_SOCKET"

// behind returns how a command line of the client runs behind a gateway. Settings of an
// administrator are in the folder managed.
func behind(m hosts.Machine, managed string, args []string) (hosts.GatewayLaunch, error) {
	if note, plain := runsPlain(args); plain {
		return hosts.GatewayLaunch{Plain: true, Notes: note}, nil
	}
	given, err := givenSettings(m, args)
	if err != nil {
		return hosts.GatewayLaunch{}, err
	}
	all := layersOf(m, managed, given)
	if err := all.refusal(); err != nil {
		return hosts.GatewayLaunch{}, err
	}
	upstream, err := all.upstream()
	if err != nil {
		return hosts.GatewayLaunch{}, err
	}
	return hosts.GatewayLaunch{
		Upstream: upstream, Network: all.network(), Notes: all.unfollowed(),
		Settings: func(base, mark string) ([]byte, error) { return given.with(all.forClient(base, mark)) },
		Args:     func(file, _ string) []string { return given.args(file) },
	}, nil
}

// refusal returns why the client's requests would not go through a gateway; nil if they do.
func (all layers) refusal() error {
	const plainly = "use plain `" + Program + "` here; flame's frames work in it all the same"
	for _, other := range elsewhere {
		if value, where := all.value(other.variable); slices.Contains([]string{"1", "true", "yes", "on"}, strings.ToLower(strings.TrimSpace(value))) {
			return core.Invalidf("%s is set in %s: requests go to %s, which flame's gateway does not serve", other.variable, where, other.service).WithHint(plainly)
		}
	}
	if value, where := all.value(socketVariable); value != "" {
		return core.Invalidf("%s is set in %s: requests go there, and not through flame's gateway", socketVariable, where).WithHint(plainly)
	}
	for _, l := range all {
		if base, _ := l.env(baseVariable); l.rank == ofAdministrator && base != "" {
			return core.Invalidf("%s sets %s, which no other setting can change: requests would not go through flame's gateway", l.where, baseVariable).
				WithHint(plainly)
		}
	}
	return nil
}

// upstream returns the base URL that the client would use, but for what the project says.
func (all layers) upstream() (*url.URL, error) {
	value, where := all.trusted().value(baseVariable)
	return hosts.ParseBase(cmp.Or(strings.TrimSpace(value), defaultBase), baseVariable+" in "+where)
}

// network returns the variables by which the gateway reaches the network: what the user's settings
// say of them holds for it.
func (all layers) network() map[string]string { return hosts.NetworkOf(all.trusted().only) }

// forClient returns the variables that the client needs to send its requests to a base
// URL of this machine's own.
func (all layers) forClient(base, mark string) map[string]string {
	env := map[string]string{baseVariable: base, hintsVariable: "1"}
	for _, variable := range append(hosts.BypassProxies(all.only), mark) {
		name, value, _ := strings.Cut(variable, "=")
		env[name] = value
	}
	return env
}

// unfollowed reports a base URL that the project sets and flame ignores.
func (all layers) unfollowed() (notes []string) {
	for _, l := range all {
		if base, _ := l.env(baseVariable); l.rank == ofProject && base != "" {
			notes = append(notes, fmt.Sprintf("%s sets %s, which flame ignores: a project could send your requests and your key anywhere", l.where, baseVariable))
		}
	}
	return notes
}
