package turns_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project/autonomy"
	"flame/project/stack"
	"flame/project/turns"
	"flame/tests/projecttest"
)

func TestPromptsNameTheRoot(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		prompts []string
		want    []string
	}{
		"by all that it says, on one line":     {[]string{"\n \n  Fix the login  \nand be quick"}, []string{"in_progress Fix the login and be quick"}},
		"cut to 2,000 characters":              {[]string{strings.Repeat("ä", 2100)}, []string{"in_progress " + strings.Repeat("ä", 2000) + "…"}},
		"without the quotes of a command line": {[]string{`"Fix the login"`}, []string{"in_progress Fix the login"}},
		"or of one of several lines":           {[]string{"\"Fix the login\nand be quick\""}, []string{"in_progress Fix the login and be quick"}},
		"by what a delegation is about":        {[]string{`/flame:delegate "write the parser" --agent-type builder`}, []string{"in_progress write the parser"}},
		"not by a push, which makes its own":   {[]string{"/flame:push Fix the login"}, []string{"in_progress Session s"}},
		"not by another of flame's commands":   {[]string{"/flame:status"}, []string{"in_progress Session s"}},
		"not by a command to the host":         {[]string{"/clear all"}, []string{"in_progress Session s"}},
		"not by nothing":                       {[]string{"  "}, []string{"in_progress Session s"}},
		"later, where the first one said none": {[]string{"/clear", "Fix the login", "Now the logout"}, []string{"in_progress Fix the login"}},
		"once":                                 {[]string{"Fix the login", "Now the logout"}, []string{"in_progress Fix the login"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := projecttest.New(t)
			for i, text := range tt.prompts {
				f.Prompt(projecttest.Host("s"), string(rune('a'+i)), text)
			}
			assert.Equal(t, tt.want, f.Draw())
		})
	}
}

func TestOnlyADefaultGoalIsReplaced(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	f.Push(projecttest.Host("pushed"), "deeper")
	f.Prompt(projecttest.Host("pushed"), "a", "Fix the login")
	_, err := stack.SetGoal(f.Ctx, f.Project, projecttest.Host("set"), "", "As I said", "")
	require.NoError(t, err)
	f.Prompt(projecttest.Host("set"), "a", "Fix the login")
	assert.Equal(t, []string{"in_progress Fix the login", "  in_progress deeper", "in_progress As I said"}, f.Draw())
}

func TestAPromptAfterTheRootIsDoneBeginsAnother(t *testing.T) {
	t.Parallel()
	f := projecttest.Working(t)
	f.PopAs(projecttest.Host("s"), stack.PopArgs{Frame: f.Current(projecttest.Host("s")), Status: core.Completed})
	f.Prompt(projecttest.Host("s"), "second", "/help")
	assert.Equal(t, []string{"completed work"}, f.Draw(), "a command begins nothing")
	f.Prompt(projecttest.Host("s"), "third", "Next work")
	assert.Equal(t, []string{"completed work", "in_progress Next work"}, f.Draw())
	assert.Equal(t, "Next work", f.Get(f.Current(projecttest.Host("s"))).Goal)
}

func TestAPromptThatNoPersonWroteMakesNothing(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	_, err := turns.Begin(f.Ctx, f.Project, projecttest.Host("s"), turns.Prompt{ID: "a", Text: "<task-notification>", FromUser: false})
	require.NoError(t, err)
	assert.Empty(t, f.Draw())
	f.Prompt(projecttest.Host("s"), "b", "work")
	assert.Equal(t, []string{"in_progress work"}, f.Draw())
}

func TestThePromptOfAChildIsNoRoot(t *testing.T) {
	t.Parallel()
	f := projecttest.Working(t)
	f.Prompt(projecttest.Child("unannounced"), "a", "do this")
	f.SpawnAll(projecttest.Host("s"), "look")
	f.Prompt(projecttest.Agent("look"), "a", "do that")
	f.EndChild(projecttest.Host("s"), projecttest.Completed("look", "LAST"))
	f.Prompt(projecttest.Agent("look"), "b", "once more")
	f.Prompt(projecttest.Agent("look"), "b", "once more")
	assert.Equal(t, []string{"in_progress work", "  completed look: LAST", "  in_progress look (continued)"}, f.Draw())
}

