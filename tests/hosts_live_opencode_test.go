package tests

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/model"
)

// task has OpenCode's model start a subagent.
func task(description, prompt string) model.Tool {
	return model.Tool{Name: "task", Input: map[string]any{
		"description": description, "prompt": prompt, "subagent_type": "general",
	}}
}

// configure adds settings to the project's opencode.json.
func (u *user) configure(more map[string]any) {
	var config map[string]any
	require.NoError(u.t, json.Unmarshal([]byte(openCodeConfig(u.t, u.model.URL, nil)), &config))
	for name, value := range more {
		config[name] = value
	}
	text, err := json.Marshal(config)
	require.NoError(u.t, err)
	u.write("opencode.json", string(text))
}

// nested lets OpenCode's subagents start subagents.
var nested = map[string]any{
	"subagent_depth": 3,
	"agent":          map[string]any{"general": map[string]any{"permission": map[string]any{"task": "allow"}}},
}

var openCodeSession = regexp.MustCompile(`"sessionID":"(ses_\w+)"`)

// converse has OpenCode work on prompts one after another in one session, each in its own process.
func (u *user) converse(prompts ...string) (session string) {
	for _, prompt := range prompts {
		args := []string{"run", "--format", "json"}
		if session != "" {
			args = append(args, "--session", session)
		}
		found := openCodeSession.FindStringSubmatch(u.must("opencode", append(args, prompt)...))
		require.NotNil(u.t, found)
		session = found[1]
	}
	return session
}

func TestOpenCodeSubagentsBuildTheTree(t *testing.T) {
	t.Parallel()
	u := ready(t, openCode)
	u.configure(nested)
	u.model.Play(family(task))
	u.converse("MAINWORK please")
	u.isFamily(true)
}

func TestOpenCodeGetsTheContextBack(t *testing.T) {
	t.Parallel()
	u := ready(t, openCode)
	u.model.Play(model.Script{
		{Name: "summary", Kind: model.Compaction, Turns: []model.Turn{{Text: "<analysis>thoughts</analysis>\nWHAT-WAS-DONE"}}},
		{Name: "main", Kind: model.Work, Turns: []model.Turn{
			calls("flame_push", map[string]any{"goal": parserGoal}),
			calls("flame_add_decision", map[string]any{"decision": "recursive descent"}),
			{Text: "first"},
			calls("flame_pop", map[string]any{"status": "completed", "summary": "my words", "generateSummary": true}),
			calls("flame_summarize", nil),
			{Text: "second"}, {Text: "third"}, {Text: "fourth"},
		}},
	})
	session := u.converse("MAINWORK")
	frame := u.frame(parserGoal)
	serve := u.serve()
	serve.message(session, "PROMPT-RESUMED")
	resumed := u.model.By("main")[3]
	assert.Contains(t, resumed.Everything(), frame.SessionID, "its history holds what it knew")
	assert.NotContains(t, resumed.Everything(), "<current-frame", "so that is not told again")
	require.Eventually(t, func() bool { return u.frame(parserGoal).Status == "completed" }, patience, 100*time.Millisecond,
		"flame_summarize has the host make a summary, and that finishes the pop that waited for it")
	t.Log(u.must(u.flame, "tree"), u.must(u.flame, "events"), u.log())
	summaries := u.model.By("summary")
	require.NotEmpty(t, summaries)
	assert.Contains(t, summaries[0].System+summaries[0].Everything(), "Type: frame_completion")
	assert.Equal(t, "my words\n\n---\n\nWHAT-WAS-DONE", u.frame(parserGoal).CompactionSummary)

	serve.message(session, "PROMPT-AFTER")
	requests := u.model.By("main")
	after := requests[len(requests)-1]
	assert.Contains(t, after.Everything(), `<current-frame id="`+u.frame("MAINWORK").SessionID+`"`, "and after a compaction")
}

// One server has several sessions: what a parent is told of a child in the background, and children
// that do not finish.
func TestOpenCodeReportsOnlyChanges(t *testing.T) {
	t.Parallel()
	u := newUser(t, openCode)
	u.env = append(u.env, "OPENCODE_EXPERIMENTAL_BACKGROUND_SUBAGENTS=true")
	u.must(u.flame, "setup", openCode)
	serve := u.serve()
	u.tellsOnlyWhatChanged(serve.prompts)

	inBackground := task("a child", "CHILDWORK go")
	inBackground.Input.(map[string]any)["background"] = true
	fault := model.Turn{Error: &model.Error{Status: 400, Type: "invalid_request_error", Message: "no such thing"}}
	u.model.Play(model.Script{
		asked("child", "CHILDWORK",
			calls("flame_pop", map[string]any{"status": "completed", "summary": "SUMMARY-BY-POP"}),
			model.Turn{Text: "CHILD-LAST"}),
		asked("parent", "PARENTWORK", model.Turn{Tools: []model.Tool{inBackground}},
			model.Turn{Text: "waiting"}, model.Turn{Text: "heard"}, model.Turn{Text: "and on"}),
		asked("fails", "FAILWORK", fault, fault, fault, fault),
		asked("slow", "SLOWWORK", model.Turn{Text: "too late", Delay: time.Hour}),
		asked("other", "OTHERWORK",
			model.Turn{Tools: []model.Tool{task("it fails", "FAILWORK go")}},
			model.Turn{Tools: []model.Tool{task("it is slow", "SLOWWORK go")}},
			model.Turn{Text: "MAIN-RESULT"}),
	})
	session := serve.session()
	serve.message(session, "PARENTWORK")
	require.Eventually(t, func() bool { return u.frame("a child").Status == "completed" }, patience, 100*time.Millisecond)
	require.Eventually(t, func() bool { return len(u.model.By("parent")) >= 3 }, patience, 100*time.Millisecond, "the host tells the parent")
	serve.message(session, "PROMPT-LATER")
	assert.Equal(t, 1, strings.Count(u.newestOf("parent").Everything(), "SUMMARY-BY-POP"), "told once")

	session = serve.session()
	serve.start(session, "OTHERWORK")
	require.Eventually(t, func() bool { return len(u.model.By("slow")) > 0 }, patience, 20*time.Millisecond)
	serve.abort(session)
	require.Eventually(t, func() bool { return u.frame("it is slow").Status != "in_progress" }, patience, 100*time.Millisecond)
	t.Log(u.must(u.flame, "tree"), u.must(u.flame, "events"), u.log())
	assert.Equal(t, "failed", u.frame("it fails").Status)
	assert.Equal(t, "blocked", u.frame("it is slow").Status)
}
