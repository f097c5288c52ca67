package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/tests/clients"
	"flame/tests/effort"
)

// lines are the rows that DESIGN §10 requires, by the beginning of their names, and the number of
// each.
var lines = map[string]int{
	"package initialisation":                               1,
	"flame show FRAME, process":                            4,
	"flame status --line, process":                         4,
	"flame decision TEXT, process":                         4,
	"flame hook, SessionStart of a compaction, p50":        4,
	"flame hook, PreToolUse of a flame tool, p50":          4,
	"flame hook, PreToolUse in a subagent, p50":            4,
	"flame hook, messages.transform, p50":                  4,
	"flame hook, messages.transform of a new prompt, p50":  4,
	"flame hook, UserPromptSubmit, p50":                    4,
	"flame hook, PostToolUse of Write, p50":                4,
	"flame hook --stream, messages.transform":              2,
	"an event that the server takes, ":                     4,
	"a look into an empty inbox":                           1,
	"flame_push in a running server, p99":                  3,
	"context of a frame, p50":                              2,
	"context of a frame, p99":                              1,
	"flame_status, p50":                                    1,
	"flame_status, text":                                   1,
	"start to first tools/list":                            1,
	"8 servers writing at once, lost":                      1,
	"8 servers writing at once, worst":                     1,
	"8 servers writing beside the invalidation of":         2,
	"8 commands writing at once, lost":                     1,
	"8 commands writing at once, worst":                    1,
	"flame hook, SessionStart of a compaction, peak":       1,
	"flame hook, PreToolUse of a flame tool, peak":         1,
	"flame hook, PreToolUse in a subagent, peak":           1,
	"flame hook, messages.transform, peak":                 1,
	"flame hook, messages.transform of a new prompt, peak": 1,
	"flame hook, UserPromptSubmit, peak":                   1,
	"flame hook, PostToolUse of Write, peak":               1,
	"flame show FRAME, peak memory":                        1,
	"flame serve at work, peak memory":                     1,
	"flame gateway, what it adds to a request":             1,
	"flame gateway, memory after all requests":             1,
	"spawn_agent, one of 200 definitions":                  1,
	"the same, worst":                                      1,
	"flame track on a log of":                              4,
}

// clientLines are the rows that need the real client. A difference of two times may be negative in
// a quick run.
var clientLines = map[string]int{"Claude Code, Read: ": 4, "Claude Code, Write: ": 4, "Claude Code, flame_plan_children: ": 4}

// wanted are the rows of a run on this machine.
func wanted() map[string]int {
	all := maps.Clone(lines)
	if _, err := clients.Binary(clients.ClaudeCode); err == nil {
		maps.Copy(all, clientLines)
	}
	return all
}

func TestQuickRunHasEveryRow(t *testing.T) {
	effort.Heavy(t)
	t.Parallel()
	dir := t.TempDir()
	var out, progress bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-quick", "-json", "-dir", dir}, &out, &progress), progress.String())
	var found report
	require.NoError(t, json.Unmarshal(out.Bytes(), &found))
	assert.Positive(t, found.Floors.Hello)
	assert.Positive(t, found.Floors.SyncP99)
	total := 0
	for name, n := range wanted() {
		total += n
		matching := 0
		for _, r := range found.Rows {
			if !strings.HasPrefix(r.What, name) {
				continue
			}
			matching++
			switch {
			case r.Unit == unitWrites:
				assert.Zero(t, r.Figure, "%s", r.What)
			case clientLines[name] == 0:
				assert.Positive(t, r.Figure, "%s", r.What)
			}
		}
		assert.Equal(t, n, matching, "rows of %q", name)
	}
	assert.Len(t, found.Rows, total, "unexpected rows")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left, "the benchmark leaves nothing behind")
}

func TestGoals(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		goal          goal
		figure, floor float64
		text          string
		limit         float64
		met           bool
	}{
		"a multiple of the floor, just met": {goal{times: 4}, 8, 2, "<= 4 x", 8, true},
		"a multiple of the floor, missed":   {goal{times: 4}, 8.01, 2, "<= 4 x", 8, false},
		"a multiple of the floor and more":  {goal{times: 4, plus: 0.5}, 8.4, 2, "<= 4 x + 0.5 ms", 8.5, true},
		"a number, for any floor":           {goal{plus: 15}, 14, 2, "<= 15 ms", 15, true},
		"none allowed, one found":           {goal{}, 1, 0, "<= 0 ms", 0, false},
		"none allowed, none found":          {goal{}, 0, 0, "<= 0 ms", 0, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := tt.goal.against("it", 100, unitMS, tt.figure, tt.floor)
			assert.Equal(t, tt.text, r.Goal)
			assert.InDelta(t, tt.limit, r.Limit, 1e-9)
			assert.Equal(t, tt.met, r.Met)
			if tt.floor > 0 {
				assert.InDelta(t, tt.figure/tt.floor, r.Ratio, 1e-9)
			}
		})
	}
}

