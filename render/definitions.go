package render

import (
	"cmp"
	"fmt"
	"strings"

	"flame/agents/definition"
	"flame/hosts"
)

// DefinitionSource returns where a definition comes from, for people.
func DefinitionSource(def definition.Definition) string {
	if def.Source.File == "" {
		return def.Source.Kind
	}
	return def.Source.File
}

// DefinitionRemarks says which definition it replaces, and why it is not in
// effect.
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
