package turns_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/evidence"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/stack"
	"flame/project/turns"
	"flame/tests/projecttest"
	"flame/transcripts"
)

// A moment of a day is a prompt, and the turn after it.
type dayTurn struct {
	Prompt   string
	Push     bool   // a frame is due for the prompt
	Goal     string // that the agent gives it
	Criteria string
	Files    []string
	Calls    []evidence.Call
	Last     string      // what the agent ends with
	Pop      core.Status // that its frame is due to end with after it; empty: none
}

// A plain day has 20 turns: what is due is suggested at the two moments where it is,
// and nothing at any other.
func TestOnAPlainDayFlameSuggestsOnlyWhatIsDue(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../core/testdata/judgement/day.json")
	require.NoError(t, err)
	var day []dayTurn
	require.NoError(t, json.Unmarshal(text, &day))
	require.Len(t, day, 20)
	tests := map[string]struct {
		level    core.AutonomyLevel
		criteria bool // of a frame that flame pushed: it knows none, unless an agent or a person sets them
		pops     bool // flame ends the frame by itself
	}{
		"at level suggest":                        {core.AutonomySuggest, true, false},
		"at level auto":                           {core.AutonomyAuto, true, true},
		"at level auto, where nothing can be met": {core.AutonomyAuto, false, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := projecttest.New(t)
			f.Autonomy = core.DefaultAutonomyConfig()
			f.Autonomy.Level = tt.level
			f.Turns = false // here frames end when flame, or the agent, says so
			for i, turn := range day {
				if !tt.criteria {
					turn.Criteria = ""
				}
				f.Clock += 60_000
				what := fmt.Sprintf("turn %d: %s", i+1, turn.Prompt)
				ask(f, what, i, turn)
				work(f, what, i, turn, tt.pops)
			}
		})
	}
}

// ask has a session s hear a prompt.
func ask(f *projecttest.Fixture, what string, i int, turn dayTurn) {
	f.T.Helper()
	s := projecttest.Host("s")
	auto := f.Autonomy.Level == core.AutonomyAuto
	before := f.Current(s)
	f.Prompt(s, fmt.Sprint(i), turn.Prompt)
	assert.Equal(f.T, turn.Push && !auto, suggested(f, core.SuggestPush) != nil, "%s: a push is suggested", what)
	if i > 0 {
		assert.Equal(f.T, turn.Push && auto, f.Current(s) != before, "%s: a frame is pushed", what)
	}
	if turn.Push && !auto {
		_, err := stack.Push(f.Ctx, f.Project, s, turn.Goal, turn.Criteria)
		require.NoError(f.T, err)
	} else if turn.Push {
		frame := f.Get(f.Current(s))
		frame.SuccessCriteria = turn.Criteria
		require.NoError(f.T, f.Store.Update(f.Ctx, func(tx project.Tx) error { return tx.SaveFrame(frame) }))
	}
}

// work has the session s go through the turn after it. pops says that flame ends what is
// due to end.
func work(f *projecttest.Fixture, what string, i int, turn dayTurn, pops bool) {
	f.T.Helper()
	s := projecttest.Host("s")
	if len(turn.Files) > 0 {
		require.NoError(f.T, stack.NoteFiles(f.Ctx, f.Project, s, turn.Files))
	}
	calls := slices.Clone(turn.Calls)
	for i := range calls {
		calls[i].OK = calls[i].Exit == nil || *calls[i].Exit == 0
	}
	in := f.Current(s)
	require.NoError(f.T, turns.End(f.Ctx, f.Project, s, turns.EndReport{LastMessage: turn.Last, Running: []string{}, Seen: func() transcripts.TurnSummary {
		return transcripts.TurnSummary{Calls: calls, Whole: true, Tokens: 20_000 + 3_000*i, Window: 200_000}
	}}))
	pop := suggested(f, core.SuggestPop)
	assert.Equal(f.T, turn.Pop != "" && !pops, pop != nil, "%s: a pop is suggested", what)
	assert.Equal(f.T, turn.Pop != "" && pops, f.Current(s) != in, "%s: its frame ends", what)
	if turn.Pop != "" && pops {
		assert.Equal(f.T, turn.Pop, f.Get(in).Status, what)
	}
	if pop != nil {
		assert.Equal(f.T, turn.Pop, pop.Status, what)
		f.Pop(s, turn.Last)
	}
}

// suggested returns the live suggestion of a type for the session s.
func suggested(f *projecttest.Fixture, kind core.SuggestionType) *core.Suggestion {
	f.T.Helper()
	state, err := autonomy.StateOf(f.Ctx, f.Project, projecttest.Host("s"))
	require.NoError(f.T, err)
	for _, pending := range state.Pending {
		if pending.Type == kind {
			return &pending
		}
	}
	return nil
}

