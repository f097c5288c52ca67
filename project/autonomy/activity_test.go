package autonomy_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/evidence"
	"flame/project/autonomy"
	"flame/project/stack"
	"flame/project/turns"
	"flame/tests/projecttest"
	"flame/transcripts"
)

func bash(command string, exit int) evidence.Call {
	return evidence.Call{Tool: "Bash", Input: command, OK: exit == 0, Exit: &exit}
}

func TestACommandThatPassesAgainIsAResult(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		before, now []evidence.Call
		want        bool
	}{
		"after a turn in which it failed": {[]evidence.Call{bash("make", 2)}, []evidence.Call{bash("make", 0)}, true},
		"after it failed in this one":     {nil, []evidence.Call{bash("make", 2), bash("make", 0)}, true},
		"not if it passed before":         {[]evidence.Call{bash("make", 0)}, []evidence.Call{bash("make", 0)}, false},
		"not if it was another":           {[]evidence.Call{bash("make", 2)}, []evidence.Call{bash("ls", 0)}, false},
		"once":                            {[]evidence.Call{bash("make", 2), bash("make", 0)}, []evidence.Call{bash("make", 0)}, false},
		"not while it fails":              {[]evidence.Call{bash("make", 2)}, []evidence.Call{bash("make", 2)}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var scene autonomy.SessionActivity
			scene.End("f", "", transcripts.TurnSummary{Calls: tt.before})
			scene.Begin("f", "go on")
			assert.Equal(t, tt.want, scene.End("f", "", transcripts.TurnSummary{Calls: tt.now}))
		})
	}
}

func TestTheKeptPartOfAConversationIsLimited(t *testing.T) {
	t.Parallel()
	var scene autonomy.SessionActivity
	long := strings.Repeat("é\U0001f600", 5_000)
	for i := range 50 {
		var calls []evidence.Call
		for n := range 100 {
			calls = append(calls, evidence.Call{Tool: "Bash", Input: fmt.Sprint(n, long), Output: fmt.Sprint(long, n), Exit: new(1)})
		}
		scene.Begin("f", fmt.Sprint(i, long))
		scene.End("f", fmt.Sprint(long, i), transcripts.TurnSummary{Calls: calls})
	}
	require.Len(t, scene.Recent, 4)
	require.Len(t, scene.Calls, 20)
	assert.LessOrEqual(t, len(scene.FailingCommands), 20)
	for _, m := range scene.Recent {
		assert.LessOrEqual(t, utf8.RuneCountInString(m.Text), 2_003)
		assert.True(t, utf8.ValidString(m.Text))
	}
	assert.True(t, strings.HasPrefix(scene.Recent[2].Text, "49"), "its beginning")
	assert.True(t, strings.HasSuffix(scene.Recent[3].Text, "49"), "and its end")
	for _, call := range scene.Calls {
		assert.Equal(t, []int{200, 300}, []int{utf8.RuneCountInString(call.Input), utf8.RuneCountInString(call.Output)})
	}
	assert.True(t, strings.HasPrefix(scene.Calls[19].Input, "99"))
	assert.True(t, strings.HasSuffix(scene.Calls[19].Output, "99"))
}

// Calls before the last move to another frame say nothing about the frame in which the agent now works.
func TestOnlyCallsSinceTheLastMoveAreKept(t *testing.T) {
	t.Parallel()
	pop := evidence.Call{Tool: "mcp__plugin_flame_flame__flame_pop", OK: true}
	tree := evidence.Call{Tool: "flame_flame_tree", OK: true}
	before, after := bash("go test ./...", 0), bash("go vet ./...", 0)
	for name, tt := range map[string]struct {
		calls []evidence.Call
		in    string // the frame at the end; the turn began in f
		want  []evidence.Call
	}{
		"without a move":               {[]evidence.Call{before, after}, "f", []evidence.Call{before, after}},
		"after a tool of flame":        {[]evidence.Call{before, pop, after}, "g", []evidence.Call{after}},
		"after going away and back":    {[]evidence.Call{before, pop, pop, after}, "f", []evidence.Call{after}},
		"after a command of flame":     {[]evidence.Call{before, bash("flame pop completed", 0), after}, "g", []evidence.Call{after}},
		"none after an unseen move":    {[]evidence.Call{before, after}, "g", nil},
		"a tool that only reads stays": {[]evidence.Call{before, tree}, "f", []evidence.Call{before, tree}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var scene autonomy.SessionActivity
			scene.Begin("f", "go on")
			scene.End(tt.in, "Done.", transcripts.TurnSummary{Calls: tt.calls})
			assert.Equal(t, tt.want, append([]evidence.Call(nil), scene.Calls...))
		})
	}
}

