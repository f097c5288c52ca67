// Package env has names that texts mention: of the settings, for packages that must not know their
// values, and those under which flame is published. Package config has the settings.
package env

import "os"

// Commands is the value of Hooks for a process for each event.
const Commands = "command"

// The variables, by the fields of config.Settings.
const (
	ProjectDir           = "FLAME_PROJECT_DIR"
	Dir                  = "FLAME_DIR"
	Tools                = "FLAME_TOOLS"
	Hooks                = "FLAME_HOOKS"
	HTTPToken            = "FLAME_HTTP_TOKEN"
	BudgetTotal          = "FLAME_TOKEN_BUDGET_TOTAL"
	BudgetAncestors      = "FLAME_TOKEN_BUDGET_ANCESTORS"
	BudgetSiblings       = "FLAME_TOKEN_BUDGET_SIBLINGS"
	BudgetCurrent        = "FLAME_TOKEN_BUDGET_CURRENT"
	SubagentEnabled      = "FLAME_SUBAGENT_ENABLED"
	SubagentMinDuration  = "FLAME_SUBAGENT_MIN_DURATION"
	SubagentMinMessages  = "FLAME_SUBAGENT_MIN_MESSAGES"
	SubagentAutoComplete = "FLAME_SUBAGENT_AUTO_COMPLETE"
	SubagentIdleDelay    = "FLAME_SUBAGENT_IDLE_DELAY"
	SubagentPatterns     = "FLAME_SUBAGENT_PATTERNS"
	AgentHost            = "FLAME_AGENT_HOST"
	AgentMaxDepth        = "FLAME_AGENT_MAX_DEPTH"
	AgentMaxTotal        = "FLAME_AGENT_MAX_TOTAL"
	AgentMaxConcurrent   = "FLAME_AGENT_MAX_CONCURRENT"
	AgentTimeout         = "FLAME_AGENT_TIMEOUT"
	AgentBudgetTokens    = "FLAME_AGENT_BUDGET_TOKENS"
	AgentBudgetUSD       = "FLAME_AGENT_BUDGET_USD"
	AgentOnSessionEnd    = "FLAME_AGENT_ON_SESSION_END"
	Fold                 = "FLAME_FOLD"
	Trim                 = "FLAME_TRIM"
	GatewayFold          = "FLAME_GATEWAY_FOLD"
	AutonomyLevel        = "FLAME_AUTONOMY_LEVEL"
	PushThreshold        = "FLAME_PUSH_THRESHOLD"
	PopThreshold         = "FLAME_POP_THRESHOLD"
	SuggestInContext     = "FLAME_SUGGEST_IN_CONTEXT"
	EnabledHeuristics    = "FLAME_ENABLED_HEURISTICS"
)

// The variables with which flame's own processes communicate. They are not settings.
const (
	// Gateway names the gateway of the process that set it, but not its address: a project's
	// settings could set the variable.
	Gateway = "FLAME_GATEWAY"
	// GatewayDepth is how many programs behind gateways are around a process.
	GatewayDepth = "FLAME_GATEWAY_DEPTH"
	// GatewayHost, GatewayUpstream and GatewaySecret are only in the environment of a gateway: the
	// host whose requests it takes, the base URL that it sends them to, and the first path segment
	// of those that it accepts.
	GatewayHost     = "FLAME_GATEWAY_HOST"
	GatewayUpstream = "FLAME_GATEWAY_UPSTREAM"
	GatewaySecret   = "FLAME_GATEWAY_SECRET"
)

// Inner are these variables.
var Inner = []string{Gateway, GatewayDepth, GatewayHost, GatewayUpstream, GatewaySecret}

// TakeSecret returns the value of a variable that holds a secret, and removes it from the environment of
// this process: what flame starts inherits the rest, and an agent that knew the token of a server
// could call it as a user's session.
func TakeSecret(name string) string {
	value := os.Getenv(name)
	os.Unsetenv(name)
	return value
}
