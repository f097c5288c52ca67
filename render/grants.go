package render

import (
	"fmt"
	"strings"
	"time"

	"flame/agents/permission"
	"flame/core"
)

// Grants lists grants, one per line.
func Grants(all []permission.Grant) string {
	if len(all) == 0 {
		return "No grants; `flame agents grant` makes one.\n"
	}
	var b strings.Builder
	for _, g := range all {
		fmt.Fprintf(&b, "%s: %s%s: %s\n", g.ID, g.Mode, grantScope(g), core.OneLine(g.Reason, 100))
	}
	return b.String()
}

// grantScope returns what a grant applies to.
func grantScope(g permission.Grant) (text string) {
	if g.Agent != "" {
		text += ", for " + g.Agent
	}
	if g.Session != "" {
		text += ", below " + g.Session
	}
	if g.ExpiresAt > 0 {
		text += ", until " + g.ExpiresAt.Time().Local().Format(time.DateTime)
	}
	if len(g.During) > 0 {
		text += ", made while agents were running"
	}
	return text
}
