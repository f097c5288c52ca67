package intake_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/hosts"
	"flame/hosts/claudecode"
	"flame/hosts/intake"
	"flame/hosts/opencode"
	"flame/project"
	"flame/project/view"
	"flame/store"
	"flame/tests/projecttest"
	"flame/tools"
)

// A station is a handler for a project with a real store, and the ways to trouble it.
type station struct {
	intake.Handler
	t        *testing.T
	data     string
	clock    core.Millis
	patience time.Duration // of hosts; long enough for a busy machine, but where they meet a lock
}

const start = core.Millis(1_766_600_000_000)

// newStation has the store of a process that lives long, as streams and servers do.
func newStation(t *testing.T) *station {
	t.Helper()
	return newStationWith(t, true)
}

func newStationWith(t *testing.T, longLived bool) *station {
	t.Helper()
	s := &station{t: t, data: filepath.Join(t.TempDir(), "data"), clock: start, patience: time.Minute}
	kept := projecttest.Open(t, s.data, store.Options{LongLived: longLived})
	s.Handler = intake.Handler{
		Inbox: intake.Inbox{Dir: s.data}, Hosts: hosts.Registry{claudecode.Host(), opencode.Host(tools.Names)},
		OwnTool: func(name string) bool { return strings.HasPrefix(name, "flame_") },
		Project: &project.Project{
			Store: kept, Dir: "/project", Log: slog.New(slog.DiscardHandler), Budget: core.DefaultBudget(), EventDays: 90, Fold: true,
			Subagents: core.DefaultSubagentConfig(), Autonomy: core.DefaultAutonomyConfig(),
			Now: func() core.Millis { s.clock++; return s.clock }, NewID: project.NewID,
			StampKey: func(context.Context, bool) (project.StampKey, error) { return projecttest.Key, nil },
		},
	}
	return s
}

func (s *station) host(name string) hosts.Host {
	host, known := s.Hosts.Find(name)
	require.True(s.t, known)
	host.Events.Patience = s.patience
	return host
}

// locked runs f while another process holds the lock of the store.
func (s *station) locked(f func()) {
	s.t.Helper()
	require.NoError(s.t, s.Project.Store.Update(s.t.Context(), func(project.Tx) error { return nil }))
	found, err := filepath.Glob(filepath.Join(s.data, "*.lock"))
	require.NoError(s.t, err)
	require.Len(s.t, found, 1)
	file, err := os.OpenFile(found[0], os.O_RDWR, 0)
	require.NoError(s.t, err)
	require.NoError(s.t, syscall.Flock(int(file.Fd()), syscall.LOCK_EX))
	defer func(patience time.Duration) { s.patience = patience; file.Close() }(s.patience)
	s.patience = 2 * time.Second
	f()
}

func (s *station) handle(host, event string) string {
	s.t.Helper()
	answer, _, err := s.Handle(s.t.Context(), s.host(host), intake.QueuedEvent{At: s.Project.Now(), Dir: "/project", Event: json.RawMessage(event)})
	require.NoError(s.t, err)
	return string(answer)
}

// tree returns the goals and statuses of all frames, as an outline.
func (s *station) tree() (lines []string) {
	s.t.Helper()
	require.NoError(s.t, s.Project.Store.View(s.t.Context(), func(tx project.Tx) error {
		frames, err := tx.FindFrames(project.FrameQuery{Archived: true})
		for _, frame := range frames {
			depth, err := tx.Ancestors(frame.ID, 0)
			if err != nil {
				return err
			}
			lines = append(lines, fmt.Sprintf("%s%s %s", strings.Repeat("  ", len(depth)), frame.Status, frame.Goal))
		}
		return err
	}))
	return lines
}

func prompt(session, id, text string) string {
	return fmt.Sprintf(`{"event": "chat.message", "session": %q, "message": %q, "text": %q}`, session, id, text)
}

func TestEventsThatMeetALockAreTakenInLaterInTheirOrder(t *testing.T) {
	t.Parallel()
	for _, longLived := range []bool{true, false} {
		t.Run(fmt.Sprint("long-lived: ", longLived), func(t *testing.T) {
			t.Parallel()
			eventsMeetALock(t, newStationWith(t, longLived))
		})
	}
}

