package graph_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/graph"
	"flame/core"
	"flame/tests/hoststest"
)

// samples are shortened logs of the real hosts. In family are those of one
// session: a main agent starts four, the first of which has one of its own.
const (
	logSamples   = "../../transcripts/testdata/"
	claudeFamily = "family/claude/144291fb-27bf-4ea0-995d-e20474bcc32d"
)

// track returns the trail of the log at path.
func track(t *testing.T, path string) graph.Trail {
	t.Helper()
	logs, err := hoststest.Known().Formats().Detect(path, nil)
	require.NoError(t, err)
	told, err := graph.ReadLogs(t.Context(), logs...)
	require.NoError(t, err)
	return told
}

// openCodeDB makes OpenCode's database of the family.
func openCodeDB(t *testing.T) (path string) {
	t.Helper()
	return databaseOf(t, "family/opencode.sql")
}

// databaseOf makes a database of OpenCode's from a script.
func databaseOf(t *testing.T, file string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "opencode.db")
	script, err := os.ReadFile(logSamples + file)
	require.NoError(t, err)
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(wal)")
	require.NoError(t, err)
	_, err = db.Exec(string(script))
	require.NoError(t, err)
	require.NoError(t, db.Close())
	return path
}

// outline draws a trail: each node below its parent.
func outline(told graph.Trail) string {
	var b strings.Builder
	for _, n := range told.Nodes {
		fmt.Fprintf(&b, "%s%s %s %q %s", strings.Repeat("  ", n.Depth), n.Kind, n.Type, lo.CoalesceOrEmpty(n.Description, n.Prompt), n.State)
		if n.Unparented {
			b.WriteString(" unparented")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestALogShowsWhichAgentStartedWhich(t *testing.T) {
	t.Parallel()
	const family = `session  "MAINWORK please" completed
  subagent general-purpose "do one" completed
    subagent general-purpose "look at the leaf" completed
  subagent reader "do two" completed
  subagent general-purpose "go wrong" completed
  subagent general-purpose "behind" completed
`
	tests := map[string]struct{ path, want string }{
		"Claude Code's session file": {logSamples + claudeFamily + ".jsonl", family},
		"a folder of Claude Code":    {logSamples + "family/claude", family},
		"a session's folder":         {logSamples + claudeFamily, family},
		"what Claude Code printed":   {logSamples + "family/stream.ndjson", strings.Replace(family, "MAINWORK please", "", 1)},
		"agents in the background": {
			logSamples + "stream-background.ndjson",
			"session  \"\" completed\n  subagent general-purpose \"sub job A\" completed\n  subagent Explore \"sub job B\" completed\n",
		},
		"an agent that fails, one killed": {
			logSamples + "stream-error-and-taskstop.ndjson",
			"session  \"\" completed\n  subagent general-purpose \"e\" error\n  subagent general-purpose \"l\" cancelled\n",
		},
		"an agent in an agent": {
			logSamples + "stream-nested-foreground.ndjson",
			"session  \"\" completed\n  subagent general-purpose \"sub job\" completed\n    subagent general-purpose \"nested job\" completed\n",
		},
		"a running agent of an earlier session": {
			logSamples + "stream-resume-subagent-sendmessage.ndjson", "session  \"\" completed\n  subagent general-purpose \"sub job A\" completed\n",
		},
		"what OpenCode printed": {logSamples + "family/run.ndjson", `session  "" completed
  subagent general "do one" completed
  subagent reader "do two" completed
  subagent general "go wrong" error
`},
		"OpenCode's export": {logSamples + "family/export.json", `session build "A title" completed
  subagent general "do one" completed
  subagent reader "do two" completed
  subagent general "go wrong" error
`},
		"OpenCode's database": {openCodeDB(t), `session build "A title" completed
  subagent general "do one" completed
    subagent general "look at the leaf" completed
  subagent reader "do two" completed
  subagent general "go wrong" error
`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, outline(track(t, tt.path)))
		})
	}
}

func TestANodeHasAllKnownData(t *testing.T) {
	for name, path := range map[string]string{
		"claude-files": logSamples + "family/claude", "claude-stream": logSamples + "family/stream.ndjson", "opencode-db": openCodeDB(t),
		"delegated-claude": logSamples + "delegated/claude", "delegated-opencode": databaseOf(t, "delegated/opencode.sql"),
	} {
		raw, err := json.MarshalIndent(track(t, path), "", "  ")
		require.NoError(t, err)
		file := filepath.Join("testdata", name+".json")
		if *update {
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
			require.NoError(t, os.WriteFile(file, append(raw, '\n'), 0o644))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err, "go test ./agents/graph -update writes it")
		assert.Equal(t, string(want), string(raw)+"\n", name)
	}
}

func TestTokensAreCountedOnce(t *testing.T) {
	t.Parallel()
	sum := func(told graph.Trail) core.Usage {
		used, _ := told.Used()
		return used
	}
	files := track(t, logSamples+"family/claude")
	const said = 0.10934 // total_cost_usd of the client's last line
	assert.InDelta(t, said, sum(files).CostUSD, 1e-9)
	printed := track(t, logSamples+"family/stream.ndjson")
	assert.InDelta(t, said, sum(printed).CostUSD, 1e-9)
	for i, n := range printed.Nodes {
		if n.Usage.Tokens() == files.Nodes[i].Usage.Tokens() {
			assert.InDelta(t, files.Nodes[i].Usage.CostUSD, n.Usage.CostUSD, 1e-9, "whichever log is read, %s cost the same", n.ID)
		}
	}
	_, untold := printed.Used()
	assert.InDelta(t, 0.038052, untold, 1e-9, "this is the usage of agents that the client does not print in full")

	file, err := hoststest.Known().Formats().Detect(logSamples+"family/claude", nil)
	require.NoError(t, err)
	stream, err := hoststest.Known().Formats().Detect(logSamples+"family/stream.ndjson", nil)
	require.NoError(t, err)
	both, err := graph.ReadLogs(t.Context(), append(stream, file...)...)
	require.NoError(t, err)
	assert.Equal(t, outline(files), outline(both))
	got, want := sum(both), sum(files)
	assert.InDelta(t, want.CostUSD, got.CostUSD, 1e-9)
	got.CostUSD, want.CostUSD = 0, 0
	assert.Equal(t, want, got)
}

// note is an entry that tells of agents alone.
func note(session string, notes ...core.AgentNote) core.Message {
	return core.Message{Role: core.RoleOther, Session: session, Notes: notes}
}

func TestLinksMayComeInAnyOrder(t *testing.T) {
	t.Parallel()
	said := func(agent, text string) core.Message {
		return core.Message{ID: "m" + agent, Role: core.RoleAssistant, Session: "s", Agent: agent, Final: true, Parts: []core.Part{{Type: core.PartText, Text: text}}}
	}
	messages := []core.Message{
		said("", "root"), said("a", "A"), said("b", "B"),
		note("s", core.AgentNote{Call: "call-a", Spawn: true, Parent: "s", Description: "the a"}),
		note("s", core.AgentNote{ID: "a", Call: "call-a", State: core.AgentCompleted}),
		note("s", core.AgentNote{ID: "b", Spawn: true, Parent: "a", Description: "the b"}),
	}
	const want = "session  \"\" completed\n  subagent  \"the a\" completed\n    subagent  \"the b\" completed\n"
	for i := range 720 {
		tracker := graph.NewTracker()
		for _, m := range permutation(messages, i) {
			tracker.Add("claude-code", m)
			tracker.Trail() // looking at it changes nothing
		}
		require.Equal(t, want, outline(tracker.Trail()), "order %d", i)
	}
}

// permutation is the nth order of all.
func permutation[T any](all []T, n int) (order []T) {
	rest := append([]T(nil), all...)
	for len(rest) > 0 {
		i := n % len(rest)
		n /= len(rest)
		order = append(order, rest[i])
		rest = append(rest[:i], rest[i+1:]...)
	}
	return order
}

func TestAnAgentWithoutAParentWaitsForIt(t *testing.T) {
	t.Parallel()
	tracker := graph.NewTracker()
	tracker.Add("opencode", note("child", core.AgentNote{ID: "child", Spawn: true, Parent: "parent", Description: "late"}))
	assert.Equal(t, "subagent  \"late\" initializing unparented\n", outline(tracker.Trail()))
	tracker.Add("opencode", core.Message{Role: core.RoleUser, Session: "parent", Parts: []core.Part{{Type: core.PartText, Text: "go"}}})
	assert.Equal(t, "session  \"go\" initializing\n  subagent  \"late\" initializing\n", outline(tracker.Trail()))
}

func TestCirclesAreNotDrawn(t *testing.T) {
	t.Parallel()
	tracker := graph.NewTracker()
	for _, n := range []core.AgentNote{{ID: "a", Parent: "c"}, {ID: "b", Parent: "a"}, {ID: "c", Parent: "b"}, {ID: "d", Parent: "d"}} {
		n.Spawn, n.Description = true, n.ID
		tracker.Add("x", note("s", n))
	}
	told := tracker.Trail()
	assert.Len(t, told.Nodes, 4)
	assert.Len(t, lo.Filter(told.Nodes, func(n graph.LogNode, _ int) bool { return n.Unparented }), 2)
}

func TestAShellInTheBackgroundIsNoAgent(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "stream.ndjson")
	require.NoError(t, os.WriteFile(path, []byte(`{"type":"system","subtype":"init","session_id":"s","tools":["Bash"]}
{"type":"assistant","session_id":"s","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]}}
{"type":"system","subtype":"task_started","session_id":"s","task_id":"b1","tool_use_id":"t","task_type":"local_bash","description":"sleep"}
{"type":"system","subtype":"task_updated","session_id":"s","task_id":"b1","patch":{"status":"killed"}}
{"type":"system","subtype":"task_notification","session_id":"s","task_id":"b1","tool_use_id":"t","status":"stopped"}
`), 0o644))
	assert.Equal(t, "session  \"\" active\n", outline(track(t, path)))
}

func TestAnOldClientsAgentsAreFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	write("s.jsonl", `{"type":"user","sessionId":"s","message":{"content":"go"}}
{"type":"assistant","sessionId":"s","message":{"id":"m","stop_reason":"tool_use","content":[`+
		`{"type":"tool_use","id":"t","name":"Task","input":{"description":"look","prompt":"LOOK","subagent_type":"Explore"}}]}}
{"type":"user","sessionId":"s","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"found"}]},`+
		`"toolUseResult":{"status":"completed","agentId":"1234abc","totalTokens":7}}
`)
	write("agent-1234abc.jsonl", `{"type":"user","isSidechain":true,"agentId":"1234abc","sessionId":"s","message":{"content":"LOOK"}}
{"type":"assistant","isSidechain":true,"agentId":"1234abc","sessionId":"s","message":{"id":"n","model":"claude-opus-5-5",`+
		`"stop_reason":"end_turn","content":[{"type":"text","text":"found"}],"usage":{"input_tokens":5,"output_tokens":2}}}
`)
	told := track(t, filepath.Join(dir, "s.jsonl"))
	assert.Equal(t, "session  \"go\" active\n  subagent Explore \"look\" completed\n", outline(told))
	assert.Equal(t, "1234abc", told.Nodes[1].ID)
	assert.Equal(t, int64(5), told.Nodes[1].Usage.TokensIn)
}

