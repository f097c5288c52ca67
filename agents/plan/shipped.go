package plan

import (
	"cmp"
	"fmt"
	"strings"

	"flame/agents/definition"
)

// What a repository ships is written by whoever can write the repository, so its
// definitions only take away from what the caller and the settings give. That is said
// where it is decided: here, and for the mode by permission.Choose and Grant, for rules by
// Trusted, for what a host would run by HandedOn.

// lessened returns the definition as it may limit an agent: a shipped one lowers the
// settings' limits and raises none. It tells what whoever asks for the agent should
// know of that, and of whose place it takes.
func (pl Planner) lessened(def definition.Definition) (less definition.Definition, told []string) {
	if !def.Shipped() {
		return def, nil
	}
	if def.Replaces != nil {
		told = append(told, def.Origin(pl.Dir))
	}
	var above []string
	note := func(key string, lowered bool) {
		if lowered {
			above = append(above, key)
		}
	}
	each := pl.Bounds.Each
	note("timeout", lower(&def.Timeout, each.Wall))
	note("budget_tokens", lower(&def.BudgetTokens, each.Tokens))
	note("budget_usd", lower(&def.BudgetUSD, each.CostUSD))
	if def.Retries != nil && *def.Retries > each.Retries {
		def.Retries = &each.Retries
		note("retries", true)
	}
	if len(above) > 0 {
		told = append(told, fmt.Sprintf("%s: this project's %s asks for more than the settings give, and gets what they do",
			strings.Join(above, ", "), def.File(pl.Dir)))
	}
	return def, told
}

// lower brings a limit down to a setting, and reports whether it was above; 0 is no
// limit.
func lower[T cmp.Ordered](limit *T, setting T) bool {
	var none T
	if setting == none || *limit <= setting {
		return false
	}
	*limit = setting
	return true
}
