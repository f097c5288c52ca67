package supervise_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"flame/agents/supervise"
	"flame/core"
)

// A bystander is a process that prints each line of its input until it ends.
type bystander struct {
	t   *testing.T
	cmd *exec.Cmd
	ask func() bool // whether it lives
}

// stand starts a bystander with more words in its command line and environment.
func stand(t *testing.T, env []string, words ...string) *bystander {
	t.Helper()
	return standAs(t, "/bin/sh", env, words...)
}

func standAs(t *testing.T, program string, env []string, words ...string) *bystander {
	t.Helper()
	cmd := exec.Command(program, append([]string{"-c", "while read line; do echo $line; done"}, words...)...)
	cmd.Env = append(os.Environ(), env...)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	lines := bufio.NewScanner(out)
	b := &bystander{t, cmd, func() bool {
		// A signal that was sent before takes effect before the answer.
		_, err := fmt.Fprintln(in, "alive")
		return err == nil && lines.Scan() && lines.Text() == "alive"
	}}
	require.True(t, b.ask()) // before, the system may not know its command line yet
	return b
}

// noted is the bystander as a supervisor would note it.
func (b *bystander) noted() supervise.Process {
	b.t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", b.cmd.Process.Pid))
	require.NoError(b.t, err)
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	_, place, _ := strings.Cut(supervise.Self().Started, "/")
	return supervise.Process{PID: b.cmd.Process.Pid, Started: fields[19] + "/" + place}
}

// agent is one whose supervisor these tests play.
const agent = "agent-process1"

func TestForgedRecordsOfProcessesAreNeitherAliveNorSignalled(t *testing.T) {
	t.Parallel()
	tests := map[string]func(p supervise.Process) supervise.Process{
		"no start":             func(p supervise.Process) supervise.Process { p.Started = ""; return p },
		"words for a start":    func(p supervise.Process) supervise.Process { p.Started = "yesterday"; return p },
		"a start without boot": func(p supervise.Process) supervise.Process { p.Started, _, _ = strings.Cut(p.Started, "/"); return p },
		"no time in a start": func(p supervise.Process) supervise.Process {
			_, place, _ := strings.Cut(p.Started, "/")
			p.Started = "/" + place
			return p
		},
		"another start":     func(p supervise.Process) supervise.Process { p.Started = "1" + p.Started; return p },
		"more than a start": func(p supervise.Process) supervise.Process { p.Started += "/"; return p },
		"another boot": func(p supervise.Process) supervise.Process {
			parts := strings.Split(p.Started, "/")
			parts[1] = "00000000-0000-0000-0000-000000000000"
			p.Started = strings.Join(parts, "/")
			return p
		},
		"another namespace": func(p supervise.Process) supervise.Process {
			p.Started = p.Started[:strings.LastIndexByte(p.Started, '/')] + "/pid:[1]"
			return p
		},
		"a group":        func(p supervise.Process) supervise.Process { p.PID = -p.PID; return p },
		"all processes":  func(p supervise.Process) supervise.Process { p.PID = -1; return p },
		"our own group":  func(p supervise.Process) supervise.Process { p.PID = 0; return p },
		"the first":      func(p supervise.Process) supervise.Process { p.PID = 1; return p },
		"a pid too long": func(p supervise.Process) supervise.Process { p.PID += 1 << 32; return p },
		"ourselves":      func(supervise.Process) supervise.Process { return supervise.Self() },
		"nothing":        func(supervise.Process) supervise.Process { return supervise.Process{} },
	}
	for name, forge := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := stand(t, []string{core.AgentVariable + "=" + agent})
			forged := forge(b.noted())
			assert.False(t, forged.Alive())
			signal := syscall.SIGKILL
			if forged.PID != b.cmd.Process.Pid {
				signal = syscall.SIGURG // should it arrive after all, it harms nobody
			}
			require.NoError(t, forged.Signal(agent, signal))
			assert.True(t, b.ask(), "an innocent process was killed")
		})
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
			require.True(t, b.noted().Alive())
			require.NoError(t, b.noted().Signal(tt.agent, syscall.SIGKILL))
			assert.Equal(t, !tt.dies, b.ask())
		})
	}
}

