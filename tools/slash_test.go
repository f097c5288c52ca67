package tools

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/converge"
	"flame/agents/definition"
	"flame/agents/plan"
	"flame/agents/record"
	"flame/core"
	"flame/hosts"
)

// typed returns the arguments of a call with a line as its command, and more.
func typed[In any](line string, more string) (in In, err error) {
	_, err = read(fmt.Appendf(nil, `{"command": %s%s}`, quoted(line), more), &in, argumentsOf(reflect.TypeFor[In]()))
	return in, err
}

func quoted(text string) []byte {
	raw, _ := json.Marshal(text)
	return raw
}

func TestADelegateLineIsRead(t *testing.T) {
	t.Parallel()
	tools := []string{"Read", "Bash(git add, git diff)"}
	tests := map[string]struct {
		line string
		want plan.Request
		wait bool
	}{
		"as the seed has it": {
			line: `fix the login --agent-type builder --permission-mode acceptEdits --timeout 60 --tools "Read, Bash(git add, git diff)"`,
			want: plan.Request{Type: "builder", Prompt: "fix the login", Mode: hosts.AcceptEdits, Timeout: time.Minute, Tools: &tools},
		},
		"with the command's name": {line: "/flame:delegate look --agent-type analyzer", want: plan.Request{Type: "analyzer", Prompt: "look"}},
		"a task in quotes": {
			line: `"fix it, don't --break it" --agent-type builder`, want: plan.Request{Type: "builder", Prompt: "fix it, don't --break it"},
		},
		"all the time it needs":  {line: "fix it --timeout 0 --agent-type builder", want: plan.Request{Type: "builder", Prompt: "fix it", Unlimited: true}},
		"the context, in a word": {line: "look --inherit-context true --agent-type builder", want: plan.Request{Type: "builder", Prompt: "look"}},
		"quotes inside the task": {line: `say "hello" --agent-type=builder`, want: plan.Request{Type: "builder", Prompt: `say "hello"`}},
		"all of it in quotes":    {line: `"say \"hello\" --agent-type builder"`, want: plan.Request{Type: "builder", Prompt: `say "hello"`}},
		"without context, waited for": {
			line: "look --agent-type analyzer --inherit-context=false --background false",
			want: plan.Request{Type: "analyzer", Prompt: "look", Bare: true}, wait: true,
		},
		"with underscores": {
			line: "look --agent_type analyzer --inherit_context=false", want: plan.Request{Type: "analyzer", Prompt: "look", Bare: true},
		},
		"without any tools": {line: `think --agent-type builder --tools ""`, want: plan.Request{Type: "builder", Prompt: "think", Tools: &[]string{}}},
		"what only arguments had": {
			line: "fix it --agent-type builder --frameID frame-1 --idempotency-key k1 --isolation worktree --budget-tokens 9000 --budget-usd 1.5",
			want: plan.Request{Type: "builder", Prompt: "fix it", Frame: "frame-1", Key: "k1", Isolation: definition.Worktree, BudgetTokens: 9000, BudgetUSD: 1.5},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, err := typed[spawnArgs](tt.line, "")
			require.NoError(t, err)
			got, err := in.request()
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
			assert.Equal(t, !tt.wait, lo.FromPtrOr(in.Background, true))
		})
	}
}

func TestAHandoffLineIsRead(t *testing.T) {
	t.Parallel()
	got, err := typed[handoffArgs]("agent-1 --transfer-control --timeout 9 --on-failure retry", "")
	require.NoError(t, err)
	assert.Equal(t, handoffArgs{ID: "agent-1", Transfer: true, Timeout: 9, OnFailure: record.Retry}, got)
}

func TestAConvergeLineIsRead(t *testing.T) {
	t.Parallel()
	got, err := typed[convergeArgs](`agent-1, agent-2 "agent-3, agent-4" --strategy vote `+
		`--conflict-resolution prefer_higher_confidence --output-format json --tolerance 0.1`, "")
	require.NoError(t, err)
	assert.Equal(t, convergeArgs{
		IDs: []string{"agent-1", "agent-2", "agent-3", "agent-4"}, Strategy: converge.StrategyVote, Resolution: converge.PreferHigherConfidence,
		Format: converge.JSON, Tolerance: 0.1,
	}, got)
}

