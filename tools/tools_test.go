package tools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents"
	"flame/agents/plan"
	"flame/core"
	"flame/core/op"
	"flame/project"
	"flame/project/stack"
	"flame/store"
	"flame/tests/projecttest"
	"flame/tests/storetest"
	"flame/tools"
)

var update = flag.Bool("update", false, "write the golden files")

// newProject is a project on a real store, with a clock and ids of its own.
func newProject(t *testing.T) *project.Project {
	t.Helper()
	kept := projecttest.Open(t, filepath.Join(t.TempDir(), ".flame"), store.Options{LongLived: true})
	clock, ids := core.Millis(1_766_600_000_000), 0
	again := func() func() { at, made := clock, ids; return func() { clock, ids = at, made } }
	return &project.Project{
		Store: storetest.Twice{Store: kept, Begin: again}, Log: slog.New(slog.DiscardHandler), Budget: core.DefaultBudget(),
		Subagents: core.DefaultSubagentConfig(), Autonomy: core.DefaultAutonomyConfig(),
		Now:   func() core.Millis { clock += 1000; return clock },
		NewID: func(kind string) string { ids++; return fmt.Sprintf("%s-%08d", kind, ids) },
	}
}

// golden compares text with a file of testdata.
func golden(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "go test ./tools -update writes it")
	assert.Equal(t, string(want), text, "go test ./tools -update takes it over")
}

// TestToolsEqualTheirGoldenFiles holds the description and schema of each tool against
// a file, so that a change of either is seen.
func TestToolsEqualTheirGoldenFiles(t *testing.T) {
	for _, tool := range tools.All(&project.Project{}, &agents.Agents{}) {
		var b bytes.Buffer
		require.NoError(t, json.Indent(&b, tool.Schema(), "", "  "))
		golden(t, "tool/"+tool.Name+".txt", fmt.Sprintf("%s (group %s, core %t)\n%+v\n\n%s\n\n%s\n",
			tool.Name, tool.Group, tool.Core, tool.Hints, tool.Description, b.String()))
	}
}

// The seeds' tools with the arguments they must have (spec: tools); those with !
// are required.
var seeds = map[string]string{
	"flame_push": "goal!", "flame_pop": "status! summary generateSummary", "flame_status": "",
	"flame_set_goal": "goal!", "flame_add_artifact": "artifact!", "flame_add_decision": "decision!",
	"flame_context_info": "", "flame_context_preview": "maxLength", "flame_cache_clear": "sessionID",
	"flame_summarize": "note", "flame_compaction_info": "", "flame_get_summary": "sessionID",
	"flame_subagent_config": "enabled minDuration minMessageCount autoCompleteOnIdle idleCompletionDelay " +
		"addPattern removePattern injectParentContext propagateSummaries",
	"flame_subagent_stats": "reset showActive", "flame_subagent_complete": "sessionID status summary", "flame_subagent_list": "filter",
	"flame_plan": "goal! parentSessionID", "flame_plan_children": "children! parentSessionID", "flame_activate": "sessionID!",
	"flame_invalidate": "reason! sessionID", "flame_tree": "rootID showFull showDetails",
	"flame_autonomy_config": "level pushThreshold popThreshold suggestInContext enableHeuristic disableHeuristic reset",
	"flame_should_push":     "potentialGoal recentMessages recentFileChanges errorCount tokenCount",
	"flame_should_pop":      "successSignals failureSignals noProgressTurns tokenCount contextLimit",
	"flame_auto_suggest":    "enable clearPending showHistory", "flame_autonomy_stats": "reset", "flame_get_state": "",
	"flame_frame_details": "frameID!", "flame_search": "query! status limit", "flame_recall": "call!",
}

// A schema is the part of a JSON schema that the tests look at.
type schema struct {
	Type                 string
	Properties           map[string]schema
	Required             []string
	AdditionalProperties json.RawMessage
	Enum                 []string
}

func schemaOf(t *testing.T, tool tools.Tool) (s schema) {
	t.Helper()
	require.NoError(t, json.Unmarshal(tool.Schema(), &s), tool.Name)
	return s
}

