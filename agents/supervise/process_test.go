package supervise_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"flame/agents/supervise"
	"flame/core"
	"flame/tests/cases"
	"flame/tests/processes"
)

// stand starts a bystander with more words in its command line and environment.
func stand(t *testing.T, env []string, words ...string) processes.Bystander {
	t.Helper()
	return processes.Stand(t, "/bin/sh", env, words...)
}

// agent is one whose supervisor these tests play.
const agent = "agent-process1"

func TestForgedRecordsOfProcessesAreNeitherAliveNorSignalled(t *testing.T) {
	t.Parallel()
	b := stand(t, []string{core.AgentVariable + "=" + agent})
	pid, parts := b.Noted.PID, strings.Split(b.Noted.Started, "/")
	start, boot, space := parts[0], "/"+parts[1], "/"+parts[2]
	for name, forged := range map[string]supervise.Process{
		"no start":             {PID: pid},
		"words for a start":    {PID: pid, Started: "yesterday"},
		"a start without boot": {PID: pid, Started: start},
		"no time in a start":   {PID: pid, Started: boot + space},
		"another start":        {PID: pid, Started: "1" + b.Noted.Started},
		"more than a start":    {PID: pid, Started: b.Noted.Started + "/"},
		"another boot":         {PID: pid, Started: start + "/00000000-0000-0000-0000-000000000000" + space},
		"another namespace":    {PID: pid, Started: start + boot + "/pid:[1]"},
		"a group":              {PID: -pid, Started: b.Noted.Started},
		"all processes":        {PID: -1, Started: b.Noted.Started},
		"our own group":        {Started: b.Noted.Started},
		"the first":            {PID: 1, Started: b.Noted.Started},
		"a pid too long":       {PID: pid + 1<<32, Started: b.Noted.Started},
		"ourselves":            supervise.Self(),
		"nothing":              {},
	} {
		assert.False(t, forged.Alive(), name)
		signal := syscall.SIGKILL
		if forged.PID != pid {
			signal = syscall.SIGURG // should it arrive after all, it harms nobody
		}
		require.NoError(t, forged.Signal(agent, signal))
		assert.True(t, b.Lives(), "%s: an innocent process was killed", name)
	}
}

func TestAProcessIsSignalledForTheAgentItWorksFor(t *testing.T) {
	t.Parallel()
	mark := func(agent string) []string { return []string{core.AgentVariable + "=" + agent} }
	tests := map[string]struct {
		env   []string
		words []string
		agent string
		dies  bool
	}{
		"it bears the mark":                   {env: mark(agent), agent: agent, dies: true},
		"it is the supervisor":                {words: []string{"supervise", "/data/agents/" + agent}, agent: agent, dies: true},
		"it is the supervisor, by id":         {words: []string{"supervise", agent}, agent: agent, dies: true},
		"it is the keeper":                    {words: []string{"supervise", "--keep", agent}, agent: agent, dies: true},
		"it is a stranger":                    {agent: agent},
		"it bears another agent's mark":       {env: mark(agent + "0"), agent: agent},
		"it is another agent's supervisor":    {words: []string{"supervise", "/data/agents/agent-other"}, agent: agent},
		"it only speaks of the agent":         {words: []string{"less", "/data/agents/" + agent}, agent: agent},
		"it works for none, nor is one asked": {words: []string{"supervise", ""}, agent: ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := stand(t, tt.env, tt.words...)
			require.True(t, b.Noted.Alive())
			require.NoError(t, b.Noted.Signal(tt.agent, syscall.SIGKILL))
			assert.Equal(t, !tt.dies, b.Lives())
		})
	}
}

// member is what family.json says of a process, with other values for some of the fields.
func member(t *testing.T, noted supervise.Process, other ...any) string {
	t.Helper()
	m := map[string]any{"pid": noted.PID, "started": noted.Started, "command": processes.Command(noted.PID)}
	for i := 0; i < len(other); i += 2 {
		m[other[i].(string)] = other[i+1]
	}
	raw, err := json.Marshal(m)
	require.NoError(t, err)
	return string(raw)
}