func TestTableNamesMissedGoals(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, report{Rows: []row{
		goal{times: 2}.against("slow thing", 100, unitMS, 5, 2),
		goal{plus: 8192}.against("long thing", 100, unitBytes, 8000, 0),
		told("other thing", unitMS, 3),
	}}.writeTable(&out))
	assert.Regexp(t, `slow thing +100 +2.00 ms +5.00 ms +2.50 x +<= 2 x +NO`, out.String())
	assert.Regexp(t, `long thing +100 +- +8000 bytes +- +<= 8192 bytes +yes`, out.String())
	assert.Regexp(t, `other thing +0 +- +3.00 ms +- +- +-`, out.String())
	assert.Contains(t, out.String(), "1 of 2 goals met")
}

func TestHooksAreComparedWithTrue(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		none, idle, calls []time.Duration // of /bin/true: idle
		met               bool
		figure            float64
	}{
		"less":                    {[]time.Duration{20}, []time.Duration{24}, []time.Duration{22}, true, 2},
		"more":                    {[]time.Duration{20}, []time.Duration{24}, []time.Duration{25}, false, 5},
		"a negative difference":   {[]time.Duration{20}, []time.Duration{24}, []time.Duration{19}, true, -1},
		"a difference to nothing": {[]time.Duration{20}, []time.Duration{19}, []time.Duration{20}, false, 0},
		"a temporarily busy machine": {
			[]time.Duration{20, 90, 91}, []time.Duration{24, 93, 95}, []time.Duration{22, 92, 93}, true, 2,
		},
	}
	in := func(all []time.Duration) (s sample) {
		for _, ms := range all {
			s = append(s, ms*time.Millisecond)
		}
		return s
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			goals, none := 0, in(tt.none)
			for _, r := range hookRows("Read", [kindsOfHooks]sample{noHooks: none, trueHooks: in(tt.idle), callingHooks: in(tt.calls), commandHooks: none}) {
				assert.Contains(t, r.What, "Claude Code, Read: ")
				if r.Goal != "" {
					goals++
					assert.Equal(t, tt.met, r.Met)
					assert.InDelta(t, tt.figure, r.Figure, 1e-9)
				}
			}
			assert.Equal(t, 1, goals)
		})
	}
}

func TestClientsTakeTurns(t *testing.T) {
	t.Parallel()
	const clients, steps = 3, 20
	r := newRing(t.Context(), clients)
	var mu sync.Mutex
	var order []int
	var working sync.WaitGroup
	for client := range clients {
		working.Go(func() {
			for range steps {
				r.wait(client)
				mu.Lock()
				order = append(order, client)
				mu.Unlock()
				r.pass()
			}
		})
	}
	working.Wait()
	require.Len(t, order, clients*steps)
	for round := range slices.Chunk(order, clients) {
		assert.ElementsMatch(t, []int{0, 1, 2}, round)
	}
}

func TestAFailedClientBlocksNoOther(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	r := newRing(ctx, 2)
	cancel()
	for range 3 {
		r.wait(1)
		r.pass()
	}
}

func TestAMissingClientIsLeftOut(t *testing.T) {
	t.Setenv("FLAME_TEST_HOSTS_DIR", t.TempDir())
	var said []string
	b := bench{scale: small, dir: t.TempDir(), tell: func(what string) { said = append(said, what) }}
	rows, err := b.claudeCode(t.Context())
	require.NoError(t, err)
	assert.Empty(t, rows)
	require.Len(t, said, 1)
	assert.Contains(t, said[0], "left out: ")
}

func TestQuantiles(t *testing.T) {
	t.Parallel()
	var s sample
	for i := 100; i > 0; i-- {
		s = append(s, time.Duration(i)*time.Millisecond)
	}
	assert.Equal(t, 50.0, s.p50())
	assert.Equal(t, 99.0, s.p99())
	assert.Equal(t, 100.0, s.worst())
	assert.Equal(t, 7.0, sample{7 * time.Millisecond}.p50())
	assert.Zero(t, sample{}.worst())
}

func TestInitialisationIsAddedUp(t *testing.T) {
	t.Parallel()
	took, err := initTime(strings.Join([]string{
		"init internal/bytealg @0.003 ms, 0.25 ms clock, 0 bytes, 0 allocs",
		"something else on stderr",
		"init time @1.5 ms, 0.5 ms clock, 384 bytes, 2 allocs",
	}, "\n"))
	require.NoError(t, err)
	assert.Equal(t, 750*time.Microsecond, took)
	_, err = initTime("a runtime that does not trace")
	assert.Error(t, err)
}