func TestALogThatCannotBeReadDoesNotHideTheOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	torn := filepath.Join(dir, "a.jsonl")
	require.NoError(t, os.WriteFile(torn, []byte(`{"type":"user","sessionId":"a","message":{"content":"go"}}`+"\n"+`{"type":"assis`), 0o644))
	broken := filepath.Join(dir, "b.json")
	require.NoError(t, os.WriteFile(broken, []byte(`{"info":{"id":"ses_b"},"messages":{}}`), 0o644))
	told := track(t, dir)
	assert.Equal(t, []string{torn}, told.Torn)
	require.Len(t, told.Unread, 1)
	assert.Equal(t, broken, told.Unread[0].Path)
	assert.Contains(t, outline(told), `"go"`)

	logs, err := hoststest.Known().Formats().Detect(broken, nil)
	require.NoError(t, err)
	_, err = graph.ReadLogs(t.Context(), logs...)
	require.Error(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = graph.ReadLogs(ctx, logs...)
	require.ErrorIs(t, err, context.Canceled)
}

func TestOnlyEntriesUnknownToAllReadersCountAsUnknown(t *testing.T) {
	t.Parallel()
	whole := track(t, logSamples+delegatedClaude)
	assert.Zero(t, whole.Unknown)
	assert.Positive(t, whole.Aside)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "s.jsonl"), []byte(`{"type":"user","sessionId":"s","message":{"content":"go"}}
{"type":"last-prompt","sessionId":"s"}
{"type":"attachment","sessionId":"s","attachment":{"type":"deferred_tools_delta","addedNames":["Read"]}}
{"type":"of-tomorrow","sessionId":"s"}
no JSON
`), 0o644))
	told := track(t, dir)
	assert.Equal(t, []int{5, 1, 2}, []int{told.Messages, told.Aside, told.Unknown})
	assert.Equal(t, []string{"Read"}, told.Nodes[0].Tools)
}

