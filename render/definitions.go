package render

import (
	"cmp"
	"fmt"
	"strings"

	"flame/agents/definition"
	"flame/agents/plan"
	"flame/core"
	"flame/hosts"
)

// DefinitionHead returns a line with the name of a definition, where it comes from, which
// definition it replaces, and why it has no effect.
func DefinitionHead(def definition.Definition) string {
	text := fmt.Sprintf("%s (%s)", def.Name, cmp.Or(def.Source.File, def.Source.Kind))
	if def.Replaces != nil {
		text += ", replacing " + cmp.Or(def.Replaces.File, "the built-in one")
	}
	if def.ShadowedBy != "" {
		text += ", shadowed by " + def.ShadowedBy
	}
	if def.Disabled {
		text += ", disabled"
	}
	if def.Hidden {
		text += ", hidden"
	}
	return text + "\n"
}

// Definition returns a definition for people.
func Definition(def definition.Definition) string {
	tools := "the caller's"
	if def.Tools != nil {
		tools = hosts.ToolSet{}.Only(def.Tools).String()
	}
	return DefinitionHead(def) + def.Description + "\n" + Field("Host", def.Host) + Field("Model", def.Model) +
		Field("Mode", string(def.PermissionMode)) + Field("Tools", tools) + Field("Not", strings.Join(def.DisallowedTools, ", ")) +
		"\n" + def.Prompt
}

// Grants lists grants, one per line.
func Grants(all []plan.Grant, now core.Millis) string {
	if len(all) == 0 {
		return "No grants; `flame agents grant` makes one.\n"
	}
	var b strings.Builder
	for _, g := range all {
		fmt.Fprintf(&b, "%s: %s%s: %s\n", g.ID, g.Mode, grantScope(g, now), core.OneLine(g.Reason, 100))
	}
	return b.String()
}

// grantScope returns the scope of a grant.
func grantScope(g plan.Grant, now core.Millis) (text string) {
	if g.Agent != "" {
		text += ", for " + g.Agent
	}
	if g.Session != "" {
		text += ", below " + g.Session
	}
	if g.ExpiresAt > 0 {
		text += ", until " + Time(g.ExpiresAt, now)
	}
	if len(g.During) > 0 {
		text += ", made while agents were running"
	}
	return text
}
