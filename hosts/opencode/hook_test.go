package opencode_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/op"
	"flame/hosts"
	"flame/hosts/opencode"
	"flame/project"
	"flame/project/briefing"
	"flame/project/files"
	"flame/project/stack"
	"flame/project/sweep"
	"flame/project/view"
	"flame/store"
	"flame/tests/projecttest"
	"flame/tests/storetest"
)

// A plugin plays flame.js on a project with a real store.
type plugin struct {
	t     *testing.T
	p     *project.Project
	dir   string
	kept  *storetest.Counted
	clock core.Millis
}

func newPlugin(t *testing.T) *plugin {
	t.Helper()
	l := &plugin{t: t, dir: t.TempDir(), clock: 1_766_600_000_000}
	kept := projecttest.Open(t, filepath.Join(l.dir, ".flame"), store.Options{})
	l.kept = &storetest.Counted{Store: kept}
	l.p = &project.Project{
		Store: l.kept, Dir: l.dir, Log: slog.New(slog.DiscardHandler), Budget: core.DefaultBudget(), EventDays: 90, Fold: true,
		Subagents: core.DefaultSubagentConfig(), Autonomy: projecttest.ByScores(),
		Now: func() core.Millis { l.clock++; return l.clock }, NewID: project.NewID,
	}
	return l
}

// raw takes in one event, in one transaction at most, and returns the answer.
func (l *plugin) raw(event string) (string, error) {
	before := l.kept.Transactions.Load()
	answer, err := opencode.Hook(context.Background(), hosts.Flame{Project: l.p}, []byte(event))
	assert.LessOrEqual(l.t, l.kept.Transactions.Load()-before, int64(1), "%.300s", event)
	return string(answer), err
}

// tell tells an event of session "s", unless fields say otherwise, twice, and
// gives the first answer. The second time changes nothing.
func (l *plugin) tell(name, fields string) string {
	l.t.Helper()
	event := map[string]any{"event": name, "session": "s"}
	require.NoError(l.t, json.Unmarshal([]byte("{"+fields+"}"), &event))
	text, err := json.Marshal(event)
	require.NoError(l.t, err)
	first, err := l.raw(string(text))
	require.NoError(l.t, err)
	tree := l.tree()
	_, err = l.raw(string(text))
	require.NoError(l.t, err)
	require.Equal(l.t, tree, l.tree(), "%s again", name)
	return first
}

// working has session s work on something.
func working(t *testing.T) *plugin {
	t.Helper()
	l := newPlugin(t)
	l.tell("chat.message", `"message": "m1", "text": "Main work"`)
	return l
}

// tree draws the frames, one line each: status, goal and summary.
func (l *plugin) tree() string {
	l.t.Helper()
	tree, err := view.TreeOf(context.Background(), l.p, project.Caller{Host: project.CommandLine}, view.TreeArgs{})
	require.NoError(l.t, err)
	var b strings.Builder
	for _, line := range tree.Lines {
		f := line.Frame
		b.WriteString(strings.Repeat("  ", int(line.Depth)) + strings.TrimSuffix(string(f.Status)+" "+f.Goal+": "+f.Summary, ": ") + "\n")
	}
	return b.String()
}

func (l *plugin) caller() project.Caller {
	return project.Caller{Session: "s", Host: opencode.Name, Trust: project.Stamped}
}

func (l *plugin) current() core.Frame {
	l.t.Helper()
	frame, _, err := projecttest.Current(context.Background(), l.p, l.caller())
	require.NoError(l.t, err)
	return frame
}

func (l *plugin) push(goal string) core.Frame {
	l.t.Helper()
	frame, err := stack.Push(context.Background(), l.p, l.caller(), goal, "")
	require.NoError(l.t, err)
	return frame
}

func TestNoEventIsTooStrange(t *testing.T) {
	t.Parallel()
	l := newPlugin(t)
	for name, event := range map[string]string{
		"one that nobody knows": `{"event": "moon.phase", "session": "s"}`,
		"one of no session":     `{"event": "chat.message", "text": "hello"}`,
		"one that says nothing": `{"event": "session.created", "session": "s"}`,
		"the end of no session": `{"event": "session.deleted", "session": "s"}`,
		"a turn of no session":  `{"event": "session.idle", "session": "s", "text": "hello", "future": {}}`,
		"a child of no session": `{"event": "tool.after", "session": "s", "child": "c", "output": "done"}`,
	} {
		answer, err := l.raw(event)
		require.NoError(t, err, name)
		assert.Empty(t, answer, name)
	}
	for name, event := range map[string]string{"nothing": "", "no JSON": "\x00\xff{", "a list": "[]", "another type": `{"event": 7}`} {
		_, err := l.raw(event)
		require.Error(t, err, name)
	}
	assert.NoDirExists(t, filepath.Join(l.dir, ".flame"), "no event creates data")
}