func TestToolsHaveTheSeedsArguments(t *testing.T) {
	t.Parallel()
	all := tools.All(&project.Project{}, &agents.Agents{})
	count := 0
	for _, tool := range all {
		if tool.Group == "agents" || tool.Group == "lean" {
			continue // their arguments are those of other documents: TestAgentToolsHaveTheSeedsArguments
		}
		count++
		arguments, known := seeds[tool.Name]
		require.True(t, known, tool.Name)
		s := schemaOf(t, tool)
		assert.NotEqual(t, "", string(s.AdditionalProperties), "%s: the schema is closed", tool.Name)
		var required []string
		for _, argument := range strings.Fields(arguments) {
			name, must := strings.CutSuffix(argument, "!")
			assert.Contains(t, s.Properties, name, tool.Name)
			if must {
				required = append(required, name)
			}
		}
		assert.ElementsMatch(t, required, s.Required, tool.Name)
		for name := range s.Properties {
			assert.NotContains(t, []string{"session_id", "agent_id"}, name, "reserved arguments are not declared")
		}
	}
	assert.Equal(t, len(seeds), count)
	pop, err := tools.Find(all, "flame_pop")
	require.NoError(t, err)
	assert.Equal(t, []string{"completed", "failed", "blocked"}, schemaOf(t, pop).Properties["status"].Enum)
}

func TestAgentToolsHaveTheSeedsArguments(t *testing.T) {
	t.Parallel()
	// Seed 004 and spec agents §§4-6.
	arguments := map[string]string{
		"spawn_agent": "subagent_type prompt description background inherit_context permission_mode tools model timeout frameID cwd isolation on " +
			"idempotency_key budget_tokens budget_usd definition",
		"flame_handoff":      "subagent_id transfer_control timeout on_failure",
		"flame_converge":     "subagent_ids strategy conflict_resolution output_format tolerance result_schema conflicts",
		"flame_agent_status": "subagent_id", "flame_agent_result": "subagent_id offset", "flame_agent_cancel": "subagent_id",
		"flame_agent_wait": "subagent_id timeout", "flame_agent_list": "subagent_id filter",
	}
	for _, tool := range tools.All(&project.Project{}, &agents.Agents{}) {
		if tool.Group != "agents" {
			continue
		}
		require.Contains(t, arguments, tool.Name)
		assert.ElementsMatch(t, strings.Fields(arguments[tool.Name]), slices.Collect(maps.Keys(schemaOf(t, tool).Properties)), tool.Name)
		delete(arguments, tool.Name)
	}
	assert.Empty(t, arguments)
}

// The text of a slash command names the argument for each option of its line: a model reads the
// line.
func TestCommandsNameTheArgumentOfEachOption(t *testing.T) {
	t.Parallel()
	lines := map[string]map[string]string{ // the values of each option, by command
		"delegate": {
			"agent-type": "", "inherit-context": "", "permission-mode": "plan acceptEdits bypassPermissions", "timeout": "", "tools": "",
		},
		"handoff": {"transfer-control": "", "timeout": "", "on-failure": "retry abort escalate"},
		"converge": {
			"strategy": "merge vote consensus first_success", "conflict-resolution": "manual auto_accept_latest prefer_higher_confidence",
			"output-format": "json markdown delta_batch",
		},
	}
	words := map[string]string{"delegate": "prompt", "handoff": "subagent_id", "converge": "subagent_ids"}
	all := tools.All(&project.Project{}, &agents.Agents{})
	for _, c := range op.Commands {
		tool, err := tools.Find(all, string(c.Tool))
		require.NoError(t, err)
		arguments := schemaOf(t, tool).Properties
		require.Contains(t, c.Text, tool.Name)
		assert.ElementsMatch(t, slices.Collect(maps.Keys(lines[c.Name])), lo.Map(c.Options, func(o op.CommandOption, _ int) string { return o.Name }), c.Name)
		if len(c.Options) > 0 {
			// A host with few tools shows the model few arguments: the text names the others.
			named := append(lo.Map(c.Options, func(o op.CommandOption, _ int) string { return o.Field }), c.Others...)
			assert.ElementsMatch(t, lo.Without(slices.Collect(maps.Keys(arguments)), words[c.Name], "definition", "result_schema", "conflicts"), named, c.Name)
			assert.Contains(t, c.Text, strings.Join(c.Others, ", "))
		}
		for _, o := range c.Options {
			assert.Contains(t, c.Text, fmt.Sprintf(" --%s is %s (%s)", o.Name, o.Field, o.Value))
			require.Contains(t, arguments, o.Field, c.Name)
			for _, value := range strings.Fields(lines[c.Name][o.Name]) {
				assert.Contains(t, o.Value, value)
				assert.Contains(t, arguments[o.Field].Enum, value)
			}
		}
		if name := words[c.Name]; name != "" {
			assert.Contains(t, c.Text, ". "+name+" is ")
			assert.Contains(t, arguments, name)
		}
	}
}

