package main

import (
	"flame/tests/clients"
	"flame/tests/economy/work"
)

// A variant is one way of doing the work, a row of the table.
type variant struct {
	host, name string
	flame      bool // it is set up
	way        work.Way
	env        []string
	gateway    bool // flame starts the host, behind a gateway
	compacts   bool // the host, before the last prompt
}

// Names of hosts and variants with goals, or for comparisons.
const (
	openCode     = clients.OpenCode
	claudeCode   = clients.ClaudeCode
	codexCLI     = clients.Codex
	geminiCLI    = clients.Gemini
	withoutFlame = "no flame"
	unasked      = " and a prompt a piece"   // ends the name of a row whose agent never calls flame
	listed       = " and a list of 20 items" // the same, under one prompt
	withFlame    = "flame"
	natively     = "each piece a native subagent"
	behind       = "flame claude"
	behindTrim   = "FLAME_TRIM=old flame claude"
	behindCodex  = "FLAME_GATEWAY_FOLD=on flame codex"
	behindGemini = "FLAME_GATEWAY_FOLD=on flame gemini"
)

// todoTools has Claude Code offer its list tool, loaded at once.
var todoTools = []string{"ENABLE_TOOL_SEARCH=false", "CLAUDE_CODE_ENABLE_TODO_TOOLS=1", "CLAUDE_CODE_ENABLE_TASKS=0"}

// variants are all measured variants.
var variants = []variant{
	{host: openCode, name: withoutFlame, way: work.Plain},
	{host: openCode, name: withFlame, flame: true, way: work.Framed},
	{host: openCode, name: "FLAME_FOLD=off", flame: true, way: work.Framed, env: []string{"FLAME_FOLD=off"}},
	{host: openCode, name: "FLAME_TOOLS=all", flame: true, way: work.Framed, env: []string{"FLAME_TOOLS=all"}},
	{host: openCode, name: "FLAME_TRIM=superseded", flame: true, way: work.Framed, env: []string{"FLAME_TRIM=superseded"}},
	{host: openCode, name: "FLAME_TRIM=old", flame: true, way: work.Framed, env: []string{"FLAME_TRIM=old"}},
	{host: openCode, name: natively, flame: true, way: work.Natively},
	{host: openCode, name: withoutFlame + unasked, way: work.Asked},
	{host: openCode, name: withFlame + unasked, flame: true, way: work.Asked},
	{host: openCode, name: withoutFlame + listed, way: work.Listed},
	{host: openCode, name: withFlame + listed, flame: true, way: work.Listed},
	{host: claudeCode, name: withoutFlame, way: work.Plain},
	{host: claudeCode, name: withFlame, flame: true, way: work.Framed},
	{host: claudeCode, name: behind, flame: true, way: work.Framed, gateway: true},
	{host: claudeCode, name: behindTrim, flame: true, way: work.Framed, env: []string{"FLAME_TRIM=old"}, gateway: true},
	{host: claudeCode, name: natively, flame: true, way: work.Natively},
	{host: claudeCode, name: withoutFlame + unasked, way: work.Asked},
	{host: claudeCode, name: behind + unasked, flame: true, way: work.Asked, gateway: true},
	{host: claudeCode, name: withoutFlame + listed, way: work.Listed, env: todoTools},
	{host: claudeCode, name: behind + listed, flame: true, way: work.Listed, env: todoTools, gateway: true},
	{host: codexCLI, name: withoutFlame, way: work.Plain},
	{host: codexCLI, name: withFlame, flame: true, way: work.Framed},
	{host: codexCLI, name: behindCodex, flame: true, way: work.Framed, env: []string{"FLAME_GATEWAY_FOLD=on"}, gateway: true},
	{host: geminiCLI, name: withoutFlame, way: work.Plain},
	{host: geminiCLI, name: withFlame, flame: true, way: work.Framed},
	{host: geminiCLI, name: behindGemini, flame: true, way: work.Framed, env: []string{"FLAME_GATEWAY_FOLD=on"}, gateway: true},
}
