package tests

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/model"
)

// asked matches requests of the conversation that began with this word.
func asked(name, word string, turns ...model.Turn) model.Actor {
	return model.Actor{Name: name, Kind: model.Work, Where: model.FirstUser, Match: regexp.MustCompile(word), Turns: turns}
}

// agent has Claude Code's model start a subagent.
func agent(description, prompt string, background bool) model.Tool {
	return model.Tool{Name: "Agent", Input: map[string]any{
		"description": description, "prompt": prompt, "subagent_type": "general-purpose", "run_in_background": background,
	}}
}

// family is the work of two subagents in parallel, the first of which has a subagent of its own;
// spawn is the host's way to start them.
func family(spawn func(description, prompt string) model.Tool) model.Script {
	return model.Script{
		asked("leaf", "LEAFWORK", calls("flame_add_decision", map[string]any{"decision": "leaf decides"}), model.Turn{Text: "LEAF-RESULT"}),
		asked("one", "ONEWORK",
			calls("flame_add_decision", map[string]any{"decision": "one decides"}),
			model.Turn{Tools: []model.Tool{spawn("look at the leaf", "LEAFWORK go")}},
			model.Turn{Text: "ONE-RESULT"}),
		asked("two", "TWOWORK", calls("flame_push", map[string]any{"goal": "inside two"}), model.Turn{Text: "TWO-RESULT"}),
		asked("main", "MAINWORK",
			model.Turn{Tools: []model.Tool{spawn("do one", "ONEWORK go"), spawn("do two", "TWOWORK go")}},
			model.Turn{Text: "MAIN-RESULT"}),
	}
}

// isFamily checks the family's tree and its models' contexts: in their first requests, or if
// patient, in a later one, because a host goes on if flame takes too long. It is patient as well
// if flame says that it was late: the machine may have stood still.
func (u *user) isFamily(patient bool) {
	u.t.Helper()
	require.Eventually(u.t, func() bool { return u.frame("MAINWORK please").Status == "completed" }, patience, 100*time.Millisecond,
		"the session's end ends its root")
	u.t.Log(u.must(u.flame, "tree"), u.must(u.flame, "events"), u.log())
	patient = patient || strings.Contains(u.log(), "an event waits in the inbox")
	root, one, two, leaf := u.frame("MAINWORK please"), u.frame("do one"), u.frame("do two"), u.frame("look at the leaf")
	assert.Equal(u.t, root.SessionID, one.ParentSessionID)
	assert.Equal(u.t, root.SessionID, two.ParentSessionID)
	assert.Equal(u.t, one.SessionID, leaf.ParentSessionID)
	assert.Equal(u.t, two.SessionID, u.frame("inside two").ParentSessionID)
	for actor, frame := range map[string]stateFrame{"one": one, "two": two, "leaf": leaf} {
		assert.Equal(u.t, "completed", frame.Status, frame.Goal)
		assert.Equal(u.t, strings.ToUpper(actor)+"-RESULT", frame.CompactionSummary)
		requests := u.model.By(actor)
		require.NotEmpty(u.t, requests, actor)
		told := func(r model.Request) bool {
			return strings.Contains(r.Everything(), `<current-frame id="`+frame.SessionID+`"`)
		}
		// A host that no longer waits may ask its model before the context comes, and again only after
		// the child has begun a frame of its own, which that context then names.
		given := u.must(u.flame, "events", "--kind", "ContextInjected", "--limit", "0")
		late := patient && (strings.Contains(given, frame.SessionID) || actor == "two" && strings.Contains(given, u.frame("inside two").SessionID))
		assert.True(u.t, told(requests[0]) || late, "%s has its frame's context", actor)
	}
	assert.Equal(u.t, []string{"one decides"}, one.Decisions)
	assert.Equal(u.t, []string{"leaf decides"}, leaf.Decisions)
	for _, r := range u.model.Requests() {
		assert.NotContains(u.t, r.System, "<flame-")
		assert.NotContains(u.t, r.Everything(), "<flame-changes", "what the host itself hands over is not told again")
		if r.Kind == model.Title {
			assert.NotContains(u.t, r.Everything(), "<flame-")
		}
	}
}