// member is what family.json says of a bystander.
func (b *bystander) member(change func(m map[string]any)) string {
	b.t.Helper()
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", b.cmd.Process.Pid))
	require.NoError(b.t, err)
	p := b.noted()
	m := map[string]any{
		"pid": p.PID, "started": p.Started, "command": strings.ReplaceAll(strings.TrimRight(string(line), "\x00"), "\x00", " "),
	}
	change(m)
	raw, err := json.Marshal(m)
	require.NoError(b.t, err)
	return string(raw)
}

func TestOnlyUnchangedRecordedProcessesAreEnded(t *testing.T) {
	t.Parallel()
	asItIs := func(map[string]any) {}
	one := func(change func(m map[string]any)) func(b *bystander) string {
		return func(b *bystander) string { return "[" + b.member(change) + "]" }
	}
	set := func(key string, value any) func(b *bystander) string {
		return one(func(m map[string]any) { m[key] = value })
	}
	tests := map[string]struct {
		file func(b *bystander) string
		dies bool
	}{
		"as it was noted":          {file: one(asItIs), dies: true},
		"among others":             {file: func(b *bystander) string { return `[{"pid":1},` + b.member(asItIs) + `,{}]` }, dies: true},
		"without its command":      {file: one(func(m map[string]any) { delete(m, "command") })},
		"with an empty command":    {file: set("command", "")},
		"with another command":     {file: set("command", "sleep 300")},
		"with part of its command": {file: set("command", "/bin/sh")},
		"without its start":        {file: set("started", "")},
		"with another start":       {file: set("started", "1")},
		"with a pid in words":      {file: set("pid", "12")},
		"with a pid that is a list": {file: func(b *bystander) string {
			return `[{"pid":[1]},` + b.member(asItIs) + `]`
		}},
		"an object":              {file: func(b *bystander) string { return b.member(asItIs) }},
		"a list in a list":       {file: func(b *bystander) string { return "[[" + b.member(asItIs) + "]]" }},
		"half of it":             {file: func(b *bystander) string { return "[" + b.member(asItIs)[:40] }},
		"more after its end":     {file: func(b *bystander) string { return "[" + b.member(asItIs) + "]]" }},
		"nothing":                {file: func(*bystander) string { return "" }},
		"null":                   {file: func(*bystander) string { return "null" }},
		"no text":                {file: func(*bystander) string { return "\x00\xff\xfe" }},
		"deep":                   {file: func(*bystander) string { return strings.Repeat("[", 1<<20) }},
		"10 MB of blanks":        {file: func(b *bystander) string { return "[" + b.member(asItIs) + strings.Repeat(" ", 10<<20) + "]" }},
		"more than an agent has": {file: func(b *bystander) string { return "[" + strings.Repeat("{},", 100_000) + b.member(asItIs) + "]" }},
		"the first process, and none": {file: func(*bystander) string {
			return `[{"pid":1,"started":"1"},{"pid":-1},{"pid":0},{"pid":-1,"started":"x","command":"y"}]`
		}},
		"the process that looks at it": {file: func(b *bystander) string { return ourselves(b.t) }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, b := t.TempDir(), stand(t, nil)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "family.json"), []byte(tt.file(b)), 0o600))
			supervise.KillRest("agent-"+filepath.Base(filepath.Dir(dir)), dir)
			assert.Equal(t, !tt.dies, b.ask())
		})
	}
}