func TestPromptsAndTitlesNameTheRoot(t *testing.T) {
	t.Parallel()
	l := newPlugin(t)
	l.tell("chat.message", `"message": "m1", "text": "/init"`)
	l.tell("session.updated", `"title": "A title by a model"`)
	assert.Equal(t, "in_progress A title by a model\n", l.tree())
	l.tell("chat.message", `"message": "m2", "text": "\"Fix the login\""`)
	l.tell("session.updated", `"title": "Another title"`)
	assert.Equal(t, "in_progress Fix the login\n", l.tree())
}

func TestADelegationNamesTheRoot(t *testing.T) {
	t.Parallel()
	delegate, found := lo.Find(op.Commands, func(c op.Command) bool { return c.Name == "delegate" })
	require.True(t, found)
	text, err := json.Marshal(delegate.Prompt(`"write the \"parser\" --agent-type builder"`))
	require.NoError(t, err)
	l := newPlugin(t)
	l.tell("chat.message", `"message": "m1", "text": `+string(text))
	assert.Equal(t, "in_progress write the \"parser\"\n", l.tree())
}

func TestTheEndsOfChildren(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ event, fields, want string }{
		"with a result": {
			"tool.after", `"tool": "task", "child": "c", "output": "<task id=\"c\">\n<task_result>\nFOUND\n</task_result>"`, "completed Dig: FOUND",
		},
		"with words":        {"tool.after", `"tool": "task", "child": "c", "output": " FOUND "`, "completed Dig: FOUND"},
		"by an error":       {"tool.failed", `"tool": "task", "child": "c", "error": "no"`, "failed Dig: no"},
		"by its user":       {"tool.failed", `"tool": "task", "child": "c", "error": "Task cancelled", "aborted": true`, "blocked Dig: Task cancelled"},
		"unseen":            {"session.idle", `"running": []`, "blocked Dig: (its host no longer runs it)"},
		"with the host":     {"dispose", `"session": "", "sessions": ["s", "c"]`, "blocked Dig: (its host no longer runs it)"},
		"not by work":       {"tool.after", `"tool": "write", "files": ["a.go"]`, "in_progress Dig"},
		"not while it runs": {"session.idle", `"running": ["c"]`, "in_progress Dig"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := working(t)
			l.tell("session.created", `"session": "c", "parent": "s", "title": "Dig (@general subagent)"`)
			l.tell("chat.message", `"session": "c", "parent": "s", "message": "c1", "text": "Please dig"`)
			assert.Equal(t, "in_progress Main work\n  in_progress Dig\n", l.tree())
			l.tell(tt.event, tt.fields)
			_, below, _ := strings.Cut(l.tree(), "\n")
			assert.Equal(t, "  "+tt.want+"\n", below)
		})
	}
}

func TestAnIdleChildLeavesItsLastWords(t *testing.T) {
	t.Parallel()
	l := working(t)
	l.tell("session.created", `"session": "c", "parent": "s", "title": "Dig (@general subagent)"`)
	l.tell("session.idle", `"session": "c", "parent": "s", "text": "FOUND"`)
	l.clock += 6_000
	require.NoError(t, sweep.Once(context.Background(), l.p))
	assert.Equal(t, "in_progress Main work\n  completed Dig: FOUND\n", l.tree())
	l.tell("chat.message", `"session": "c", "parent": "s", "message": "c2", "text": "Dig on"`)
	assert.Equal(t, "in_progress Main work\n  completed Dig: FOUND\n  in_progress Dig (continued)\n", l.tree())
}