// log returns flame's log of warnings and errors.
func (u *user) log() string {
	text, err := os.ReadFile(filepath.Join(u.data(), "flame.log"))
	require.NoError(u.t, err)
	return string(text)
}

// talk has a conversation with Claude Code over several prompts in one process, each after the
// answer to the previous one.
func (u *user) talk(args []string, prompts ...string) {
	ctx, cancel := context.WithTimeout(u.t.Context(), clientTime)
	defer cancel()
	cmd := u.command(ctx, "claude", append([]string{"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"}, args...)...)
	in, err := cmd.StdinPipe()
	require.NoError(u.t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(u.t, err)
	require.NoError(u.t, cmd.Start())
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for _, prompt := range prompts {
		line, err := json.Marshal(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": prompt}})
		require.NoError(u.t, err)
		_, err = in.Write(append(line, '\n'))
		require.NoError(u.t, err)
		for lines.Scan() && !strings.Contains(lines.Text(), `"type":"result"`) {
		}
	}
	require.NoError(u.t, in.Close())
	for lines.Scan() { // lines after the last answer
	}
	require.NoError(u.t, cmd.Wait())
}

const talkID = "11111111-2222-4333-8444-555555555555"

// fivePrompts are the prompts of a session; during the answer to the third, another process
// records a decision.
var fivePrompts = []string{"MAINWORK", "PROMPT-2", "PROMPT-3", "PROMPT-4", "PROMPT-5"}

// tellsOnlyWhatChanged has ask send fivePrompts in one process, and checks the text beside each.
func (u *user) tellsOnlyWhatChanged(ask func(prompts []string)) {
	u.model.Play(model.Script{
		asked("main", "MAINWORK", model.Turn{Text: "first"}, model.Turn{Text: "second"},
			model.Turn{From: func(model.Request) model.Turn {
				u.must(u.flame, "decision", "someone else decides", "--frame", u.frame("MAINWORK").SessionID)
				return model.Turn{Text: "third"}
			}},
			model.Turn{Text: "fourth"}, model.Turn{Text: "fifth"}),
	})
	ask(fivePrompts)
	requests := u.model.By("main")
	require.Len(u.t, requests, len(fivePrompts))
	for i, r := range requests {
		text := r.Everything()
		assert.Equal(u.t, 0, strings.Count(text, "<flame-context"), "request %d: a new project has nothing to tell", i)
		assert.Equal(u.t, min(1, max(0, i-2)), strings.Count(text, "<flame-changes"), "request %d: told once", i)
		assert.NotContains(u.t, r.System, "<flame-")
	}
	assert.Contains(u.t, requests[3].Everything(), "someone else decides")
}

func TestClaudeReportsOnlyChanges(t *testing.T) {
	t.Parallel()
	u := ready(t, claudeCode)
	u.tellsOnlyWhatChanged(func(prompts []string) { u.talk([]string{"--session-id", talkID}, prompts...) })
}

func TestClaudeGetsTheContextBack(t *testing.T) {
	t.Parallel()
	u := ready(t, claudeCode)
	u.model.Play(model.Script{
		{Name: "summary", Kind: model.Compaction, Turns: []model.Turn{{Text: "<analysis>thoughts</analysis>\n<summary>\nWHAT-WAS-DONE\n</summary>"}}},
		asked("main", "MAINWORK|continued from a previous",
			calls("flame_push", map[string]any{"goal": parserGoal}),
			calls("flame_add_decision", map[string]any{"decision": "recursive descent"}),
			model.Turn{Text: "first"},
			calls("flame_pop", map[string]any{"status": "completed", "summary": "my words", "generateSummary": true}),
			model.Turn{Text: "second"},
			model.Turn{Text: "third"}),
	})
	u.must("claude", "-p", "--session-id", talkID, "MAINWORK")
	frame := u.frame(parserGoal)

	u.must("claude", "-p", "--resume", talkID, "PROMPT-RESUMED")
	resumed := u.model.By("main")[3]
	assert.NotContains(t, resumed.Everything(), `<current-frame id="`+frame.SessionID+`"`, "its history has it all")
	assert.Equal(t, "in_progress", u.frame(parserGoal).Status, "it waits for its summary")

	u.must("claude", "-p", "--resume", talkID, "/compact")
	summaries := u.model.By("summary")
	require.Len(t, summaries, 1)
	assert.Contains(t, summaries[0].Everything(), "This piece of work ends here")
	done := u.frame(parserGoal)
	assert.Equal(t, "completed", done.Status, "the summary finishes the pop that waited for it")
	assert.Equal(t, "my words\n\n---\n\nWHAT-WAS-DONE", done.CompactionSummary)

	u.must("claude", "-p", "--resume", talkID, "PROMPT-AFTER")
	requests := u.model.By("main")
	after := requests[len(requests)-1]
	assert.Regexp(t, `<flame-changes[^>]*"`+u.frame("MAINWORK").SessionID+`"`, after.Everything(), "where it stands now")
	assert.Contains(t, after.Everything(), "WHAT-WAS-DONE")
}

func TestClaudeHearsOfABackgroundChildOnce(t *testing.T) {
	t.Parallel()
	u := ready(t, claudeCode)
	u.model.Play(model.Script{
		asked("child", "CHILDWORK",
			calls("flame_pop", map[string]any{"status": "completed", "summary": "SUMMARY-BY-POP"}),
			model.Turn{Text: "CHILD-LAST"}),
		asked("main", "MAINWORK",
			model.Turn{Tools: []model.Tool{agent("a child", "CHILDWORK go", true)}},
			model.Turn{Text: "waiting"}, model.Turn{Text: "heard"}, model.Turn{Text: "and on"}),
	})
	u.talk([]string{"--session-id", talkID}, "MAINWORK")
	u.must("claude", "-p", "--resume", talkID, "PROMPT-LATER")
	t.Log(u.must(u.flame, "tree"), u.must(u.flame, "events"))
	assert.Equal(t, "completed", u.frame("a child").Status)
	assert.Equal(t, "SUMMARY-BY-POP", u.frame("a child").CompactionSummary)
	told := 0
	for _, r := range u.model.By("main") {
		told = max(told, strings.Count(r.Everything(), "<flame-changes"))
	}
	assert.Equal(t, 1, told)
}

func TestClaudeChildrenThatDoNotFinish(t *testing.T) {
	t.Parallel()
	u := ready(t, claudeCode)
	fault := model.Turn{Error: &model.Error{Status: 400, Type: "invalid_request_error", Message: "no such thing"}}
	agentID := regexp.MustCompile(`agentId: (\w+)`)
	u.model.Play(model.Script{
		asked("fails", "FAILWORK", fault, fault, fault, fault, fault, fault, fault, fault),
		asked("slow", "SLOWWORK", model.Turn{Text: "too late", Delay: time.Hour}),
		asked("main", "MAINWORK",
			model.Turn{Tools: []model.Tool{agent("it fails", "FAILWORK go", false)}},
			model.Turn{Tools: []model.Tool{agent("it is slow", "SLOWWORK go", true)}},
			model.Turn{Tools: []model.Tool{{Name: "ToolSearch", Input: map[string]any{"query": "select:TaskStop"}}}},
			model.Turn{From: func(r model.Request) model.Turn {
				found := agentID.FindStringSubmatch(r.Everything())
				if found == nil {
					return model.Turn{Text: "no agent in " + r.Everything()}
				}
				return model.Turn{Tools: []model.Tool{{Name: "TaskStop", Input: map[string]any{"task_id": found[1]}}}}
			}},
			model.Turn{Text: "MAIN-RESULT"}),
	})
	u.must("claude", "-p", "--permission-mode", "bypassPermissions", "MAINWORK")
	t.Log(u.must(u.flame, "tree"), u.must(u.flame, "events"))
	assert.Equal(t, "failed", u.frame("it fails").Status)
	assert.Contains(t, u.frame("it fails").CompactionSummary, "no such thing")
	assert.Equal(t, "blocked", u.frame("it is slow").Status)
	assert.Contains(t, u.must(u.flame, "events", "--json"), "SubagentCancelled")
}
