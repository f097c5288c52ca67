package turns_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/fold"
	"flame/project"
	"flame/project/briefing"
	"flame/project/children"
	"flame/project/turns"
	"flame/tests/projecttest"
)

// attend asks what goes beside the newest of these prompts.
func attend(f *projecttest.Fixture, by project.Caller, r turns.Request, prompts ...string) (texts []string) {
	f.T.Helper()
	r.History = slices.Concat(projecttest.Asked(prompts...), r.History)
	a, err := turns.EditRequest(f.Ctx, f.Project, by, r)
	require.NoError(f.T, err)
	for _, insert := range a.After {
		texts = append(texts, insert.Message+": "+insert.Text)
	}
	return texts
}

func TestEachPromptIsDecidedOnOnce(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	require.NoError(t, turns.NotePrompt(f.Ctx, f.Project, projecttest.Host("s"), turns.Prompt{ID: "m1", Text: "work", FromUser: true}))
	assert.Empty(t, attend(f, projecttest.Host("s"), turns.Request{}, "m1"), "nothing to tell")
	f.Push(projecttest.Host("s"), "deeper")
	assert.Empty(t, attend(f, projecttest.Host("s"), turns.Request{}, "m1"), "its own calls are in its history")

	f.Decide(projecttest.Shell, f.Current(projecttest.Host("s")), "someone else decides")
	assert.Empty(t, attend(f, projecttest.Host("s"), turns.Request{}, "m1"), "m1 was decided on")
	told := attend(f, projecttest.Host("s"), turns.Request{}, "m1", "m2")
	require.Len(t, told, 1)
	assert.Contains(t, told[0], "m2: <flame-changes")
	assert.Contains(t, told[0], "someone else decides")
	assert.Equal(t, told, attend(f, projecttest.Host("s"), turns.Request{}, "m1", "m2"), "the same bytes again")
	assert.Equal(t, told, attend(f, projecttest.Host("s"), turns.Request{}, "m1", "m2", "m3"), "and in later requests")
	assert.Equal(t, told, attend(f, projecttest.Host("s"), turns.Request{Untold: true}, "m1", "m2", "m4"), "a compaction adds nothing")
}

func TestTheContextComesBackAfterACompaction(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	frame := f.Push(projecttest.Host("s"), "work")
	attend(f, projecttest.Host("s"), turns.Request{}, "m1")
	told := attend(f, projecttest.Host("s"), turns.Request{History: []fold.Message{{Name: "s1", Role: core.RoleAssistant, Summary: true}}}, "m2")
	require.Len(t, told, 1, "what belonged to m1 went with it")
	assert.Contains(t, told[0], `<current-frame id="`+frame.ID+`"`)
	assert.NotContains(t, told[0], "user-words", "it said nothing yet")
	assert.Equal(t, told, attend(f, projecttest.Host("s"), turns.Request{History: []fold.Message{{Name: "s1", Role: core.RoleAssistant, Summary: true}}}, "m2"))
}

func TestWhatTheUserSaidInDialogsComesBackAfterACompaction(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	require.NoError(t, turns.NotePrompt(f.Ctx, f.Project, projecttest.Host("s"), turns.Prompt{ID: "m1", Text: "work", FromUser: true}))
	asks := fold.Message{Name: "q1", Role: core.RoleAssistant, UserWords: "14 only"}
	for range 2 {
		attend(f, projecttest.Host("s"), turns.Request{History: []fold.Message{asks}}, "m1")
	}
	told := attend(f, projecttest.Host("s"), turns.Request{History: []fold.Message{{Name: "s1", Role: core.RoleAssistant, Summary: true}}}, "m2")
	require.Len(t, told, 1)
	assert.Regexp(t, `<said>work</said>\s*<said>14 only</said>`, told[0])
	assert.Equal(t, 1, strings.Count(told[0], "14 only"))
}

func TestAChildsFirstRequestCarriesItsContext(t *testing.T) {
	t.Parallel()
	for _, inject := range []bool{true, false} {
		f := projecttest.New(t)
		f.Subagents.InjectParentContext = inject
		f.Push(projecttest.Host("s"), "work")
		frame := f.StartChild("c", "a subagent").Root
		told := attend(f, projecttest.Child("c"), turns.Request{}, "m1")
		if !inject {
			assert.Empty(t, told)
			continue
		}
		require.Len(t, told, 1)
		assert.Contains(t, told[0], `<current-frame id="`+frame+`"`)
	}
}