func eventsMeetALock(t *testing.T, s *station) {
	t.Helper()
	s.locked(func() {
		s.handle("opencode", prompt("s", "m1", "First work"))
		began := time.Now()
		s.handle("claude-code", `{"hook_event_name": "UserPromptSubmit", "session_id": "c", "prompt_id": "p", "prompt": "Other work"}`)
		s.handle("opencode", `{"event": "session.created", "session": "child", "parent": "s", "title": "look (@general subagent)"}`)
		s.handle("opencode", `{"event": "tool.after", "session": "s", "tool": "task", "child": "child", "output": "FOUND"}`)
		assert.Less(t, time.Since(began), 3*s.patience, "after one failure events do not wait long")
	})
	assert.Empty(t, s.tree())
	s.clock += 60_000
	s.handle("opencode", prompt("s", "m2", "and on"))
	require.NoError(t, s.TakeIn(t.Context())) // a busy machine may have put that off, too
	assert.Equal(t, []string{"in_progress First work", "in_progress Other work", "  completed look"}, s.tree(), "earlier events are handled first")
	require.NoError(t, s.Project.Store.View(t.Context(), func(tx project.Tx) error {
		events, err := tx.FindEvents(project.EventQuery{Kinds: []string{core.FrameCreated}})
		for _, e := range events {
			assert.Less(t, e.TS, start+1000, "with the time at which it happened")
		}
		return err
	}))
	late, err := s.Project.TakeLate(t.Context())
	require.NoError(t, err)
	require.Len(t, late, 2)
	assert.Positive(t, late[0].Count)
	assert.Positive(t, late[1].Count)
	late, err = s.Project.TakeLate(t.Context())
	require.NoError(t, err)
	assert.Empty(t, late, "the changes are reported once")
}

func TestWhatNeedsNoChangeIsAnsweredInTime(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	s.handle("opencode", prompt("s", "m1", "Work"))
	const request = `{"event": "messages.transform", "session": "s", "messages": [{"id": "m1", "role": "user", "time": 1}],
		"usage": [{"id": "a", "at": 1, "in": 5}]}`
	s.locked(func() {
		assert.Empty(t, s.handle("opencode", request))
		answer := s.handle("claude-code", `{"hook_event_name": "PreToolUse", "session_id": "c", "agent_id": "a", "tool_name": "mcp__flame__flame_push",
			"tool_input": {"goal": "g"}, "mcp_server": {"name": "flame"}}`)
		assert.Contains(t, answer, `"agent_id":"a"`, "a reader can prove it")
		assert.Contains(t, answer, `"allow"`)
	})
	require.NoError(t, s.TakeIn(t.Context()))
	assert.Empty(t, s.handle("opencode", request), "nothing is left to handle")
	assert.False(t, s.Inbox.HasLines())
}

func TestALateRequestIsKeptWithoutItsMessages(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	s.handle("opencode", prompt("s", "m1", "Work"))
	skeleton := fmt.Sprintf(`{"id": "m1", "role": "user", "time": 1, "tail": %q}`, strings.Repeat("x", 1<<20))
	request := fmt.Sprintf(`{"event": "messages.transform", "session": "s", "messages": [%s], "usage": [{"id": "a", "at": 1, "in": 5}],
		"words": [{"message": "m2", "text": "and on"}],
		"tasks": [{"child": "c", "title": "look (@general subagent)", "state": "completed", "output": "FOUND"}]}`, skeleton)
	s.locked(func() { s.handle("opencode", request) })
	state, err := s.Inbox.State()
	require.NoError(t, err)
	assert.Positive(t, state.Bytes)
	assert.Less(t, state.Bytes, int64(2<<10))
	require.NoError(t, s.TakeIn(t.Context()))
	assert.Equal(t, []string{"in_progress Work", "  completed look"}, s.tree())
	require.NoError(t, s.Project.Store.View(t.Context(), func(tx project.Tx) error {
		total, _, err := tx.UsageUnder("", 0)
		assert.EqualValues(t, 5, total.TokensIn)
		session, wrong := tx.Session("s")
		assert.Equal(t, 2, session.MessageCount, "the prompt in the request counts")
		return errors.Join(err, wrong)
	}))
}