func TestAnEndThatIsDueIsNoLongerSuggestedWhereTheUserAsksForMore(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		prompt string
		asked  bool // by the agent itself
		stays  bool
	}{
		"a correction":                        {"the archives are named wrongly: use the date first", false, false},
		"a question":                          {"does it work with spaces in a name?", false, false},
		"consent":                             {"great, thanks", false, true},
		"other work":                          {"Now something else: set up the mail server on the new host with DKIM and SPF", false, true},
		"a correction of what the agent asks": {"the archives are named wrongly: use the date first", true, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := projecttest.New(t)
			f.Autonomy = core.DefaultAutonomyConfig()
			s := projecttest.Host("s")
			f.Prompt(s, "1", "Rotate the backups")
			f.Push(s, "Rotate the backups in scripts/backup.sh")
			turn := dayTurn{
				Files: []string{"scripts/backup.sh"}, Last: "Fixed. scripts/backup.sh keeps seven archives and all 4 tests pass.", Pop: core.Completed,
				Calls: []evidence.Call{
					{Tool: "flame_flame_push", OK: true},
					{Tool: "Bash", Input: "bash scripts/backup_test.sh", OK: true, Exit: new(0), Output: "all 4 tests passed"},
				},
			}
			require.NoError(t, stack.NoteFiles(f.Ctx, f.Project, s, turn.Files))
			if tt.asked {
				advice, err := autonomy.ShouldPop(f.Ctx, f.Project, s, autonomy.PopArgs{SuccessSignals: []string{"all tests pass", "archives rotate", "done"}})
				require.NoError(t, err)
				require.True(t, advice.Queued, advice.Reason)
			} else {
				require.NoError(t, turns.End(f.Ctx, f.Project, s, turns.EndReport{LastMessage: turn.Last, Running: []string{}, Seen: func() transcripts.TurnSummary {
					return transcripts.TurnSummary{Calls: turn.Calls, Whole: true}
				}}))
			}
			require.NotNil(t, suggested(f, core.SuggestPop))
			f.Prompt(s, "2", tt.prompt)
			assert.Equal(t, tt.stays, suggested(f, core.SuggestPop) != nil)
		})
	}
}

func TestAnEndWhoseLogWasLateIsWeighedAtTheNextPrompt(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		level     core.AutonomyLevel
		prompt    string
		failed    bool // the turn did not end by itself
		suggested bool
		ends      bool
	}{
		"at level suggest":           {core.AutonomySuggest, "great, thanks", false, true, false},
		"at level auto":              {core.AutonomyAuto, "great, thanks", false, false, true},
		"where more is asked for":    {core.AutonomyAuto, "the archives are named wrongly: use the date first", false, false, false},
		"where the turn was stopped": {core.AutonomyAuto, "great, thanks", true, false, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := projecttest.New(t)
			f.Autonomy = core.DefaultAutonomyConfig()
			f.Autonomy.Level = tt.level
			s := projecttest.Host("s")
			f.Prompt(s, "1", "Add a --json flag to the list command")
			criteria := "scripts/backup.sh keeps seven archives; scripts/backup_test.sh passes"
			frame, err := stack.Push(f.Ctx, f.Project, s, "Rotate the backups in scripts/backup.sh", criteria)
			require.NoError(t, err)
			require.NoError(t, stack.NoteFiles(f.Ctx, f.Project, s, []string{"scripts/backup.sh"}))
			last := "Fixed. scripts/backup.sh keeps seven archives and all 4 tests of scripts/backup_test.sh pass."
			require.NoError(t, turns.End(f.Ctx, f.Project, s,
				turns.EndReport{LastMessage: last, Failed: tt.failed, Running: []string{}, Seen: func() transcripts.TurnSummary {
					return transcripts.TurnSummary{} // the log is behind
				}}))
			require.Nil(t, suggested(f, core.SuggestPop))
			b, err := turns.Begin(f.Ctx, f.Project, s, turns.Prompt{ID: "2", Text: tt.prompt, FromUser: true, Seen: func() transcripts.TurnSummary {
				return transcripts.TurnSummary{Whole: true, Calls: []evidence.Call{
					{Tool: "flame_flame_push", OK: true},
					{Tool: "Bash", Input: "bash scripts/backup_test.sh", OK: true, Exit: new(0), Output: "ok: seven archives left\nall 4 tests passed"},
				}}
			}})
			require.NoError(t, err)
			assert.Equal(t, tt.suggested, strings.Contains(b.Text, "FLAME SUGGESTION"), b.Text)
			assert.Equal(t, tt.ends, f.Get(frame.ID).Status == core.Completed)
			assert.Equal(t, tt.ends, strings.Contains(b.Text, `status="completed" relation="child" by="autonomy"`), "the agent is told: %s", b.Text)
		})
	}
}
