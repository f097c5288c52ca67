package tools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
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

// A schema is the part of a JSON schema that the tests look at.
type schema struct {
	Properties map[string]schema
	Required   []string
	Enum       []string
}

func schemaOf(t *testing.T, tool tools.Tool) (s schema) {
	require.NoError(t, json.Unmarshal(tool.Schema(), &s), tool.Name)
	return s
}

// The text of a slash command names the argument for each option of its line: a model reads the
// line.
func TestCommandsNameTheArgumentOfEachOption(t *testing.T) {
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

// The costs that are allowed, in tokens of 4 characters.
const (
	maxAverage      = 140
	maxCore         = 1500
	maxAlways       = 600
	maxLean         = 600
	maxInstructions = 250
)

func TestToolsCostFewTokens(t *testing.T) {
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
		if tool.AlwaysLoad {
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
	few := []string{"flame_push", "flame_pop", "spawn_agent", "flame_more"}
	assert.ElementsMatch(t, few, names("lean"), "work in frames needs them, and hosts have rules for the tool that starts processes")
	assert.ElementsMatch(t, few, tools.Offered("lean"), "hosts that warn of rules for other tools have rules for these")
	assert.ElementsMatch(t, tools.Names(), tools.Offered("nonsense"), "as the server offers them")
	assert.Subset(t, names("lean,autonomy"), names("autonomy"))
	assert.Subset(t, names(" Core, state "), append(names("core"), "flame_get_state"))
	assert.ElementsMatch(t, append(few, "flame_search"), names("lean,flame_search"), "a tool by its name")
	_, err := tools.Select(all, "core,nonsense")
	require.ErrorIs(t, err, core.ErrInvalid)
}

// A call is one line of a session: who calls which tool with what.
type call struct {
	by, tool, args string
}

// play makes the calls in order and returns the transcript.
func play(t *testing.T, p *project.Project, calls []call) string {
	all := tools.All(p, &agents.Agents{Setup: plan.Setup{Project: p}})
	var b strings.Builder
	for _, c := range calls {
		tool, err := tools.Find(all, c.tool)
		require.NoError(t, err)
		result, err := tool.Call(context.Background(), project.Caller{Session: c.by, Host: "test"}, json.RawMessage(c.args))
		text := result.Text
		if err != nil {
			var known bool
			text, known = tools.ExplainError(err)
			require.True(t, known, "%s %s: %v", c.tool, c.args, err)
		}
		fmt.Fprintf(&b, "> %s: %s %s\n%s\n\n", c.by, c.tool, c.args, strings.TrimRight(text, "\n"))
	}
	return b.String()
}

// callsOf returns the calls of a golden file, which shows each before its answer.
func callsOf(t *testing.T, name string) (calls []call) {
	text, err := os.ReadFile(filepath.Join("testdata", "session", name+".txt"))
	require.NoError(t, err)
	for _, found := range regexp.MustCompile(`(?m)^> (\w+): (\w+) (.*)$`).FindAllStringSubmatch(string(text), -1) {
		calls = append(calls, call{found[1], found[2], found[3]})
	}
	require.NotEmpty(t, calls)
	return calls
}

// sessions are transcripts that together call every tool with every argument. A call is added as its
// line in the file; its answer is written with -update.
var sessions = []string{"work", "next", "summaries", "autonomy", "subagents", "names", "more", "mistakes"}

func TestAFrameMayBeNamedByEitherArgument(t *testing.T) {
	for _, tool := range tools.All(&project.Project{}, &agents.Agents{}) {
		_, err := tool.Call(t.Context(), project.Caller{}, json.RawMessage(`{"frameID": 1}`))
		if err != nil && strings.Contains(string(tool.Schema()), `ID"`) && tool.Group != "agents" {
			assert.NotContains(t, err.Error(), "there is no argument", tool.Name)
		}
	}
}

func TestSettingsSayWhereTheyComeFromAndWhetherTheyChanged(t *testing.T) {
	p := newProject(t)
	p.Autonomy.PushThreshold, p.Subagents.MinDuration = 65, 30_000
	const updated = "Settings updated"
	text := play(t, p, []call{{"s", "flame_autonomy_config", `{}`}, {"s", "flame_subagent_config", `{"removePattern": "unknown"}`}})
	for _, line := range []string{
		"pushThreshold: 65 (environment)", "popThreshold: 80 (default)", "minDuration: 30000 ms (30 s) (environment)", "enabled: yes (default)",
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
	text := play(t, newProject(t), []call{{"s", "flame_push", `{"goal": "a"}`}, {"s", "flame_pop", `{"status": "completed", "summary": "done", "next": "b"}`}})
	assert.Regexp(t, "(?m)"+op.PatternsOfMoves().Began, text)
}

func TestAnswersOfToolsEqualTheirGoldenFiles(t *testing.T) {
	for _, name := range sessions {
		t.Run(name, func(t *testing.T) {
			golden(t, "session/"+name+".txt", play(t, newProject(t), callsOf(t, name)))
		})
	}
}

func TestTheGoldenAnswersUseEveryToolAndArgument(t *testing.T) {
	played := map[string]map[string]bool{"flame_get_state": {}}
	for _, name := range sessions {
		for _, c := range callsOf(t, name) {
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

func TestStatusStaysSmallHoweverLargeTheTree(t *testing.T) {
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