// TestTheHostOrAGatewayReportsTheWindow goes by the host first, then by the gateway, and
// leaves the rest to what is published.
func TestTheHostOrAGatewayReportsTheWindow(t *testing.T) {
	t.Parallel()
	const sonnet, opus = "claude-sonnet-4-5-20250929", "claude-opus-4-1-20250805"
	turn := func(model string, window int) func(*autonomy.SessionActivity) {
		return func(s *autonomy.SessionActivity) {
			s.AddTurn("", transcripts.TurnSummary{Model: model, Window: window})
		}
	}
	asked := func(model string, window int) func(*autonomy.SessionActivity) {
		return func(s *autonomy.SessionActivity) { s.AddRequest(model, window) }
	}
	for name, tt := range map[string]struct {
		happens      []func(*autonomy.SessionActivity)
		model        string
		window, told int
	}{
		"the gateway alone knows the model": {[]func(*autonomy.SessionActivity){asked(sonnet, 0)}, sonnet, 0, 0},
		"a request asks for more":           {[]func(*autonomy.SessionActivity){asked(sonnet, 1_000_000), turn(sonnet, 0)}, sonnet, 0, 1_000_000},
		"and the next one does not":         {[]func(*autonomy.SessionActivity){asked(sonnet, 1_000_000), asked(sonnet, 0)}, sonnet, 0, 0},
		"a refusal tells of less": {[]func(*autonomy.SessionActivity){asked(sonnet, 0), asked("", 100_000), asked(sonnet, 0)}, sonnet,
			0, 100_000},
		"a refusal before all else": {[]func(*autonomy.SessionActivity){asked("", 100_000), turn(sonnet, 0)}, sonnet, 0, 100_000},
		"another model answers":     {[]func(*autonomy.SessionActivity){asked(sonnet, 1_000_000), asked(opus, 0)}, opus, 0, 0},
		"another model by the host": {[]func(*autonomy.SessionActivity){asked(sonnet, 1_000_000), turn(opus, 0)}, opus, 0, 0},
		"the host says both": {[]func(*autonomy.SessionActivity){turn(sonnet, 50_000), asked(sonnet, 1_000_000)}, sonnet, 50_000,
			1_000_000},
		"the host has more in the model's name": {[]func(*autonomy.SessionActivity){turn("claude-sonnet-4-5[1m]", 0), asked(sonnet, 0)},
			"claude-sonnet-4-5[1m]", 0, 0},
		"the host's window was of another model": {[]func(*autonomy.SessionActivity){turn(opus, 50_000), asked(sonnet, 0)}, sonnet, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s autonomy.SessionActivity
			for _, happens := range tt.happens {
				happens(&s)
			}
			assert.Equal(t, []any{tt.model, tt.window, tt.told}, []any{s.Model, s.Window, s.RequestWindow})
		})
	}
}

func TestLateEventsAreNotJudged(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	s := projecttest.Host("s")
	f.Autonomy.Level = core.AutonomyAuto
	f.Prompt(s, "first", "Implement user authentication")
	require.NoError(t, stack.NoteFiles(f.Ctx, f.Project, s, []string{"a", "b", "c"}))
	late := *f.Project
	late.Replaying = true
	require.NoError(t, turns.End(f.Ctx, &late, s, turns.EndReport{Seen: func() transcripts.TurnSummary {
		t.Error("what a log shows now is not what it showed then")
		return transcripts.TurnSummary{}
	}}))
	require.NoError(t, turns.NotePrompt(f.Ctx, &late, s, turns.Prompt{ID: "late", Text: "Write the quarterly revenue forecast", FromUser: true}))
	assert.Equal(t, []string{"in_progress Implement user authentication"}, f.Draw())
}

func TestASuggestionEndsWithItsPrompt(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	s := projecttest.Host("s")
	f.Prompt(s, "first", "Implement user authentication")
	require.NoError(t, stack.NoteFiles(f.Ctx, f.Project, s, []string{"a"}))
	assert.Contains(t, f.Prompt(s, "second", "Write the quarterly revenue forecast"), "[FLAME SUGGESTION")
	f.Prompt(s, "third", "yes, go")
	now := autonomyNow(f, s)
	assert.Empty(t, now.Pending)
	assert.Equal(t, 1, now.Stats.Ignored)
}
