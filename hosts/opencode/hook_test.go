package opencode_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/op"
	"flame/hosts/opencode"
	"flame/project"
	"flame/project/briefing"
	"flame/project/children"
	"flame/project/stack"
	"flame/project/sweep"
	"flame/project/usage"
	"flame/project/view"
	"flame/tests/hooktest"
	"flame/tests/projecttest"
)

func TestHook(t *testing.T) { hooktest.Run(t, opencode.Host(nil), "testdata") }

// A plugin plays flame.js on a project with a real store.
type plugin struct{ *hooktest.Session }

func newPlugin(t *testing.T) *plugin {
	t.Helper()
	return &plugin{hooktest.Of(t, opencode.Host(nil), "testdata").New(t)}
}

// tell tells an event of the session, unless fields say otherwise, twice, and gives the first answer.
// The second time changes nothing.
func (l *plugin) tell(name, fields string) string {
	l.T.Helper()
	event := map[string]any{"event": name}
	require.NoError(l.T, json.Unmarshal([]byte("{"+fields+"}"), &event))
	first := l.Send(event)
	tree := l.Tree()
	l.Send(event)
	require.Equal(l.T, tree, l.Tree(), "%s again", name)
	return first
}

// working has the session work on something.
func working(t *testing.T) *plugin {
	t.Helper()
	l := newPlugin(t)
	l.tell("chat.message", `"message": "m1", "text": "Main work"`)
	return l
}

func TestPromptsAndTitlesNameTheRoot(t *testing.T) {
	t.Parallel()
	l := newPlugin(t)
	l.tell("chat.message", `"message": "m1", "text": "/init"`)
	l.tell("session.updated", `"title": "A title by a model"`)
	assert.Equal(t, "in_progress A title by a model\n", l.Tree())
	l.tell("chat.message", `"message": "m2", "text": "\"Fix the login\""`)
	l.tell("session.updated", `"title": "Another title"`)
	assert.Equal(t, "in_progress Fix the login\n", l.Tree())
}

func TestADelegationNamesTheRoot(t *testing.T) {
	t.Parallel()
	delegate, found := lo.Find(op.Commands, func(c op.Command) bool { return c.Name == "delegate" })
	require.True(t, found)
	text, err := json.Marshal(delegate.Prompt(`"write the \"parser\" --agent-type builder"`))
	require.NoError(t, err)
	l := newPlugin(t)
	l.tell("chat.message", `"message": "m1", "text": `+string(text))
	assert.Equal(t, "in_progress write the \"parser\"\n", l.Tree())
}

func TestAnIdleChildLeavesItsLastWords(t *testing.T) {
	t.Parallel()
	l := working(t)
	l.tell("session.created", `"session": "c", "parent": "main", "title": "Dig (@general subagent)"`)
	l.tell("session.idle", `"session": "c", "parent": "main", "text": "FOUND"`)
	*l.Clock += 6_000
	require.NoError(t, sweep.RunOnce(l.T.Context(), l.P))
	assert.Equal(t, "in_progress Main work\n  completed Dig: FOUND\n", l.Tree())
	l.tell("chat.message", `"session": "c", "parent": "main", "message": "c2", "text": "Dig on"`)
	assert.Equal(t, "in_progress Main work\n  completed Dig: FOUND\n  in_progress Dig (continued)\n", l.Tree())
}