func TestTextBetweenAHostsLinesIsIgnored(t *testing.T) {
	t.Parallel()
	told := track(t, logSamples+"stream-compact-manual.ndjson")
	assert.Zero(t, told.Unknown, "the output of a hook is one of the entries")
	assert.Positive(t, told.Aside)
}

func TestSessionsStandInTheOrderOfTime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, at := range map[string]string{"a": "2026-11-20T12:00:00Z", "b": "2026-11-20T10:00:00Z", "c": "2026-11-20T11:00:00Z"} {
		line := fmt.Sprintf(`{"type":"user","sessionId":%q,"timestamp":%q,"message":{"content":%q}}`+"\n", name, at, at)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".jsonl"), []byte(line), 0o600))
	}
	ids := lo.Map(track(t, dir).Nodes, func(n graph.LogNode, _ int) string { return n.ID })
	assert.Equal(t, []string{"b", "c", "a"}, ids)
}

func TestALoneExportNamesItsParent(t *testing.T) {
	t.Parallel()
	told := track(t, logSamples+"samples/export.json")
	require.Len(t, told.Nodes, 1)
	n := told.Nodes[0]
	assert.Equal(t, []any{"ses_49c7c7eb8ffev6NZJAKSt5p48e", true, 0}, []any{n.Parent, n.Unparented, n.Depth})
	var drawn strings.Builder
	require.NoError(t, told.Draw(&drawn, "tree"))
	assert.Contains(t, drawn.String(), "(started by ses_49c7c7eb8ffev6NZJAKSt5p48e, which is not here)")
	assert.Len(t, told.History().RootFrameIDs, 1, "it is imported as a root")
}

// TestSamplesOfDocumentsAreRead is about entries as documents show them: on several
// lines, and without what does not matter there.
func TestSamplesOfDocumentsAreRead(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"stream.ndjson": "session  \"\" active\n  subagent general-purpose \"Add\" completed\n",
		"task.json":     "subagent  \"What is 2+2?\" completed unparented\n",
		"agent.jsonl":   "subagent  \"What is 2+2?\" initializing unparented\n",
		"run.json":      "session  \"\" active\n  subagent explore \"Search CLI files\" completed\n",
		"export.json":   "subagent explore \"Search CLI files\" initializing unparented\n",
	} {
		told := track(t, logSamples+"samples/"+name)
		assert.Equal(t, want, outline(told), name)
		assert.Zero(t, told.Unknown, name)
	}
}

func BenchmarkTracking10000AgentsInAChain(b *testing.B) {
	for b.Loop() {
		tracker := graph.NewTracker()
		for i := range 10_000 {
			tracker.Add("x", note("s", core.AgentNote{ID: fmt.Sprint(i), Spawn: true, Parent: fmt.Sprint(i + 1)}))
		}
		require.Len(b, tracker.Trail().Nodes, 10_000)
	}
}