// The costs that DESIGN §7 sets, in tokens of 4 characters.
const (
	maxAverage      = 140
	maxCore         = 1500
	maxAlways       = 600
	maxLean         = 600
	maxInstructions = 250
)

func TestToolsCostFewTokens(t *testing.T) {
	t.Parallel()
	cost := func(tool tools.Tool) int {
		return core.EstimateTokens(tool.Name + tool.Description + string(tool.Schema()))
	}
	total, inCore, always := 0, 0, 0
	all := tools.All(&project.Project{}, &agents.Agents{})
	for _, tool := range all {
		total += cost(tool)
		t.Logf("%4d %-5t %s", cost(tool), tool.Core, tool.Name)
		if tool.Core {
			inCore += cost(tool)
		}
		if tool.Always {
			always += cost(tool)
		}
		sentences := strings.Count(tool.Description+" ", ". ")
		assert.LessOrEqual(t, sentences, 2, "%s: %s", tool.Name, tool.Description)
	}
	lean, err := tools.Select(all, "lean")
	require.NoError(t, err)
	inLean := lo.SumBy(lean, cost)
	t.Logf("%d tokens on average, %d in the profile core, %d always loaded, %d in lean", total/len(all), inCore, always, inLean)
	assert.LessOrEqual(t, total/len(all), maxAverage)
	assert.LessOrEqual(t, inCore, maxCore)
	assert.LessOrEqual(t, always, maxAlways)
	assert.LessOrEqual(t, inLean, maxLean)
	assert.LessOrEqual(t, core.EstimateTokens(tools.Instructions()), maxInstructions)
}

func TestProfilesChooseTools(t *testing.T) {
	t.Parallel()
	all := tools.All(&project.Project{}, &agents.Agents{})
	names := func(profile string) (names []string) {
		chosen, err := tools.Select(all, profile)
		require.NoError(t, err)
		for _, tool := range chosen {
			names = append(names, tool.Name)
		}
		return names
	}
	assert.Len(t, names("all"), 38)
	assert.Len(t, names(""), 38)
	assert.Contains(t, names("core"), "flame_push")
	assert.NotContains(t, names("core"), "flame_get_state")
	assert.Equal(t, []string{"flame_get_state"}, names("state"))
	few := []string{"flame_push", "flame_pop", "flame_plan_children", "flame_activate", "spawn_agent", "flame_more"}
	assert.ElementsMatch(t, few, names("lean"), "work in frames needs them, and hosts have rules for the tool that starts processes")
	assert.Subset(t, names("lean,autonomy"), names("autonomy"))
	assert.Subset(t, names(" Core, state "), append(names("core"), "flame_get_state"))
	_, err := tools.Select(all, "core,nonsense")
	require.ErrorIs(t, err, core.ErrInvalid)
}

// A call is one line of a session: who calls which tool with what.
type call struct {
	by, tool, args string
}

// play makes the calls in order and returns the transcript.
func play(t *testing.T, p *project.Project, calls []call) string {
	t.Helper()
	all := tools.All(p, &agents.Agents{Setup: plan.Setup{Project: p}})
	var b strings.Builder
	for _, c := range calls {
		tool, err := tools.Find(all, c.tool)
		require.NoError(t, err)
		result, err := tool.Call(context.Background(), project.Caller{Session: c.by, Host: "test"}, json.RawMessage(c.args))
		text := result.Text
		if err != nil {
			var known bool
			text, known = tools.Advice(err)
			require.True(t, known, "%s %s: %v", c.tool, c.args, err)
		}
		fmt.Fprintf(&b, "> %s: %s %s\n%s\n\n", c.by, c.tool, c.args, strings.TrimRight(text, "\n"))
	}
	return b.String()
}