func TestPlantedTree(t *testing.T) {
	t.Parallel()
	planted, err := plant(t.Context(), t.TempDir(), 1000)
	require.NoError(t, err)
	_, kept := planted.open()
	defer kept.Close()
	var frames []core.Frame
	sessions := map[string]core.Session{}
	require.NoError(t, kept.View(t.Context(), func(tx project.Tx) (err error) {
		if frames, err = tx.FindFrames(project.FrameQuery{}); err != nil {
			return err
		}
		s, err := tx.Session(planted.session)
		if err == nil {
			var current core.Frame
			current, err = tx.Frame(s.Current)
			assert.Equal(t, core.InProgress, current.Status)
		}
		all, listErr := tx.FindSessions(project.SessionQuery{})
		for _, s := range all {
			sessions[s.ID] = s
		}
		return errors.Join(err, listErr)
	}))
	require.Len(t, frames, 1000)
	for _, id := range []string{planted.hooked, planted.child, planted.opencode} {
		assert.Equal(t, planted.current, sessions[id].Current, "frame of %s", id)
	}
	assert.Equal(t, planted.hooked, sessions[planted.child].Parent)
	seen, depth, children, summaries := map[core.Status]int{}, map[string]int{}, map[string]int{}, 0
	for _, f := range frames {
		seen[f.Status]++
		depth[f.ID] = depth[f.Parent] + 1
		children[f.Parent]++
		if f.Summary != "" {
			summaries++
			assert.InDelta(t, 300, len(f.Summary), 10)
		}
	}
	for _, status := range core.Statuses {
		assert.Positive(t, seen[status], "frames that are %s", status)
	}
	assert.Greater(t, children[""], 5, "roots")
	assert.Equal(t, 1000/wideShare-1, maximum(children, ""), "children of the wide root")
	assert.Equal(t, maxDepth, maximum(depth, ""), "levels")
	assert.Greater(t, summaries, 500)
}

// maximum returns the greatest value of m, without that of except.
func maximum(m map[string]int, except string) (n int) {
	for key, value := range m {
		if key != except {
			n = max(n, value)
		}
	}
	return n
}

// built has the programs of a benchmark, built once for all tests that do not run a whole one.
var built struct {
	once  sync.Once
	bench bench
	err   error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.bench.dir != "" {
		_ = os.RemoveAll(built.bench.dir) // a leftover harms no later run
	}
	os.Exit(code)
}

// prepared returns a benchmark with its programs and its own folder.
func prepared(t *testing.T) *bench {
	t.Helper()
	built.once.Do(func() {
		if built.bench.dir, built.err = os.MkdirTemp("", "flame-test-"); built.err == nil {
			built.err = built.bench.build(context.Background())
		}
	})
	require.NoError(t, built.err)
	return &bench{dir: t.TempDir(), flame: built.bench.flame, hello: built.bench.hello, peak: built.bench.peak}
}

func TestPeakIsTheCommands(t *testing.T) {
	t.Parallel()
	effort.Heavy(t)
	b := prepared(t)
	ballast := bytes.Repeat([]byte{1}, 100<<20) // this process's memory must not count
	small, err := b.peakOf(t.Context(), tree{dir: b.dir}, b.hello)
	require.NoError(t, err)
	assert.Less(t, small, 20.0, "MB, beside %s bytes here", strconv.Itoa(len(ballast)))
	assert.Greater(t, small, 0.5)
	_, err = b.peakOf(t.Context(), tree{dir: b.dir}, b.flame, "no-such-command")
	assert.ErrorContains(t, err, "exit status 2")
}

func TestHooksThatDoNothingAreNoticed(t *testing.T) {
	t.Parallel()
	effort.Heavy(t)
	b := prepared(t)
	b.scale, b.trees = scale{trees: []int{100}, processes: 1}, map[int]tree{}
	planted, err := plant(t.Context(), b.dir, 100)
	require.NoError(t, err)
	b.trees[100] = planted
	for _, e := range hookEvents {
		_, err := b.timeHook(t.Context(), e)
		assert.NoError(t, err, "%s", e.what)
	}
	b.flame = b.hello
	for _, e := range hookEvents {
		_, err := b.timeHook(t.Context(), e)
		assert.ErrorContains(t, err, e.what, "a program that takes no events")
	}
}

func TestWrongArguments(t *testing.T) {
	t.Parallel()
	var out, complaint bytes.Buffer
	assert.Error(t, run(t.Context(), []string{"-no-such-flag"}, &out, &complaint))
	assert.ErrorContains(t, run(t.Context(), []string{"more"}, &out, &complaint), `unexpected argument "more"`)
	assert.ErrorContains(t, run(t.Context(), []string{"-dir", t.TempDir() + "/missing"}, &out, &complaint), "missing")
	assert.Empty(t, out.String())
}
