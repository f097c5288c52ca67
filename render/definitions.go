package render

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"flame/agents/definition"
	"flame/agents/plan"
	"flame/core"
	"flame/hosts"
)

// DefinitionSource returns where a definition comes from, for people.
func DefinitionSource(def definition.Definition) string {
	if def.Source.File == "" {
		return def.Source.Kind
	}
	return def.Source.File
}

// DefinitionRemarks says which definition def replaces, and why def has no effect.
func DefinitionRemarks(def definition.Definition) (text string) {
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
	return text
}

// Definition returns a definition for people.
func Definition(def definition.Definition) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)%s\n%s\n", def.Name, DefinitionSource(def), DefinitionRemarks(def), def.Description)
	tools := "the caller's"
	if def.Tools != nil {
		tools = hosts.ToolSet{}.Only(def.Tools).String()
	}
	for _, line := range []struct{ name, value string }{
		{"Host", def.Host}, {"Model", def.Model}, {"Mode", string(def.PermissionMode)}, {"Tools", tools},
		{"Not", strings.Join(def.DisallowedTools, ", ")},
	} {
		if line.value != "" {
			fmt.Fprintf(&b, "%s: %s\n", line.name, line.value)
		}
	}
	return b.String() + "\n" + def.Prompt
}

// Grants lists grants, one per line.
func Grants(all []plan.Grant) string {
	if len(all) == 0 {
		return "No grants; `flame agents grant` makes one.\n"
	}
	var b strings.Builder
	for _, g := range all {
		fmt.Fprintf(&b, "%s: %s%s: %s\n", g.ID, g.Mode, grantScope(g), core.OneLine(g.Reason, 100))
	}
	return b.String()
}

// grantScope returns the scope of a grant.
func grantScope(g plan.Grant) (text string) {
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