// ourselves is this process as a member of a family.
func ourselves(t *testing.T) string {
	t.Helper()
	line, err := os.ReadFile("/proc/self/cmdline")
	require.NoError(t, err)
	raw, err := json.Marshal([]map[string]any{{
		"pid": os.Getpid(), "started": supervise.Self().Started, "command": strings.ReplaceAll(strings.TrimRight(string(line), "\x00"), "\x00", " "),
	}})
	require.NoError(t, err)
	return string(raw)
}

func TestARecordedProcessThatNowWorksForAnotherAgentLives(t *testing.T) {
	t.Parallel()
	const other = "agent-elsewhere"
	mark := []string{core.AgentVariable + "=" + other}
	dir := t.TempDir()
	supervisor, b := stand(t, mark, "supervise", "/data/agents/"+other), stand(t, mark)
	noted := []byte("[" + b.member(func(map[string]any) {}) + "]")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "family.json"), noted, 0o600))
	supervise.KillRest("agent-gone", dir)
	assert.True(t, b.ask(), "it is supervised")
	assert.True(t, supervisor.ask())
	require.NoError(t, supervisor.cmd.Process.Kill())
	_ = supervisor.cmd.Wait()
	supervise.KillRest("agent-gone", dir)
	assert.False(t, b.ask(), "anyone can set a mark")
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
		"1 TB each": func(path string) error { return errOf(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<40)) },
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
			supervise.KillRest("agent-traps", dir)
			_, known, err := supervise.LoadOutcome(dir)
			assert.False(t, known)
			assert.Error(t, err)
			_, text := supervise.Reread(dir, 0, core.Usage{}, func([]byte) core.Message { return core.Message{} })
			assert.Empty(t, text)
		})
	}
}

// errOf returns the first error.
func errOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestInvalidOutcomeFilesAreIgnored(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		content string
		known   bool
	}{
		"an end":                    {`{"state":"completed","text":"done","usage":{"tokensIn":5,"costUSD":0.5}}`, true},
		"an end, with more":         {`{"state":"error","later":{"versions":"say"}}`, true},
		"half of one":               {`{"state":"compl`, false},
		"nothing":                   {``, false},
		"null":                      {`null`, false},
		"a list":                    {`[{"state":"completed"}]`, false},
		"no state":                  {`{"text":"done"}`, false},
		"an unknown state":          {`{"state":"victorious"}`, false},
		"a state that is not final": {`{"state":"active"}`, false},
		"a state of wrong type":     {`{"state":7}`, false},
		"a text of wrong type":      {`{"state":"completed","text":{}}`, false},
		"tokens it gave back":       {`{"state":"completed","usage":{"tokensIn":-5000}}`, false},
		"money it gave back":        {`{"state":"completed","treeUSD":-50}`, false},
		"all money there is":        {`{"state":"completed","usage":{"costUSD":1e308}}`, false},
		"more than a number can":    {`{"state":"completed","usage":{"costUSD":1e999}}`, false},
		"a time of wrong type":      {`{"state":"completed","endedAt":"now"}`, false},
		"too long":                  {`{"state":"completed","text":"` + strings.Repeat("x", 20<<20) + `"}`, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "outcome.json"), []byte(tt.content), 0o600))
			o, known, err := supervise.LoadOutcome(dir)
			assert.Equal(t, tt.known, known)
			assert.Equal(t, tt.known, err == nil)
			if !tt.known {
				assert.Zero(t, o)
			}
		})
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
			b := standAs(t, program, append(tt.env, core.AgentVariable+"="+id))
			assert.True(t, b.noted().Alive())
			supervise.KillRest(id, dir)
			assert.False(t, b.ask())
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
	noted := b.noted()
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
	require.NoError(t, b.cmd.Process.Kill())
	_ = b.cmd.Wait()
	assert.True(t, noted.Gone())
}

func TestTheCallerOfThisProcess(t *testing.T) {
	t.Parallel()
	caller := supervise.Caller()
	assert.True(t, caller.Alive(), "%+v", caller)
	assert.False(t, caller.Gone())
}