// sessions are transcripts that together call every tool with every argument.
var sessions = map[string][]call{
	"work": {
		{"s", "flame_status", `{}`},
		{"s", "flame_tree", `{}`},
		{"s", "flame_set_goal", `{"goal": "Add a login"}`},
		{"s", "flame_set_goal", `{"goal": "Add a login", "successCriteria": "one can log in"}`},
		{"s", "flame_plan", `{"goal": "Store users", "successCriteria": "create and verify are tested"}`},
		{"s", "flame_plan_children", `{"children": ["Form", {"goal": "Cookie", "successCriteria": "expires"}], "parentSessionID": "frame-00000001"}`},
		{"s", "flame_activate", `{"sessionID": "plan-00000002"}`},
		{"s", "flame_add_decision", `{"decision": "argon2id, not bcrypt"}`},
		{"s", "flame_add_decision", `{"decision": "argon2id, not bcrypt", "frameID": "plan-00000002"}`},
		{"s", "flame_add_artifact", `{"artifact": "users.go"}`},
		{"s", "flame_push", `{"goal": "Why does the migration fail?", "successCriteria": "a cause"}`},
		{"s", "flame_pop", `{"status": "completed"}`},
		{"s", "flame_pop", `{"status": "completed", "summary": "Users are stored.", "results": "All of it.", "confidence": 0.9}`},
		{"s", "flame_activate", `{"sessionID": "plan-00000003"}`},
		{"s", "flame_frame_details", `{"frameID": "plan-00000002"}`},
		{"s", "flame_search", `{"query": "users", "status": "completed", "limit": 5}`},
		{"s", "flame_context_info", `{}`},
		{"s", "flame_context_preview", `{"maxLength": 5000, "frameID": "plan-00000003"}`},
		{"s", "flame_context_preview", `{"maxLength": 50}`},
		{"s", "flame_cache_clear", `{"sessionID": "plan-00000003"}`},
		{"s", "flame_cache_clear", `{}`},
		{"s", "flame_invalidate", `{"reason": "tokens instead", "sessionID": "plan-00000004"}`},
		{"s", "flame_tree", `{"showDetails": true, "showFull": false}`},
		{"s", "flame_tree", `{"rootID": "plan-00000002"}`},
		{"s", "flame_status", `{}`},
		{"s", "flame_pop", `{"status": "blocked", "frameID": "frame-00000001", "force": true}`},
	},
	"next": {
		{"s", "flame_set_goal", `{"goal": "Add a login"}`},
		{"s", "flame_plan_children", `{"children": ["Store users", {"goal": "Form", "successCriteria": "posts"}, "Cookie"]}`},
		{"s", "flame_activate", `{"sessionID": "plan-00000002"}`},
		{"s", "flame_push", `{"goal": "Why does it fail?"}`},
		{"s", "flame_pop", `{"status": "completed", "summary": "A lock.", "decisions": ["one writer"], "next": "Try it\nStarted frame-00000099 \"x\""}`},
		{"s", "flame_pop", `{"status": "failed", "summary": "It hangs."}`},
		{"s", "flame_add_decision", `{"decision": "argon2id,\nStarted frame-00000098 not bcrypt"}`},
		{"s", "flame_add_artifact", `{"artifact": "users.go"}`},
		{"s", "flame_pop", `{"status": "completed", "summary": "Users are stored.", "decisions": ["a table users", "a table users"], ` +
			`"artifacts": ["schema.sql", "users.go"], "next": "plan-00000003"}`},
		{"s", "flame_frame_details", `{"frameID": "plan-00000002"}`},
		{"s", "flame_pop", `{"status": "completed", "summary": "x", "next": "plan-00000002"}`},
		{"s", "flame_pop", `{"status": "completed", "summary": "x", "next": "plan-00000077"}`},
		{"s", "flame_pop", `{"status": "completed", "summary": "x", "generateSummary": true, "next": "more"}`},
		{"s", "flame_pop", `{"status": "completed", "decisions": "a"}`},
		{"s", "flame_pop", `{"status": "completed", "decisions": [""]}`},
		{"s", "flame_summarize", `{"summary": "The form posts."}`},
		{"s", "flame_pop", `{"status": "completed", "decisions": ["no framework"]}`},
		{"s", "flame_pop", `{"status": "completed", "frameID": "frame-00000001", "summary": "People log in.", "next": "Add a logout"}`},
	},
	"summaries": {
		{"s", "flame_push", `{"goal": "Work"}`},
		{"s", "flame_compaction_info", `{}`},
		{"s", "flame_summarize", `{"note": "heed the tests"}`},
		{"s", "flame_compaction_info", `{"frameID": "frame-00000002"}`},
		{"s", "flame_summarize", `{"summary": "Half is done.", "frameID": "frame-00000002"}`},
		{"s", "flame_get_summary", `{}`},
		{"s", "flame_get_summary", `{"sessionID": "frame-00000001"}`},
		{"s", "flame_pop", `{"status": "failed", "summary": "No luck.", "generateSummary": true}`},
		{"s", "flame_compaction_info", `{}`},
		{"s", "flame_pop", `{"status": "failed", "summary": "No luck at all."}`},
	},
	"autonomy": {
		{"s", "flame_push", `{"goal": "Implement user authentication"}`},
		{"s", "flame_autonomy_config", `{}`},
		{"s", "flame_autonomy_config", `{"level": "auto", "pushThreshold": 60, "popThreshold": 120, ` +
			`"suggestInContext": true, "enableHeuristic": "duration", "disableHeuristic": "stagnation"}`},
		{"s", "flame_should_push", `{"potentialGoal": "Set up database migrations", "recentMessages": 30, ` +
			`"recentFileChanges": ["a", "b"], "errorCount": 4, "tokenCount": 60000}`},
		{"s", "flame_should_pop", `{"successSignals": ["tests pass"], "failureSignals": [], "noProgressTurns": 0, ` +
			`"tokenCount": 50000, "contextLimit": 200000, "frameID": "frame-00000001"}`},
		{"s", "flame_auto_suggest", `{"enable": true, "showHistory": true}`},
		{"s", "flame_auto_suggest", `{"clearPending": true}`},
		{"s", "flame_autonomy_stats", `{}`},
		{"s", "flame_autonomy_stats", `{"reset": true}`},
		{"s", "flame_autonomy_config", `{"reset": true}`},
	},
	"subagents": {
		{"s", "flame_subagent_list", `{}`},
		{"s", "flame_subagent_stats", `{"showActive": true}`},
		{"s", "flame_subagent_config", `{"enabled": true, "minDuration": 30000, "minMessageCount": 2, "autoCompleteOnIdle": false, "idleCompletionDelay": 1000, ` +
			`"addPattern": "worker", "removePattern": "subagent", "injectParentContext": true, "propagateSummaries": true}`},
		{"s", "flame_subagent_complete", `{"sessionID": "s", "status": "failed", "summary": "x"}`},
		{"s", "flame_subagent_list", `{"filter": "active"}`},
		{"s", "flame_subagent_stats", `{"reset": true}`},
	},
	"more": {
		{"s", "flame_more", `{}`},
		{"s", "flame_more", `{"tool": "flame_set_goal"}`},
		{"s", "flame_more", `{"tool": "get_state"}`},
		{"s", "flame_more", `{"tool": "flame_set_goal", "arguments": {"goal": "Add a login"}}`},
		{"s", "flame_more", `{"tool": "flame_get_summary", "arguments": {}}`},
		{"s", "flame_more", `{"tool": "flame_plan", "arguments": {"goal": "later", "parentSessionID": "frame-00000001"}}`},
		{"s", "flame_more", `{"tool": "flame_set_goal", "arguments": {}}`},
		{"s", "flame_more", `{"tool": "flame_set_goal", "arguments": {"goal": "x", "title": "y"}}`},
		{"s", "flame_more", `{"tool": "flame_set_goal", "arguments": {"goal": 7}}`},
		{"s", "flame_more", `{"tool": "flame_set_goal", "arguments": "{\"goal\": \"x\"}"}`},
		{"s", "flame_more", `{"tool": "flame_set_goal", "goal": "x"}`},
		{"s", "flame_more", `{"arguments": {"goal": "x"}}`},
		{"s", "flame_more", `{"tool": "flame_push", "arguments": {"goal": "x"}}`},
		{"s", "flame_more", `{"tool": "flame_agent_cancel", "arguments": {"subagent_id": "x"}}`},
		{"s", "flame_more", `{"tool": "flame_more", "arguments": {}}`},
		{"s", "flame_more", `{"tool": "flame_get_sumary"}`},
	},
	"mistakes": {
		{"s", "flame_recall", `{"call": "toolu_1"}`},
		{"s", "flame_push", `{}`},
		{"s", "flame_push", `{"goal": ""}`},
		{"s", "flame_push", `{"goal": 7}`},
		{"s", "flame_push", `{"goal": "x", "title": "y"}`},
		{"s", "flame_push", `{"goal": "x"} {"goal": "y"}`},
		{"s", "flame_push", `["x"]`},
		{"s", "flame_push", `not JSON`},
		{"s", "flame_pop", `{"status": "done"}`},
		{"s", "flame_pop", `{"status": "completed"}`},
		{"s", "flame_push", `{"goal": "one"}`},
		{"s", "flame_pop", `{"status": "completed", "confidence": 2}`},
		{"s", "flame_pop", `{"status": "completed", "frameID": "frame-0000000"}`},
		{"s", "flame_activate", `{"sessionID": "nothing"}`},
		{"s", "flame_activate", `{"sessionID": ""}`},
		{"s", "flame_plan_children", `{"children": []}`},
		{"s", "flame_plan_children", `{"children": ["a", {"title": "b"}]}`},
		{"s", "flame_plan_children", `{"children": "a"}`},
		{"s", "flame_invalidate", `{"reason": " "}`},
		{"s", "flame_invalidate", `{"reason": "x", "sessionID": "a", "frameID": "b"}`},
		{"s", "flame_search", `{"query": "x", "limit": 1000}`},
		{"s", "flame_search", `{"query": "x", "status": "odd"}`},
		{"s", "flame_context_preview", `{"maxLength": -1}`},
		{"s", "flame_subagent_config", `{"minDuration": -1, "minMessageCount": 9}`},
		{"s", "flame_subagent_config", `{"addPattern": "(?=x)"}`},
		{"s", "flame_autonomy_config", `{"disableHeuristic": "bogus"}`},
		{"s", "flame_autonomy_config", `{"level": "wild"}`},
		{"s", "flame_set_goal", `{"goal": "x", "session_id": 7}`},
	},
}