func TestOnlyUnchangedRecordedProcessesAreEnded(t *testing.T) {
	t.Parallel()
	dir, b := t.TempDir(), stand(t, nil)
	own := member(t, b.Noted)
	rest := func(file string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "family.json"), []byte(file), 0o600))
		supervise.KillLeftovers("agent-"+filepath.Base(filepath.Dir(dir)), dir)
	}
	for name, file := range map[string]string{
		"without its command":          "[" + member(t, b.Noted, "command", nil) + "]",
		"with an empty command":        "[" + member(t, b.Noted, "command", "") + "]",
		"with another command":         "[" + member(t, b.Noted, "command", "sleep 300") + "]",
		"with part of its command":     "[" + member(t, b.Noted, "command", "/bin/sh") + "]",
		"without its start":            "[" + member(t, b.Noted, "started", "") + "]",
		"with another start":           "[" + member(t, b.Noted, "started", "1") + "]",
		"with a pid in words":          "[" + member(t, b.Noted, "pid", "12") + "]",
		"with a pid that is a list":    `[{"pid":[1]},` + own + `]`,
		"an object":                    own,
		"a list in a list":             "[[" + own + "]]",
		"half of it":                   "[" + own[:40],
		"more after its end":           "[" + own + "]]",
		"nothing":                      "",
		"null":                         "null",
		"no text":                      "\x00\xff\xfe",
		"deep":                         strings.Repeat("[", 1<<20),
		"10 MB of blanks":              "[" + own + strings.Repeat(" ", 10<<20) + "]",
		"more than an agent has":       "[" + strings.Repeat("{},", 100_000) + own + "]",
		"the first process, and none":  `[{"pid":1,"started":"1"},{"pid":-1},{"pid":0},{"pid":-1,"started":"x","command":"y"}]`,
		"the process that looks at it": "[" + member(t, supervise.Self()) + "]",
	} {
		rest(file)
		assert.True(t, b.Lives(), name)
	}
	rest(`[{"pid":1},` + own + `,{}]`)
	assert.False(t, b.Lives(), "it is as it was noted")
}

func TestARecordedProcessThatNowWorksForAnotherAgentLives(t *testing.T) {
	t.Parallel()
	const other = "agent-elsewhere"
	mark := []string{core.AgentVariable + "=" + other}
	dir := t.TempDir()
	supervisor, b := stand(t, mark, "supervise", "/data/agents/"+other), stand(t, mark)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "family.json"), []byte("["+member(t, b.Noted)+"]"), 0o600))
	supervise.KillLeftovers("agent-gone", dir)
	assert.True(t, b.Lives(), "it is supervised")
	assert.True(t, supervisor.Lives())
	require.NoError(t, supervisor.Process.Kill())
	_ = supervisor.Wait()
	supervise.KillLeftovers("agent-gone", dir)
	assert.False(t, b.Lives(), "anyone can set a mark")
}

func TestReadersOfAHostileFolderAreSafe(t *testing.T) {
	t.Parallel()
	const traps = "family.json outcome.json stdout.jsonl stderr.log"
	tests := map[string]func(path string) error{
		"pipes":     func(path string) error { return unix.Mkfifo(path, 0o600) },
		"folders":   func(path string) error { return os.Mkdir(path, 0o700) },
		"endless":   func(path string) error { return os.Symlink("/dev/zero", path) },
		"its own":   func(path string) error { return os.Symlink(path, path) },
		"a socket":  func(path string) error { return unix.Mknod(path, unix.S_IFSOCK|0o600, 0) },
		"1 TB each": func(path string) error { return cmp.Or(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<40)) },
	}
	for name, set := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for trap := range strings.FieldsSeq(traps) {
				if name == "1 TB each" && trap == "stdout.jsonl" {
					continue // all of it is what the agent printed
				}
				require.NoError(t, set(filepath.Join(dir, trap)))
			}
			supervise.KillLeftovers("agent-traps", dir)
			_, known, err := supervise.LoadOutcome(dir)
			assert.False(t, known)
			assert.Error(t, err)
			_, text := supervise.ReadProgress(dir, 0, core.Usage{}, func([]byte) core.Message { return core.Message{} })
			assert.Empty(t, text)
		})
	}
}

