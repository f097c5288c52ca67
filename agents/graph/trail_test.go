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
	ownLogs      = "../../agents/graph/testdata/logs/" // from there
)

// track returns the trail of the log at path; a script makes a database.
func track(t *testing.T, path string) graph.LogGraph {
	t.Helper()
	if strings.HasSuffix(path, ".sql") {
		path = databaseOf(t, path)
	}
	logs, err := hoststest.Known().Formats().Detect(path, nil)
	require.NoError(t, err)
	told, err := graph.ReadLogs(t.Context(), logs...)
	require.NoError(t, err)
	return told
}

// databaseOf makes a database of OpenCode's from a script.
func databaseOf(t *testing.T, file string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "opencode.db")
	script, err := os.ReadFile(file)
	require.NoError(t, err)
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(wal)")
	require.NoError(t, err)
	_, err = db.Exec(string(script))
	require.NoError(t, err)
	require.NoError(t, db.Close())
	return path
}

// outline draws a trail: each node below its parent.
func outline(told graph.LogGraph) string {
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

// matches compares a text with the golden file of a name.
func matches(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "go test ./agents/graph -update writes it")
	assert.Equal(t, string(want), got, name)
}

// TestALogShowsWhichAgentStartedWhich draws whole logs and parts of them; entries of samples are as
// documents show them, on several lines and without what does not matter there.
func TestALogShowsWhichAgentStartedWhich(t *testing.T) {
	var drawn strings.Builder
	for path := range strings.FieldsSeq(claudeFamily + `.jsonl ` + claudeFamily + ` family/claude family/stream.ndjson family/run.ndjson
		family/export.json family/opencode.sql stream-background.ndjson stream-error-and-taskstop.ndjson stream-nested-foreground.ndjson
		stream-resume-subagent-sendmessage.ndjson ` + delegatedClaude + ` ` + delegatedSession + ` ` + delegatedClaude + `e14abe0d-82ab-4be3-ad8c-fbe06d947c8e.jsonl
		delegated/opencode.sql samples/stream.ndjson samples/task.json samples/agent.jsonl samples/run.json samples/export.json
		` + ownLogs + `shell.ndjson ` + ownLogs + `order`) {
		told := track(t, logSamples+path)
		assert.Zero(t, told.Unknown, path)
		fmt.Fprintf(&drawn, "== %s\n%s", path, outline(told))
	}
	matches(t, "outlines.txt", drawn.String())
}

func TestANodeHasAllKnownData(t *testing.T) {
	for name, path := range map[string]string{
		"claude-files": "family/claude", "claude-stream": "family/stream.ndjson", "opencode-db": "family/opencode.sql", "claude-old": ownLogs + "old/s.jsonl",
		"delegated-claude": "delegated/claude", "delegated-opencode": "delegated/opencode.sql",
	} {
		raw, err := json.MarshalIndent(track(t, logSamples+path), "", "  ")
		require.NoError(t, err)
		matches(t, name+".json", string(raw)+"\n")
	}
}

func TestTokensAreCountedOnce(t *testing.T) {
	sum := func(told graph.LogGraph) core.Usage {
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
func note(session string, notes ...core.AgentInfo) core.Message {
	return core.Message{Role: core.RoleOther, Session: session, Notes: notes}
}

func TestLinksMayComeInAnyOrder(t *testing.T) {
	said := func(agent, text string) core.Message {
		return core.Message{ID: "m" + agent, Role: core.RoleAssistant, Session: "s", Agent: agent, Final: true, Parts: []core.Part{{Type: core.PartText, Text: text}}}
	}
	messages := []core.Message{
		said("", "root"), said("a", "A"), said("b", "B"),
		note("s", core.AgentInfo{Call: "call-a", Spawn: true, Parent: "s", Description: "the a"}),
		note("s", core.AgentInfo{ID: "a", Call: "call-a", State: core.AgentCompleted}),
		note("s", core.AgentInfo{ID: "b", Spawn: true, Parent: "a", Description: "the b"}),
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
	tracker := graph.NewTracker()
	tracker.Add("opencode", note("child", core.AgentInfo{ID: "child", Spawn: true, Parent: "parent", Description: "late"}))
	assert.Equal(t, "subagent  \"late\" initializing unparented\n", outline(tracker.Trail()))
	tracker.Add("opencode", core.Message{Role: core.RoleUser, Session: "parent", Parts: []core.Part{{Type: core.PartText, Text: "go"}}})
	assert.Equal(t, "session  \"go\" initializing\n  subagent  \"late\" initializing\n", outline(tracker.Trail()))
}

func TestCirclesAreNotDrawn(t *testing.T) {
	tracker := graph.NewTracker()
	for _, n := range []core.AgentInfo{{ID: "a", Parent: "c"}, {ID: "b", Parent: "a"}, {ID: "c", Parent: "b"}, {ID: "d", Parent: "d"}} {
		n.Spawn, n.Description = true, n.ID
		tracker.Add("x", note("s", n))
	}
	told := tracker.Trail()
	assert.Len(t, told.Nodes, 4)
	assert.Len(t, lo.Filter(told.Nodes, func(n graph.LogNode, _ int) bool { return n.Unparented }), 2)
}

func TestALogThatCannotBeReadDoesNotHideTheOthers(t *testing.T) {
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
	told := track(t, logSamples+"stream-compact-manual.ndjson")
	assert.Zero(t, told.Unknown, "the output of a hook is one of the entries")
	assert.Positive(t, told.Aside)
}

func TestALoneExportNamesItsParent(t *testing.T) {
	told := track(t, logSamples+"samples/export.json")
	require.Len(t, told.Nodes, 1)
	n := told.Nodes[0]
	assert.Equal(t, []any{"ses_49c7c7eb8ffev6NZJAKSt5p48e", true, 0}, []any{n.Parent, n.Unparented, n.Depth})
	var drawn strings.Builder
	require.NoError(t, told.Draw(&drawn, "tree"))
	assert.Contains(t, drawn.String(), "(started by ses_49c7c7eb8ffev6NZJAKSt5p48e, which is not here)")
	assert.Len(t, told.History().RootFrameIDs, 1, "it is imported as a root")
}