func TestAnUndeliveredContextComesWithTheNextPrompt(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	s.handle("claude-code", `{"hook_event_name": "UserPromptSubmit", "session_id": "old", "prompt_id": "p", "prompt": "Old work"}`)
	s.handle("claude-code", `{"hook_event_name": "PreToolUse", "session_id": "old", "tool_name": "Agent", "tool_use_id": "t",
		"tool_input": {"prompt": "look", "description": "look", "subagent_type": "general"}}`)
	s.locked(func() {
		assert.Empty(t, s.handle("claude-code", `{"hook_event_name": "SessionStart", "session_id": "old", "source": "resume"}`))
	})
	require.NoError(t, s.TakeIn(t.Context()))
	answer := s.handle("claude-code", `{"hook_event_name": "UserPromptSubmit", "session_id": "old", "prompt_id": "p2", "prompt": "go on"}`)
	assert.Contains(t, answer, "current-frame")
	answer = s.handle("claude-code", `{"hook_event_name": "UserPromptSubmit", "session_id": "old", "prompt_id": "p3", "prompt": "go on"}`)
	assert.NotContains(t, answer, "current-frame", "once")
}

func TestLinesThatCannotBeReadHoldNothingUp(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	s.handle("opencode", prompt("s", "m0", "Work"))
	lines := []string{
		`{"v":1,"host":"opencode","at":1766`, `{"v":2,"host":"opencode","event":{}}`, `{"v":1,"host":"nobody's","event":{}}`, "\x00\xff", `[]`,
		`{"v":1,"host":"opencode","at":99999999999999,"event":` + prompt("t", "m1", "From the future") + `}`,
		`{"v":1,"host":"opencode","at":-5,"event":7}`,
	}
	for _, line := range lines {
		require.NoError(t, s.Inbox.Append(t.Context(), []byte(line)))
	}
	require.NoError(t, s.TakeIn(t.Context()))
	assert.Equal(t, []string{"in_progress Work", "in_progress From the future"}, s.tree())
	state, err := s.Inbox.State()
	require.NoError(t, err)
	kept, err := os.ReadFile(state.Aside)
	require.NoError(t, err)
	assert.Equal(t, strings.Join(lines[:5], "\n")+"\n", string(kept))
	details, err := view.Events(t.Context(), s.Project, project.EventQuery{})
	require.NoError(t, err)
	for _, e := range details {
		assert.LessOrEqual(t, e.TS, s.clock)
	}
}

func TestTheNextProcessContinuesAnInboxWhereTheLastOneStopped(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	s.handle("opencode", prompt("s", "m0", "Work"))
	lines := []string{"no JSON", "nor this"}
	for n := range 4 {
		lines = append(lines, fmt.Sprintf(`{"v":1,"host":"opencode","at":%d,"event":{"event": "tool.failed", "session": "s"}}`, start),
			fmt.Sprintf(`{"v":1,"host":"opencode","at":%d,"source":"plugin","n":%d,"event":{"event": "tool.failed", "session": "s"}}`, start, n+1),
			fmt.Sprintf(`{"v":1,"host":"opencode","at":%d,"source":"plugin","n":%d,"event":{"event": "session.compacted", "session": "nobody"}}`, start, n+1))
	}
	for _, line := range lines {
		require.NoError(t, s.Inbox.Append(t.Context(), []byte(line)))
	}
	handled := 0
	s.Hosts = slices.Clone(s.Hosts)
	for i, host := range s.Hosts {
		s.Hosts[i].Events.Hook = func(ctx context.Context, flame hosts.HookEnv, event []byte) ([]byte, error) {
			handled++
			return host.Events.Hook(ctx, flame, event)
		}
	}
	for range lines {
		ctx, stop := context.WithCancel(t.Context())
		stopping, p := s.Handler, *s.Project
		p.Store, stopping.Project = stopAfter{p.Store, stop}, &p
		_ = stopping.TakeIn(ctx)
		stop()
	}
	require.NoError(t, s.TakeIn(t.Context()))
	assert.Equal(t, 8, s.failures())
	assert.Equal(t, 12, handled, "each once")
	state, err := s.Inbox.State()
	require.NoError(t, err)
	assert.Zero(t, state.Bytes)
	kept, err := os.ReadFile(state.Aside)
	require.NoError(t, err)
	assert.Equal(t, "no JSON\nnor this\n", string(kept))
	late, err := s.Project.TakeLate(t.Context())
	require.NoError(t, err)
	require.Len(t, late, 1)
	assert.Equal(t, 12, late[0].Count)
	s.clock += 2 * project.Day
	require.NoError(t, s.Inbox.Append(t.Context(), []byte(lines[2])))
	require.NoError(t, s.TakeIn(t.Context()))
	require.NoError(t, s.Project.Store.View(t.Context(), func(tx project.Tx) error {
		left := 0
		err := tx.Records("source.taken", project.RecordQuery{}, func(string, func(any) error) error { left++; return nil })
		assert.LessOrEqual(t, left, 1, "the progress of a file is forgotten a day later")
		return err
	}))
}