func TestInvalidOutcomeFilesAreIgnored(t *testing.T) {
	t.Parallel()
	type outcome struct {
		Content string `json:"content"`
		Known   bool   `json:"known"`
	}
	all, dir := cases.Read[outcome](t, "testdata/outcomes.yaml"), t.TempDir()
	all["too long"] = outcome{Content: `{"state":"completed","text":"` + strings.Repeat("x", 20<<20) + `"}`}
	for name, tt := range all {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "outcome.json"), []byte(tt.Content), 0o600))
		o, known, err := supervise.LoadOutcome(dir)
		assert.Equal(t, tt.Known, known, name)
		assert.Equal(t, tt.Known, err == nil, name)
		assert.Equal(t, !tt.Known, reflect.DeepEqual(o, supervise.Outcome{}), name)
	}
}

func TestProcessesOfAnyNameAreFound(t *testing.T) {
	t.Parallel()
	long := make([]string, 12)
	for i := range long {
		long[i] = fmt.Sprintf("LONG%d=%s", i, strings.Repeat("x", 100<<10))
	}
	tests := map[string]struct {
		name string
		env  []string
	}{
		"brackets":            {name: ") Z 1 (x"},
		"newlines":            {name: "a\n1 (b) S\n"},
		"blanks":              {name: "   "},
		"no text":             {name: "\xff\xfe)("},
		"a long environment":  {name: "sh", env: long},
		"the mark in a value": {name: "sh", env: []string{"OTHER=" + core.AgentVariable + "=agent-nobody"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			program := filepath.Join(dir, tt.name)
			require.NoError(t, os.Symlink("/bin/sh", program)) // a file just written may be busy
			id := "agent-" + filepath.Base(filepath.Dir(dir))
			b := processes.Stand(t, program, append(tt.env, core.AgentVariable+"="+id))
			assert.True(t, b.Noted.Alive())
			supervise.KillLeftovers(id, dir)
			assert.False(t, b.Lives())
		})
	}
}

func TestAProcessWhoseFirstThreadIsOverIsEnded(t *testing.T) {
	var dir string
	got, _ := supervised(t, "leaves a child without its first thread", func(j *supervise.Job, _ *journal) { dir = j.Dir })
	assert.Equal(t, core.AgentCompleted, got.State)
	told, err := os.ReadFile(filepath.Join(dir, "child"))
	require.NoError(t, err)
	pid, err := strconv.Atoi(string(told))
	require.NoError(t, err)
	assert.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH, "its other threads run")
}

func TestOnlyRecordedProcessesCanBeGone(t *testing.T) {
	t.Parallel()
	b := stand(t, nil)
	noted := b.Noted
	assert.False(t, noted.Gone())
	parts := strings.Split(noted.Started, "/")
	for name, tt := range map[string]struct {
		other supervise.Process
		gone  bool
	}{
		"another process with its pid":     {supervise.Process{PID: noted.PID, Started: "1" + noted.Started}, true},
		"one of the boot before":           {supervise.Process{PID: noted.PID, Started: parts[0] + "/00000000-0000-0000-0000-000000000000/" + parts[2]}, true},
		"one of another namespace":         {supervise.Process{PID: noted.PID, Started: parts[0] + "/" + parts[1] + "/pid:[1]"}, false},
		"one whose start was not recorded": {supervise.Process{PID: 1 << 30}, false},
		"the first":                        {supervise.Process{PID: 1, Started: noted.Started}, false},
		"nothing":                          {supervise.Process{}, false},
	} {
		assert.Equal(t, tt.gone, tt.other.Gone(), name)
	}
	require.NoError(t, b.Process.Kill())
	_ = b.Wait()
	assert.True(t, noted.Gone())
}

func TestTheCallerOfThisProcess(t *testing.T) {
	t.Parallel()
	caller := supervise.Caller()
	assert.True(t, caller.Alive(), "%+v", caller)
	assert.False(t, caller.Gone())
}