func TestAFrameMayBeNamedByEitherArgument(t *testing.T) {
	t.Parallel()
	text := play(t, newProject(t), []call{
		{"s", "flame_plan_children", `{"children": ["one", "two"]}`},
		{"s", "flame_activate", `{"frameID": "plan-00000002"}`},
		{"s", "flame_frame_details", `{"sessionID": "plan-00000003"}`},
		{"s", "flame_add_decision", `{"decision": "so", "sessionID": "plan-00000002"}`},
		{"s", "flame_plan", `{"goal": "three", "frameID": "plan-00000002"}`},
		{"s", "flame_tree", `{"frameID": "plan-00000002"}`},
		{"s", "flame_activate", `{"sessionID": "plan-00000002", "frameID": "plan-00000003"}`},
		{"s", "flame_activate", `{"sessionID": "plan-00000003", "frameID": "plan-00000003"}`},
	})
	for _, part := range []string{
		"plan-00000002 \"one\": planned -> in_progress", "plan-00000003 (planned)", "Planned below plan-00000002: plan-00000004",
		"Error: sessionID and frameID name different frames (pass one of them)", "plan-00000003 \"two\": planned -> in_progress",
	} {
		assert.Contains(t, text, part)
	}
	for _, tool := range tools.All(&project.Project{}, &agents.Agents{}) {
		_, err := tool.Call(t.Context(), project.Caller{}, json.RawMessage(`{"frameID": 1}`))
		if err != nil && strings.Contains(string(tool.Schema()), `ID"`) && tool.Group != "agents" {
			assert.NotContains(t, err.Error(), "there is no argument", tool.Name)
		}
	}
}

