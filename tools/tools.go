// Package tools is the MCP door: every flame tool, the resources, prompts and
// guidance. It holds no rules; a tool turns its arguments into one operation of
// project and the outcome into a short text for a model, with the ids it needs
// next. Package transport carries the messages.
package tools

import (
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/agents"
	"flame/core"
	"flame/project"
)

// A group is a group of tools.
type group struct {
	name   string // in FLAME_TOOLS and in the documentation
	tools  []Tool
	guests bool // agents that other machines asked for have it too
}

// groups returns the groups of tools in the order in which they are documented.
func groups(p *project.Project, a *agents.Agents) []group {
	return []group{
		{"frames", frameTools(p, a), true},
		{"plan", planTools(p), true},
		{"context", contextTools(p, a), true},
		{"summary", summaryTools(p), true},
		{"subagents", subagentTools(p), false},
		{"agents", agentTools(a), false},
		{"autonomy", autonomyTools(p), false},
		{"state", stateTools(p), false},
	}
}

// Groups returns the names of the groups in the order in which they are documented.
func Groups() []string {
	return lo.Map(groups(&project.Project{}, &agents.Agents{}), func(g group, _ int) string { return g.name })
}

// All returns every tool of a project and its agents. The last one is flame_more.
func All(p *project.Project, a *agents.Agents) []Tool { return allOf(groups(p, a)) }

// ForRemoteAgents returns the tools of an agent that another machine asked for. They show what
// travels between machines anyway, and no other agents' work, settings or sessions.
func ForRemoteAgents(p *project.Project, a *agents.Agents) []Tool {
	return allOf(lo.Filter(groups(p, a), func(g group, _ int) bool { return g.guests }))
}

func allOf(groups []group) (all []Tool) {
	for _, g := range groups {
		for _, t := range g.tools {
			t.Group = g.name
			all = append(all, t)
		}
	}
	more := moreTool(all)
	more.Group = lean
	return append(all, more)
}

// Names returns the names of flame's tools.
func Names() []string { return named(All(&project.Project{}, &agents.Agents{})) }

// Offered returns the names of the tools of a profile; of all if there is no such profile.
func Offered(profile string) []string {
	chosen, err := Select(All(&project.Project{}, &agents.Agents{}), profile)
	if err != nil {
		return Names()
	}
	return named(chosen)
}

func named(list []Tool) []string { return lo.Map(list, func(t Tool, _ int) string { return t.Name }) }

// Find returns the tool of this name, or an error that lists the tools with a word of it
// in their names; all, if there are none.
func Find(all []Tool, name string) (Tool, error) {
	words := strings.Split(strings.TrimPrefix(name, "flame_"), "_")
	var names, alike []string
	for _, t := range all {
		if t.Name == name || t.Name == "flame_"+name {
			return t, nil
		}
		names = append(names, t.Name)
		if slices.ContainsFunc(words, func(word string) bool { return word != "" && strings.Contains(t.Name, word) }) {
			alike = append(alike, t.Name)
		}
	}
	if len(alike) > 0 {
		names = alike
	}
	return Tool{}, core.NotFoundf("there is no tool %q", name).WithHint("use one of %s", strings.Join(names, ", "))
}

// Select returns the tools of a profile: "all", "lean", "core", groups and tools, separated by
// commas. An unknown name is an error.
func Select(all []Tool, profile string) ([]Tool, error) {
	known, wanted := append(Groups(), append(named(all), "", "all", lean, "core")...), map[string]bool{}
	for word := range strings.SplitSeq(profile, ",") {
		word = strings.ToLower(strings.TrimSpace(word))
		if !slices.Contains(known, word) {
			return nil, core.Invalidf("there is no group or tool %q", word).
				WithHint("use all, lean, core, names of tools, or some of %s", strings.Join(Groups(), ", "))
		}
		wanted[word] = true
	}
	var chosen []Tool
	for _, t := range all {
		everything := (wanted["all"] || wanted[""]) && t.Group != lean
		if everything || wanted[t.Group] || wanted[t.Name] || wanted["core"] && t.Core || wanted[lean] && t.inLean() {
			if wanted[lean] && !everything && !wanted[t.Group] && !wanted[t.Name] {
				t.Schema = t.brief
			}
			chosen = append(chosen, t)
		}
	}
	return chosen, nil
}