func TestARequestIsFoldedAndToldTheNews(t *testing.T) {
	t.Parallel()
	l := working(t)
	frame := l.Push("piece")
	_, err := stack.Pop(l.T.Context(), l.P, l.By(), stack.PopArgs{Status: core.Completed, Summary: "done"})
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

func TestAFoldedFrameLeavesItsFactsAndTheUsersWords(t *testing.T) {
	t.Parallel()
	l := working(t)
	frame := l.Push("piece")
	_, err := stack.Pop(l.T.Context(), l.P, l.By(), stack.PopArgs{Status: core.Completed, Summary: "done"})
	require.NoError(t, err)
	const request = `"messages": [
		{"name": "m1", "role": "user", "time": 1}, {"name": "a1", "role": "assistant", "time": 2, "moves": [{"kind": "enter", "frame": "%id", "first": true}]},
		{"name": "a2", "role": "assistant", "time": 3, "tokens": 900, "tail": "We keep UTC, as the crew needs it.", "said": "never on a Friday",
		 "commands": [{"line": "make", "why": "E44 closed"}], "reads": ["/p/shots/a.png"],
		 "told": ["<task id=\"c\" state=\"completed\">\n<task_result>\nThe lock holds for 25 s.\n</task_result>\n</task>"]},
		{"name": "h1", "role": "user", "host": true, "time": 3}, {"name": "a3", "role": "assistant", "time": 5, "moves": [{"kind": "leave", "frame": "%id"}]},
		{"name": "a4", "role": "assistant", "time": 6}]`
	var answer struct {
		Drop   []string
		Before []struct{ Message, Text string }
	}
	told := l.tell("messages.transform", strings.ReplaceAll(request, "%id", frame.ID))
	require.NoError(t, json.Unmarshal([]byte(told), &answer))
	assert.Equal(t, []string{"a1", "a2", "h1"}, answer.Drop)
	require.Len(t, answer.Before, 2)
	assert.Contains(t, answer.Before[0].Text, "never on a Friday")
	const facts = "still fails: make (E44 closed); seen: shots/a.png; We keep UTC, as the crew needs it; The lock holds for 25 s"
	assert.Equal(t, `<flame-facts frame="`+frame.ID+`">`+facts+"</flame-facts>", answer.Before[1].Text)
	about, err := (&briefing.Contexts{Project: l.P}).Context(t.Context(), l.By(), "", 0)
	require.NoError(t, err)
	assert.Contains(t, about.Text, "<facts>"+facts+"</facts>", "contexts tell them, too")
}

func TestACompactionIsRequested(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		mark    func(l *plugin)
		replace bool // flame's instructions stand instead of the host's
		summary string
		want    string
	}{
		"of a full context": {func(*plugin) {}, false, "SUMMARY", "in_progress Main work\n  in_progress piece: SUMMARY\n"},
		"that was asked for": {
			func(l *plugin) { _, _ = stack.Summarize(l.T.Context(), l.P, l.By(), "", "", "") }, true, "SUMMARY",
			"in_progress Main work\n  in_progress piece: SUMMARY\n",
		},
		"that never came": {func(l *plugin) { l.Pop("mine", true) }, true, "", "in_progress Main work\n  completed piece: mine\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := working(t)
			l.Push("piece")
			tt.mark(l)
			var answer struct {
				Context []string
				Prompt  string
			}
			require.NoError(t, json.Unmarshal([]byte(l.tell("session.compacting", "")), &answer))
			assert.Equal(t, tt.replace, answer.Prompt != "")
			assert.Equal(t, tt.replace, len(answer.Context) == 0)
			if tt.summary != "" {
				l.Send(map[string]any{"event": "text.complete", "text": tt.summary})
			}
			l.tell("session.compacted", "")
			assert.Equal(t, tt.want, l.Tree())
		})
	}
	assert.Empty(t, newPlugin(t).tell("session.compacting", ""), "of a session that flame does not know")
	l := working(t)
	require.NoError(t, children.EndSession(t.Context(), l.P, l.By()))
	assert.Contains(t, l.tell("session.compacting", ""), "Main work", "before a prompt the frame that ended with the session counts")
}

func TestFilesAndCostsAreKeptOnce(t *testing.T) {
	t.Parallel()
	l := working(t)
	l.tell("tool.after", `"tool": "write", "files": ["a.go", "`+filepath.Join(l.Dir, "b", "c.go")+`"]`)
	l.tell("session.idle", `"usage": [{"id": "a1", "at": 1, "in": 2, "out": 3, "cacheRead": 4, "cacheWrite": 5, "cost": 0.5, "tools": 1},
		{"id": "a2", "at": 2, "in": 9000000000000000000, "out": 9000000000000000000},
		{"id": "a3", "at": 3, "in": 1, "cost": 1e300}, {"id": "a4", "at": 4, "out": -7}]`)
	frame := l.Current("")
	assert.Equal(t, []string{"a.go", "b/c.go"}, frame.Artifacts)
	assert.Equal(t, core.Usage{TokensIn: 2, TokensOut: 3, CacheRead: 4, CacheWritten: 5, CostUSD: 0.5, ToolCalls: 1}, frame.Usage)
}