func TestARequestIsFoldedAndToldTheNews(t *testing.T) {
	t.Parallel()
	l := working(t)
	frame := l.push("piece")
	_, err := stack.Pop(context.Background(), l.p, l.caller(), stack.PopArgs{Status: core.Completed, Summary: "done"})
	require.NoError(t, err)
	const request = `"messages": [
		{"name": "m1", "role": "user", "time": 1}, {"name": "a1", "role": "assistant", "time": 2, "moves": [{"kind": "enter", "frame": "%id", "first": true}]},
		{"name": "a2", "role": "assistant", "time": 3}, {"name": "m2", "role": "user", "time": 4},
		{"name": "a3", "role": "assistant", "time": 5, "moves": [{"kind": "leave", "frame": "%id"}]},
		{"name": "a4", "role": "assistant", "time": 6}]`
	var answer struct {
		Edition       int
		Drop, Stale   []string
		Before, After []struct{ Message, Text string }
	}
	told := l.tell("messages.transform", strings.ReplaceAll(request, "%id", frame.ID))
	require.NoError(t, json.Unmarshal([]byte(told), &answer))
	assert.Equal(t, []string{"a1", "a2"}, answer.Drop)
	assert.Equal(t, []string{"a3", "a4"}, answer.Stale, "these answers followed the whole past")
	assert.Positive(t, answer.Edition)
	require.Len(t, answer.Before, 1)
	assert.Equal(t, "m2", answer.Before[0].Message, "what the user said in it stays, and is marked")
	require.Len(t, answer.After, 1)
	assert.Equal(t, "a4", answer.After[0].Message, "requests since m2 went out without it")
	assert.Contains(t, answer.After[0].Text, "<flame-context")
	assert.Equal(t, told, l.tell("messages.transform", strings.ReplaceAll(request, "%id", frame.ID)), "the same bytes again")
}

func TestACompactionIsRequestedAndItsSummaryStored(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		mark    func(l *plugin)
		replace bool // flame's instructions stand instead of the host's
		summary string
		want    string
	}{
		"of a full context": {func(*plugin) {}, false, "<analysis>a</analysis>SUMMARY", "in_progress Main work\n  in_progress piece: SUMMARY\n"},
		"that says nothing": {func(*plugin) {}, false, " ", "in_progress Main work\n  in_progress piece\n"},
		"that was asked for": {
			func(l *plugin) { _, _ = stack.Summarize(context.Background(), l.p, l.caller(), "", "", "") }, true, "SUMMARY",
			"in_progress Main work\n  in_progress piece: SUMMARY\n",
		},
		"that a pop waits for": {func(l *plugin) { l.popLater() }, true, "SUMMARY", "in_progress Main work\n  completed piece: mine\n\n---\n\nSUMMARY\n"},
		"that never came":      {func(l *plugin) { l.popLater() }, true, "", "in_progress Main work\n  completed piece: mine\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := working(t)
			l.push("piece")
			tt.mark(l)
			var answer struct {
				Context []string
				Prompt  string
			}
			require.NoError(t, json.Unmarshal([]byte(l.tell("session.compacting", "")), &answer))
			assert.Equal(t, tt.replace, answer.Prompt != "")
			assert.Equal(t, tt.replace, len(answer.Context) == 0)
			if tt.summary != "" {
				_, err := l.raw(`{"event": "text.complete", "session": "s", "text": "` + tt.summary + `"}`)
				require.NoError(t, err)
			}
			l.tell("session.compacted", "")
			assert.Equal(t, tt.want, l.tree())
		})
	}
}

func (l *plugin) popLater() {
	l.t.Helper()
	_, err := stack.Pop(context.Background(), l.p, l.caller(), stack.PopArgs{Status: core.Completed, Summary: "mine", GenerateSummary: true})
	require.NoError(l.t, err)
}

func TestAnUnknownCompactionIsNotChanged(t *testing.T) {
	t.Parallel()
	l := newPlugin(t)
	assert.Empty(t, l.tell("session.compacting", ""))
	assert.Empty(t, l.tell("text.complete", `"text": "SUMMARY"`))
	assert.Empty(t, l.tree())
}

func TestFilesAndCostsAreKeptOnce(t *testing.T) {
	t.Parallel()
	l := working(t)
	l.tell("tool.after", `"tool": "write", "files": ["a.go", "`+filepath.Join(l.dir, "b", "c.go")+`"]`)
	l.tell("session.idle", `"usage": [{"id": "a1", "at": 1, "in": 2, "out": 3, "cacheRead": 4, "cacheWrite": 5, "cost": 0.5, "tools": 1}]`)
	frame := l.current()
	assert.Equal(t, []string{"a.go", "b/c.go"}, frame.Artifacts)
	assert.Equal(t, core.Usage{TokensIn: 2, TokensOut: 3, CacheRead: 4, CacheWritten: 5, CostUSD: 0.5, ToolCalls: 1}, frame.Usage)
}