func TestTheSamePromptTwiceIsOnePrompt(t *testing.T) {
	t.Parallel()
	f := projecttest.Working(t)
	frame := f.Current(projecttest.Host("s"))
	for range 2 {
		f.Prompt(projecttest.Host("s"), "second", "go on with it")
	}
	f.ReadActivity(frame, func(a autonomy.FrameActivity) { assert.Equal(t, 2, a.Messages) })
	f.Decide(projecttest.Shell, frame, "someone decides")
	assert.NotEmpty(t, f.Prompt(projecttest.Host("s"), "third", "and on"))
	assert.Empty(t, f.Prompt(projecttest.Host("s"), "third", "and on"))
}

func TestASessionReadsThatAnotherMachineTookItsFrame(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	s := projecttest.Host("s")
	f.Prompt(s, "first", "work")
	frame := f.Push(s, "inner")
	other := f.Push(projecttest.Host("other"), "beside")
	f.TakeAway(frame.ID)
	f.TakeAway(other.ID)
	told := f.Prompt(s, "second", "and on")
	assert.Contains(t, told, `<frame id="`+frame.ID+`" status="in_progress" machine="laptop-x7k2" relation="child">`)
	assert.NotContains(t, told, other.ID)
	assert.Empty(t, f.Prompt(s, "third", "and on"), "told once")
}

func TestADuePushIsSuggestedOrDone(t *testing.T) {
	t.Parallel()
	const other = "Write the quarterly revenue forecast"
	tests := map[string]struct {
		level   core.AutonomyLevel
		prompt  string
		told    string // part of the briefing; empty: no briefing
		current string
	}{
		"suggested":                         {core.AutonomySuggest, other, "[FLAME SUGGESTION", "Implement user authentication"},
		"done and announced":                {core.AutonomyAuto, other, `by="autonomy"`, other},
		"neither where all is by hand":      {core.AutonomyManual, other, "", "Implement user authentication"},
		"not due for what is only a remark": {core.AutonomyAuto, "yes, go", "", "Implement user authentication"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := projecttest.New(t)
			f.Autonomy.Level = tt.level
			f.Prompt(projecttest.Host("s"), "first", "Implement user authentication")
			require.NoError(t, stack.NoteFiles(f.Ctx, f.Project, projecttest.Host("s"), []string{"a", "b", "c"}))
			told := f.Prompt(projecttest.Host("s"), "second", tt.prompt)
			if tt.told == "" {
				assert.Empty(t, told)
			}
			assert.Contains(t, told, tt.told)
			assert.Equal(t, tt.current, f.Get(f.Current(projecttest.Host("s"))).Goal)
			assert.Empty(t, f.Prompt(projecttest.Host("s"), "third", "yes, go"), "told once")
		})
	}
}

func TestAPromptThatNamesAPlannedChildTakesItUp(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		level   core.AutonomyLevel
		foreign bool   // the child is another machine's
		told    string // part of the briefing
		want    []string
	}{
		"at level auto": {core.AutonomyAuto, false, `by="autonomy"`, []string{
			"in_progress Implement user authentication", "  in_progress Recovery codes by post", "  planned Passkeys",
		}},
		"only as a suggestion else": {core.AutonomySuggest, false, `"Recovery codes by post"`, []string{
			"in_progress Implement user authentication", "  planned Recovery codes by post", "  planned Passkeys",
		}},
		"only as a suggestion where it needs a claim": {core.AutonomyAuto, true, `"Recovery codes by post"`, []string{
			"in_progress Implement user authentication", "  planned Recovery codes by post", "  planned Passkeys",
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := projecttest.New(t)
			f.Autonomy.Level = tt.level
			s := projecttest.Host("s")
			f.Prompt(s, "first", "Implement user authentication")
			require.NoError(t, stack.NoteFiles(f.Ctx, f.Project, s, []string{"a"}))
			planned := f.Plan(s, "", "Recovery codes by post", "Passkeys")
			if tt.foreign {
				f.TakeAway(planned[0].ID)
				f.Grant() // which nobody may ask for here
			}
			assert.Contains(t, f.Prompt(s, "second", "ok, now the recovery codes please"), tt.told)
			assert.Equal(t, tt.want, f.Draw())
		})
	}
}