func TestInsertsGoWithTheirMessages(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	f.Prompt(projecttest.Host("s"), "m0", "work")
	frame := f.Push(projecttest.Host("s"), "piece")
	attend(f, projecttest.Host("s"), turns.Request{}, "m1")
	f.Decide(projecttest.Shell, frame.ID, "first")
	attend(f, projecttest.Host("s"), turns.Request{}, "m1", "m2")
	f.Decide(projecttest.Shell, frame.ID, "second")
	both := attend(f, projecttest.Host("s"), turns.Request{}, "m1", "m2", "m3")
	require.Len(t, both, 3)
	assert.Contains(t, both[2], "m3: <flame-changes")
	assert.NotContains(t, both[2], "first", "told once")
	assert.Equal(t, both[:2], attend(f, projecttest.Host("s"), turns.Request{}, "m1", "m2"), "a prompt that was taken back")
	assert.Equal(t, both[:2], attend(f, projecttest.Host("s"), turns.Request{}, "m1", "m2", "m4"), "and another in its place")
}

func TestARequestOfAnUnknownSessionIsLeftAlone(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	assert.Empty(t, attend(f, projecttest.Host("s"), turns.Request{History: []fold.Message{{Name: "s1", Role: core.RoleAssistant, Summary: true}}}, "m1"))
	assert.NoDirExists(t, f.Data)
}

func TestAnAgentsFrameEndsWithItsRun(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	root := f.Push(projecttest.Host("s"), "work")
	made, err := f.Delegate(projecttest.Host("s"), children.DelegateArgs{Agent: "agent-1", Goal: "look around", Session: "agent-session", Host: "claude-code"})
	require.NoError(t, err)
	assert.Equal(t, root.ID, made.Frame.Parent)
	assert.Contains(t, made.Context, made.Frame.ID)
	deeper := f.Push(project.Caller{Session: "agent-session", Parent: "s", Host: "claude-code"}, "deeper")
	assert.Equal(t, made.Frame.ID, deeper.Parent)
	require.NoError(t, turns.End(f.Ctx, f.Project, projecttest.Host("s"), turns.EndReport{}))
	assert.Equal(t, core.InProgress, f.Get(made.Frame.ID).Status, "no host's event ends an agent of flame's")
	require.NoError(
		t,
		children.EndDelegation(f.Ctx, f.Project, projecttest.Host("s"), made.Frame.ID,
			children.EndReport{Session: "agent-session", End: core.ChildCompleted, Last: "all said"}),
	)
	assert.Equal(t, core.Completed, f.Get(deeper.ID).Status)
	assert.Equal(t, "all said", f.Get(made.Frame.ID).Summary)
}

func TestTheFirstSessionOfAnAgentsProcessIsTheAgents(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	root := f.Push(projecttest.Host("s"), "work")
	made, err := f.Delegate(projecttest.Host("s"), children.DelegateArgs{Agent: "agent-1", Goal: "look around", Host: "opencode"})
	require.NoError(t, err)
	inside := project.Caller{Session: "ses_1", Host: "opencode", Agent: "agent-1"}
	require.NoError(t, turns.NotePrompt(f.Ctx, f.Project, inside, turns.Prompt{ID: "p", Text: "look around", FromUser: true}))
	deeper := f.Push(inside, "deeper")
	assert.Equal(t, made.Frame.ID, deeper.Parent)
	assert.Equal(t, root.ID, f.Get(made.Frame.ID).Parent)
	assert.Equal(t, "ses_1", f.Get(made.Frame.ID).Session)

	a, err := turns.EditRequest(f.Ctx, f.Project, inside, turns.Request{History: projecttest.Asked("m1")})
	require.NoError(t, err)
	assert.Empty(t, a.After, "its context came with its task")
	again := func(s *project.Op) error { return s.BindAgentSession("agent-1", "ses_1") }
	require.NoError(t, f.Project.Update(f.Ctx, projecttest.Host("s"), again), "telling it again changes nothing")

	other := f.Push(project.Caller{Session: "ses_2", Host: "opencode", Agent: "agent-1"}, "of another conversation")
	assert.NotEqual(t, made.Frame.ID, other.Parent, "a second conversation in the same process is not the agent's own")
}

func TestAnAgentsContextIsGivenOnce(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	f.Push(projecttest.Host("s"), "work")
	made, err := f.Delegate(projecttest.Host("s"), children.DelegateArgs{Agent: "agent-1", Goal: "look around", Session: "a", Host: "claude-code"})
	require.NoError(t, err)
	require.NotEmpty(t, made.Context)
	begun, err := briefing.Begin(f.Ctx, f.Project, project.Caller{Session: "a", Host: "claude-code"}, 9_500)
	require.NoError(t, err)
	assert.Empty(t, begun.Text)
	prompted, err := turns.Begin(f.Ctx, f.Project, project.Caller{Session: "a", Host: "claude-code"}, turns.Prompt{ID: "p", Text: "look around", FromUser: true})
	require.NoError(t, err)
	assert.Empty(t, prompted.Text)
	again, err := briefing.Begin(f.Ctx, f.Project, project.Caller{Session: "a", Host: "claude-code"}, 9_500)
	require.NoError(t, err)
	assert.NotEmpty(t, again.Text, "after a compaction it is told again")
}