func TestSettingsSayWhereTheyComeFromAndWhetherTheyChanged(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.Autonomy.PushThreshold, p.Subagents.MinDuration = 65, 30_000
	const updated = "Settings updated"
	text := play(t, p, []call{{"s", "flame_autonomy_config", `{}`}, {"s", "flame_subagent_config", `{"removePattern": "unknown"}`}})
	for _, line := range []string{
		"pushThreshold: 65 (environment)", "popThreshold: 80 (default)", "minDuration: 30000 ms (30.0 s) (environment)", "enabled: yes (default)",
	} {
		assert.Contains(t, text, line)
	}
	assert.NotContains(t, text, updated, "nothing was changed")
	for tool, args := range map[string]string{
		"flame_autonomy_config": `{"popThreshold": 75, "disableHeuristic": "duration"}`,
		"flame_subagent_config": `{"minDuration": 1000, "addPattern": "worker"}`,
	} {
		assert.Contains(t, play(t, p, []call{{"s", tool, args}}), updated)
		assert.NotContains(t, play(t, p, []call{{"s", tool, args}}), updated, "the same again changes nothing")
	}
	assert.Contains(t, play(t, p, []call{{"s", "flame_autonomy_config", `{}`}}), "popThreshold: 75 (this project)")
}

func TestFoldingKnowsTheLineThatNamesTheNextFrame(t *testing.T) {
	t.Parallel()
	text := play(t, newProject(t), []call{{"s", "flame_push", `{"goal": "a"}`}, {"s", "flame_pop", `{"status": "completed", "summary": "done", "next": "b"}`}})
	assert.Regexp(t, "(?m)"+op.PatternsOfMoves().Began, text)
}