func TestWhatAToolDidToFilesIsKeptOnce(t *testing.T) {
	t.Parallel()
	l := working(t)
	edit := `"tool": "edit", "call": "c1", "files": ["a.go"], "did": {"input": {"filePath": "` + filepath.Join(l.Dir, "a.go") +
		`"}, "metadata": {"filediff": {"patch": "--- a\n+++ b\n@@ -1,1 +1,1 @@\n-a\n+b\n"}}}`
	l.tell("tool.after", edit)
	l.tell("tool.after", edit)
	l.tell("tool.after", `"tool": "write", "call": "c2", "files": ["b.go"], `+
		`"did": {"input": {"filePath": "b.go", "content": "b\n"}, "metadata": {"exists": false}}`)
	l.tell("tool.after", `"tool": "write", "call": "c3", "files": ["c.go"], "did": {"input": [], "metadata": 7}`)
	details, err := view.DetailsOf(l.T.Context(), l.P, project.Caller{Session: "main", Host: opencode.Name}, "")
	require.NoError(t, err)
	assert.Equal(t, []usage.ChangedFile{
		{Path: "a.go", Kind: core.FileModified, Added: 1, Removed: 1, Changes: 1}, {Path: "b.go", Kind: core.FileAdded, Added: 1, Changes: 1},
	}, details.Files.Files)
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
		l.tell("session.created", `"session": "c1", "parent": "main", "title": "look (@general subagent)"`)
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
			assert.Equal(t, tt.want, l.Tree())
		})
	}
}

func TestTheFirstRequestOfAChildThatWasNotToldOfIsNoRoot(t *testing.T) {
	t.Parallel()
	l := working(t)
	l.tell("messages.transform", `"session": "c1", "parent": "main", "messages": [{"id": "u", "role": "user", "time": 1}]`)
	assert.Equal(t, "in_progress Main work\n", l.Tree())
	l.tell("session.created", `"session": "c1", "parent": "main", "title": "look (@general subagent)"`)
	assert.Equal(t, "in_progress Main work\n  in_progress look\n", l.Tree())
}

// hostKey is the key of the host's process, as flame.js gets it.
var hostKey = base64.RawURLEncoding.EncodeToString(projecttest.Key.Within(projecttest.HostProcess))

func TestPluginNamesNoCallerThatItCannotProve(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	const push = `await before("flame_flame_push", "1", { session_id: "x", agent_id: { a: 1 }, flame_proof: null })`
	h := newHost(t)
	assert.JSONEq(t, `{}`, h.plays(`return `+push), "flame tells no key")

	h.write("answer", `{"key": "`+hostKey+`"}`)
	rest, by := projecttest.Proven(t, f.Project, "flame_push", "", []byte(h.plays(`below("s", "top"); return `+push)))
	assert.JSONEq(t, `{}`, rest)
	assert.Equal(t, project.Caller{Session: "s", Parent: "top", Trust: project.TrustHook}, by)

	proofs := h.plays(`const one = ` + push + `; after("flame_flame_push", "1", {}, {}); const two = ` + push + `; return one.flame_proof === two.flame_proof`)
	assert.Equal(t, "false", proofs, "each proof is used once")

	require.NoError(t, os.WriteFile(filepath.Join(h.project, "opencode.jsonc"), []byte(`{"mcp": {"flame": {"command": ["/evil"]}}}`), 0o600))
	assert.JSONEq(t, `{"session_id": "x", "agent_id": {"a": 1}, "flame_proof": null}`,
		h.plays(`await hooks.config({"mcp": {"flame": {"command": ["/evil"]}}}); return `+push), "the server is the project's")
}

func TestTheKeyForStampsIsThatOfTheHostsProcess(t *testing.T) {
	t.Parallel()
	l := newPlugin(t)
	const asks = `{"event": "stamp.key", "session": "s"}`
	require.NoError(t, l.P.SetOff(t.Context(), true), "even if hooks are off")
	answer, err := l.Raw(asks)
	require.NoError(t, err)
	assert.JSONEq(t, `{"key": "`+hostKey+`"}`, answer)
	l.P.StampKey = nil
	_, err = l.Raw(asks)
	require.Error(t, err)
	require.NotErrorIs(t, err, core.ErrUnavailable, "it is not kept for later")
}