func TestALineExcludesOtherArguments(t *testing.T) {
	t.Parallel()
	_, err := typed[spawnArgs]("look --agent-type analyzer", `, "subagent_type": "builder", "tools": [], "timeout": 0`)
	require.ErrorIs(t, err, core.ErrInvalid)
	require.ErrorContains(t, err, "given beside it: subagent_type, tools, timeout")
	_, err = typed[convergeArgs]("a b --strategy merge", `, "result_schema": {}`)
	require.ErrorContains(t, err, "given beside it: result_schema")
	_, err = typed[spawnArgs]("", `, "prompt": "look"`)
	assert.NoError(t, err, "an empty line is none")
}

func TestInvalidLinesAreRefused(t *testing.T) {
	t.Parallel()
	delegate := func(line string) error { _, err := typed[spawnArgs](line, ""); return err }
	handoff := func(line string) error { _, err := typed[handoffArgs](line, ""); return err }
	merge := func(line string) error { _, err := typed[convergeArgs](line, ""); return err }
	tests := map[string]struct {
		err          error
		says, advice string
	}{
		"a task without its type":     {delegate("fix it"), "--agent-type is missing", "flame agents list"},
		"time in words":               {delegate("fix it --agent-type b --timeout soon"), `--timeout is "soon", not a number`, "from 0 up"},
		"time without end":            {delegate("fix it --agent-type b --timeout Inf"), `--timeout is "Inf", not a number`, "from 0 up"},
		"time before now":             {delegate("fix it --agent-type b --timeout -5"), `--timeout is "-5", not a number`, "from 0 up"},
		"part of a token":             {delegate("fix it --agent-type b --budget-tokens 1.5"), `--budget-tokens is "1.5", not a whole number`, "from 0 up"},
		"no word on the context":      {delegate("fix it --agent-type b --inherit-context maybe"), `--inherit-context is "maybe"`, "true or false"},
		"nothing on the context":      {delegate("fix it --inherit-context --agent-type b"), "--inherit-context has no value", "--inherit-context=VALUE"},
		"an unknown option":           {delegate("fix it --agent-type b --speed 9"), "unknown option --speed", "in quotes"},
		"the task as an option":       {delegate("--agent-type b --prompt x"), "unknown option --prompt", "in quotes"},
		"another line in it":          {handoff("agent-1 --command x"), "unknown option --command", "in quotes"},
		"an unknown mode":             {delegate("fix it --agent-type b --permission_mode odd"), `--permission-mode is "odd"`, "plan, dontAsk, default, acceptEdits"},
		"an unknown isolation":        {delegate("fix it --agent-type b --isolation remote"), `--isolation is "remote"`, "worktree, none"},
		"a handoff without agent":     {handoff(" "), "one subagent_id", "flame_agent_list"},
		"a handoff to two":            {handoff("agent-1 agent-2"), "not 2 words", "flame_agent_list"},
		"an unknown end of a handoff": {handoff("agent-1 --on-failure panic"), `--on-failure is "panic"`, "retry, abort, escalate"},
		"no strategy":                 {merge("a b"), "--strategy is missing", "merge, vote, consensus, first_success"},
		"an unknown strategy":         {merge("a b --strategy best"), `--strategy is "best"`, "merge, vote, consensus, first_success"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var problem *core.Problem
			require.ErrorAs(t, tt.err, &problem)
			require.ErrorIs(t, tt.err, core.ErrInvalid)
			assert.Contains(t, problem.Message, tt.says)
			assert.Contains(t, problem.Hint, tt.advice)
		})
	}
}

// TestEveryArgumentHasItsPlaceInALine holds for those to come, too: of whatever kind
// an argument is, a line can give it, save those few that are no options.
func TestEveryArgumentHasItsPlaceInALine(t *testing.T) {
	t.Parallel()
	for in, apart := range map[slashed]int{&spawnArgs{}: 3, &handoffArgs{}: 2, &convergeArgs{}: 3} {
		args := reflect.ValueOf(in).Elem()
		options := optionsOf(args.Type())
		assert.Len(t, options, args.NumField()-apart)
		for _, o := range options {
			value := append(enumOf(o.Type), "1")[0]
			if plain(o.Type).Kind() == reflect.Bool {
				value = "true"
			}
			assert.NoError(t, o.set(args.FieldByIndex(o.Index), value), o.name)
			assert.False(t, args.FieldByIndex(o.Index).IsZero(), "%s was not set", o.name)
		}
	}
}