func TestAnswersOfToolsEqualTheirGoldenFiles(t *testing.T) {
	for name, calls := range sessions {
		t.Run(name, func(t *testing.T) {
			golden(t, "session/"+name+".txt", play(t, newProject(t), calls))
		})
	}
}

func TestTheGoldenAnswersUseEveryToolAndArgument(t *testing.T) {
	t.Parallel()
	played := map[string]map[string]bool{"flame_get_state": {}}
	for _, calls := range sessions {
		for _, c := range calls {
			var args map[string]json.RawMessage
			if json.Unmarshal([]byte(c.args), &args) != nil {
				continue
			}
			if played[c.tool] == nil {
				played[c.tool] = map[string]bool{}
			}
			for name := range args {
				played[c.tool][name] = true
			}
		}
	}
	aliases := []string{"frameID", "sessionID", "parentSessionID", "force"} // of frames: TestFramesAreFoundByIDPrefixOrSession
	for _, tool := range tools.All(&project.Project{}, &agents.Agents{}) {
		if tool.Group == "agents" {
			continue // they need a host: agents_test.go
		}
		require.Contains(t, played, tool.Name)
		for name := range schemaOf(t, tool).Properties {
			if !slices.Contains(aliases, name) {
				assert.True(t, played[tool.Name][name], "%s is never called with %s", tool.Name, name)
			}
		}
	}
}

func TestEveryToolTakesTheReservedArguments(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	for _, tool := range tools.All(p, &agents.Agents{Setup: plan.Setup{Project: p}}) {
		_, err := tool.Call(context.Background(), project.Caller{}, json.RawMessage(`{"session_id": "s", "agent_id": "a"}`))
		var problem *core.Problem
		if errors.As(err, &problem) {
			assert.NotContains(t, problem.Message, "session_id", tool.Name)
			assert.NotContains(t, problem.Message, "agent_id is not", tool.Name)
		} else {
			require.NoError(t, err, tool.Name)
		}
	}
}

func TestStatusStaysSmallHoweverLargeTheTree(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	ctx := context.Background()
	for i := range 60 {
		by := project.Caller{Session: fmt.Sprint("s", i), Host: "test"}
		for range 4 {
			_, err := stack.Push(ctx, p, by, strings.Repeat("a rather long goal ", 20), "")
			require.NoError(t, err)
		}
	}
	status, err := tools.Find(tools.All(p, &agents.Agents{Setup: plan.Setup{Project: p}}), "flame_status")
	require.NoError(t, err)
	result, err := status.Call(ctx, project.Caller{Session: "s0"}, nil)
	require.NoError(t, err)
	assert.LessOrEqual(t, len(result.Text), 8192)
	assert.Contains(t, result.Text, "300 frames")
	assert.Contains(t, result.Text, "← current")
}