func TestWhatAToolDidToFilesIsKeptOnce(t *testing.T) {
	t.Parallel()
	l := working(t)
	edit := `"tool": "edit", "call": "c1", "files": ["a.go"], "did": {"input": {"filePath": "` + filepath.Join(l.dir, "a.go") +
		`"}, "metadata": {"filediff": {"patch": "--- a\n+++ b\n@@ -1,1 +1,1 @@\n-a\n+b\n"}}}`
	l.tell("tool.after", edit)
	l.tell("tool.after", edit)
	l.tell("tool.after", `"tool": "write", "call": "c2", "files": ["b.go"], `+
		`"did": {"input": {"filePath": "b.go", "content": "b\n"}, "metadata": {"exists": false}}`)
	l.tell("tool.after", `"tool": "write", "call": "c3", "files": ["c.go"], "did": {"input": [], "metadata": 7}`)
	details, err := view.DetailsOf(context.Background(), l.p, project.Caller{Session: "s", Host: opencode.Name}, "")
	require.NoError(t, err)
	assert.Equal(t, []files.File{
		{Path: "a.go", Kind: core.FileModified, Added: 1, Removed: 1, Changes: 1}, {Path: "b.go", Kind: core.FileAdded, Added: 1, Changes: 1},
	}, details.Files.Files)
}

func TestADeletedSessionsWorkStays(t *testing.T) {
	t.Parallel()
	l := working(t)
	l.tell("tool.after", `"tool": "write", "files": ["a.go"]`)
	l.tell("session.deleted", "")
	assert.Equal(t, "blocked Main work: (its session ended before the work was done)\n", l.tree())
	b, err := briefing.Begin(context.Background(), l.p, project.Caller{Session: "other", Host: opencode.Name}, 0)
	require.NoError(t, err)
	assert.Contains(t, b.Text, "Main work", "other sessions may resume it")
}

func TestHooksThatAreOffDoNothing(t *testing.T) {
	t.Parallel()
	l := newPlugin(t)
	require.NoError(t, l.p.SetOff(context.Background(), true))
	for _, event := range []string{"chat.message", "session.created", "messages.transform", "session.compacting", "session.idle"} {
		assert.Empty(t, l.tell(event, `"parent": "p", "message": "m1", "text": "Work", "messages": [{"id": "m1", "role": "user"}]`), event)
	}
	assert.Empty(t, l.tree())
}

func TestARequestRecoversMissedEvents(t *testing.T) {
	t.Parallel()
	const words = `"messages": [{"id": "m1", "role": "user", "time": 1}, {"id": "m2", "role": "user", "time": 4}],
		"words": [{"message": "m1", "text": "Main work"}, {"message": "m2", "text": "and more"}], "tasks": [%s]`
	const (
		done    = `{"child": "c1", "title": "look (@general subagent)", "state": "completed", "output": "<task_result>FOUND</task_result>"}`
		failed  = `{"child": "c2", "title": "try (@general subagent)", "state": "error", "error": "no such thing"}`
		stopped = `{"child": "c3", "title": "wait (@general subagent)", "state": "aborted", "error": "Cancelled"}`
		working = `{"child": "c4", "title": "work (@general subagent)"}`
	)
	created := func(l *plugin) {
		l.tell("chat.message", `"message": "m1", "text": "Main work"`)
		l.tell("session.created", `"session": "c1", "parent": "s", "title": "look (@general subagent)"`)
	}
	tests := map[string]struct {
		before func(l *plugin)
		tasks  []string
		want   string
	}{
		"of everything": {func(*plugin) {}, []string{done, failed, stopped, working},
			"in_progress Main work\n  completed look: FOUND\n  failed try: no such thing\n  blocked wait: Cancelled\n  in_progress work\n"},
		"of a child's end": {created, []string{done}, "in_progress Main work\n  completed look: FOUND\n"},
		"of nothing that was told": {func(l *plugin) {
			created(l)
			l.tell("tool.after", `"tool": "task", "child": "c1", "output": "<task_result>TOLD</task_result>"`)
		}, []string{done}, "in_progress Main work\n  completed look: TOLD\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newPlugin(t)
			tt.before(l)
			l.tell("messages.transform", fmt.Sprintf(words, strings.Join(tt.tasks, ",")))
			assert.Equal(t, tt.want, l.tree())
		})
	}
}

func TestTheFirstRequestOfAChildThatWasNotToldOfIsNoRoot(t *testing.T) {
	t.Parallel()
	l := working(t)
	l.tell("messages.transform", `"session": "c1", "parent": "s", "messages": [{"id": "u", "role": "user", "time": 1}]`)
	assert.Equal(t, "in_progress Main work\n", l.tree())
	l.tell("session.created", `"session": "c1", "parent": "s", "title": "look (@general subagent)"`)
	assert.Equal(t, "in_progress Main work\n  in_progress look\n", l.tree())
}