func TestAnInboxOfAnEarlierVersionIsTakenOnce(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	s.handle("opencode", prompt("s", "m0", "Work"))
	const failure = `{"v":1,"host":"opencode","at":5,"event":{"event": "tool.failed", "session": "s"}}` + "\n"
	inbox := filepath.Join(s.data, "inbox")
	require.NoError(t, os.Mkdir(inbox, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(inbox, "zbegun.taking"), []byte(strings.Repeat(failure, 4)+"torn"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(inbox, "events"), []byte(failure+"torn\n"+failure), 0o600))
	require.NoError(t, s.Project.Store.Update(t.Context(), func(tx project.Tx) error {
		return tx.SaveRecord("source.taken", "zbegun.taking", map[string]int64{"n": 3, "at": 5})
	}))
	require.NoError(t, s.TakeIn(t.Context()))
	require.NoError(t, s.TakeIn(t.Context()))
	assert.Equal(t, 3, s.failures())
	assert.False(t, s.Inbox.HasLines())
}

// stopAfter is a Store whose process is stopped after each write.
type stopAfter struct {
	project.Store
	stop func()
}

func (s stopAfter) Run(ctx context.Context, f func(project.Tx) error) error {
	defer s.stop()
	return s.Store.Run(ctx, f)
}

// streams runs a stream on lines, and returns its answers.
func (s *station) streams(in io.Reader) (answers []map[string]any) {
	s.t.Helper()
	var out bytes.Buffer
	stream := intake.Stream{Handler: s.Handler, Host: s.host("opencode"), Dir: "/project", In: in, Out: &out}
	require.NoError(s.t, stream.Run(s.t.Context()))
	for line := range strings.Lines(out.String()) {
		var answer map[string]any
		require.NoError(s.t, json.Unmarshal([]byte(line), &answer))
		answers = append(answers, answer)
	}
	return answers
}

func told(n int, session, event string) string {
	return fmt.Sprintf(`{"n": %d, "source": "plugin", "session": %q, "event": %s}`+"\n", n, session, event)
}

func TestAStreamAnswersEachEventByItsNumber(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	answers := s.streams(strings.NewReader(
		told(1, "s", prompt("s", "m1", "Work")) +
			"\n{\"n\": 2, \"source\": \"plugin\", \"event\": nonsense}\nnonsense\n" +
			told(3, "s", `{"event": "tool.failed", "session": "s", "tool": "bash"}`) +
			told(3, "s", `{"event": "tool.failed", "session": "s", "tool": "bash"}`) +
			told(4, "s", `{"event": "of a later version", "session": "s"}`) +
			told(5, "s", `{"event": "session.compacting", "session": "s"}`) +
			`{"n": 6, "source": "plugin", "session": "s", "event": {"event": "session.idle"`))
	require.Len(t, answers, 7)
	var numbers []any
	for _, answer := range answers {
		numbers = append(numbers, answer["n"])
	}
	assert.Equal(t, []any{1.0, 2.0, 3.0, 3.0, 4.0, 5.0, 6.0}, numbers)
	assert.Contains(t, answers[1]["error"], "not JSON")
	assert.NotEmpty(t, answers[5]["answer"])
	assert.Equal(t, 1, s.failures(), "sent twice, counted once")
}

func TestAStreamThatEndsEndsItsSessions(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	s.streams(strings.NewReader(told(1, "s", prompt("s", "m1", "Work"))))
	require.NoError(t, s.Project.Store.View(t.Context(), func(tx project.Tx) error {
		session, err := tx.Session("s")
		assert.Equal(t, core.SessionEnded, session.State)
		return err
	}))
}

func TestAStreamTakesWhateverItIsSent(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	begin, end := strings.NewReader(`{"n": 1, "source": "plugin", "event": {"text": "`), strings.NewReader("\"}}\n")
	long := io.MultiReader(begin, io.LimitReader(endless{}, intake.MaxEvent+5), end)
	var many strings.Builder
	for n := range 1000 {
		event := `{"event": "session.idle", "session": "nobody knows it"}`
		if n%10 == 0 {
			event = prompt("s", fmt.Sprint("m", n), "Work")
		}
		many.WriteString(told(n+2, "s", event))
	}
	answers := s.streams(io.MultiReader(long, strings.NewReader(many.String())))
	require.Len(t, answers, 1001)
	assert.Contains(t, answers[0]["error"], "64 MB")
	assert.InDelta(t, 1001, answers[1000]["n"], 0)
	assert.Len(t, s.tree(), 1)
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestAStreamMeetsALock(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	s.handle("opencode", prompt("s", "m1", "Work"))
	failures := told(1, "s", `{"event": "tool.failed", "session": "s", "tool": "bash"}`) +
		told(2, "s", `{"event": "tool.failed", "session": "s", "tool": "bash"}`)
	s.locked(func() {
		answers := s.streams(strings.NewReader(failures))
		require.Len(t, answers, 2)
		assert.Equal(t, []any{true, true}, []any{answers[0]["late"], answers[1]["late"]})
	})
	s.streams(strings.NewReader(failures))
	require.NoError(t, s.TakeIn(t.Context()))
	assert.Equal(t, 2, s.failures(), "sent again, it changes nothing")
}

// failures returns how many failures of tools were counted in the first frame.
func (s *station) failures() int {
	s.t.Helper()
	var seen struct{ Errors int }
	require.NoError(s.t, s.Project.Store.View(s.t.Context(), func(tx project.Tx) error {
		frames, err := tx.FindFrames(project.FrameQuery{})
		if err != nil {
			return err
		}
		_, err = tx.Record("frame.activity", frames[0].ID, &seen)
		return err
	}))
	return seen.Errors
}

func TestAStreamEndsAtAnEventThatItCannotKeep(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	s.handle("opencode", prompt("s", "m1", "Work"))
	s.Inbox.Limit = 1
	failures := told(1, "s", `{"event": "tool.failed", "session": "s", "tool": "bash"}`) +
		told(2, "s", `{"event": "tool.failed", "session": "s", "tool": "bash"}`)
	s.locked(func() {
		var out bytes.Buffer
		stream := intake.Stream{Handler: s.Handler, Host: s.host("opencode"), Dir: "/project", In: strings.NewReader(failures), Out: &out}
		require.ErrorIs(t, stream.Run(t.Context()), intake.ErrLost)
		assert.Empty(t, out.String(), "neither this event nor later ones get an answer")
	})
	assert.Len(t, s.streams(strings.NewReader(failures)), 2)
	assert.Equal(t, 2, s.failures(), "sent again, in order")
}

func TestOnlyTheStartOfASessionLooksForThoseThatEndedWithoutAWord(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		host, event string
		looks       bool
	}{
		"Claude Code starts a session":     {"claude-code", `{"hook_event_name": "SessionStart", "session_id": "new", "source": "startup"}`, true},
		"OpenCode starts one":              {"opencode", `{"event": "session.created", "session": "new", "title": "New"}`, true},
		"OpenCode starts a child's":        {"opencode", `{"event": "session.created", "session": "new", "parent": "s", "title": "look (@general subagent)"}`, false},
		"a prompt":                         {"claude-code", `{"hook_event_name": "UserPromptSubmit", "session_id": "c", "prompt_id": "p", "prompt": "Other"}`, false},
		"a failure":                        {"opencode", `{"event": "tool.failed", "session": "s", "tool": "bash"}`, false},
		"a request of a session not known": {"opencode", `{"event": "messages.transform", "session": "new", "messages": []}`, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStation(t)
			looked := 0
			s.Project.HostProcess = func() project.Process { return project.Process{PID: 7, Started: "1"} }
			s.Project.ProcessGone = func(project.Process) bool { looked++; return true }
			s.handle("opencode", prompt("killed", "m1", "Killed work"))
			s.handle("opencode", prompt("s", "m1", "Work"))
			s.handle(tt.host, tt.event)
			assert.Equal(t, tt.looks, looked > 0)
			assert.Equal(t, tt.looks, slices.Contains(s.tree(), "blocked Killed work"))
		})
	}
}
