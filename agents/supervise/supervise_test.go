package supervise_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"flame/agents/supervise"
	"flame/core"
	"flame/tests/processes"
	"flame/transcripts"
)

// fakeHost, set in the environment, makes the test binary behave as a host does
// that prints Claude Code's stream.
const fakeHost = "FLAME_FAKE_HOST"

func TestMain(m *testing.M) {
	runtime.LockOSThread() // the first thread, which a behaviour ends
	if behaviour := os.Getenv(fakeHost); behaviour != "" {
		behave(behaviour)
		return
	}
	os.Exit(m.Run())
}

// The lines of a host.
const (
	initLine = `{"type":"system","subtype":"init","session_id":"s1","model":"claude-opus-5-5","tools":["Read"]}`
	workLine = `{"type":"assistant","session_id":"s1","message":{"id":"m1","model":"claude-opus-5-5","stop_reason":null,` +
		`"usage":{"input_tokens":100,"output_tokens":20},"content":[{"type":"text","text":"half of it is done"}]}}`
	doneLine = `{"type":"result","subtype":"success","is_error":false,"session_id":"s1","result":"all of it is done","total_cost_usd":0.5,` +
		`"usage":{"input_tokens":200,"output_tokens":50,"output_tokens_details":{"thinking_tokens":30}},` +
		`"modelUsage":{"claude-opus-5-5":{}}}`
	failLine = `{"type":"result","subtype":"success","is_error":true,"session_id":"s1","result":"API Error: 529 overloaded","usage":{}}`
	authLine = `{"type":"result","subtype":"success","is_error":true,"session_id":"s1","result":"API Error: 401 invalid x-api-key","usage":{}}`
)

func callLine(n int, input string) string {
	return fmt.Sprintf(`{"type":"assistant","session_id":"s1","message":{"id":"c%d","stop_reason":"tool_use","usage":{"input_tokens":10},`+
		`"content":[{"type":"tool_use","id":"t%d","name":"Grep","input":%s}]}}`, n, n, input)
}

// hang does nothing for as long as it lives. A program without cgo that only waited for
// nothing would be ended as deadlocked.
func hang() {
	for {
		time.Sleep(time.Hour)
	}
}

// behave is the fake host. It may be started several times for one job: attempts
// counts them.
func behave(behaviour string) {
	prompt, _ := io.ReadAll(os.Stdin)
	attempt := attempts()
	handsBack := strings.Contains(string(prompt), "hand back")
	switch {
	case handsBack && behaviour != "never hands back":
		say(initLine, `{"type":"result","subtype":"success","session_id":"s1","result":"handed back: half of it","usage":{}}`)
		return
	case handsBack:
		hang()
	}
	switch behaviour {
	case "does its work":
		say(initLine, workLine, doneLine)
	case "tells its folder":
		dir, _ := unix.Getwd() // that of os looks at PWD
		say(initLine, `{"type":"result","subtype":"success","session_id":"s1","result":"`+dir+" "+os.Getenv("PWD")+`","usage":{}}`)
	case "is refused tools":
		say(initLine, workLine, `{"type":"result","subtype":"success","is_error":false,"session_id":"s1","result":"tried","usage":{},`+
			`"permission_denials":[{"tool_name":"Bash","tool_use_id":"t1"},{"tool_name":"Write","tool_use_id":"t2"},{"tool_name":"Bash","tool_use_id":"t3"}]}`)
	case "passes an error for an answer":
		say(initLine, workLine, `{"type":"result","subtype":"success","is_error":false,"session_id":"s1","result":"API Error: 401 no","usage":{}}`)
	case "dies":
		say(initLine, workLine)
		fmt.Fprintln(os.Stderr, "out of luck")
		os.Exit(3)
	case "is killed":
		say(initLine, workLine)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "hangs", "never hands back":
		say(initLine, workLine)
		hang()
	case "says nothing":
		hang()
	case "says nothing at first":
		if attempt == 1 {
			hang()
		}
		say(initLine, strings.Replace(doneLine, "all of it is done", strings.Join(os.Args[1:], " ")+": "+string(prompt), 1))
	case "floods":
		for {
			say(initLine)
		}
	case "prints a line of 40 MB":
		say(initLine, strings.Repeat("x", 40<<20), workLine, doneLine)
	case "prints garbage":
		say(initLine, "\x00\xff{]", "", `{"type":`, `[1,2]`, doneLine)
	case "prints only garbage":
		say("\x00\xff{]", "not a line of any host")
	case "has no result":
		say(initLine, workLine)
	case "fails once":
		if attempt == 1 {
			say(initLine, failLine)
			os.Exit(1)
		}
		say(
			initLine,
			`{"type":"result","subtype":"success","session_id":"s1","result":"went on with: `+string(prompt)+" "+strings.Join(os.Args[1:], " ")+`","usage":{}}`,
		)
	case "fails always":
		say(initLine, failLine)
		os.Exit(1)
	case "is not let in":
		say(initLine, authLine)
		os.Exit(1)
	case "ignores SIGTERM":
		signal.Ignore(syscall.SIGTERM)
		say(initLine, workLine)
		hang()
	case "stays after its result":
		say(initLine, doneLine)
		hang()
	case "chatters after its result":
		say(initLine, doneLine)
		for {
			say("tick", "{not JSON", `{"type":"system","subtype":"status","session_id":"s1"}`)
			time.Sleep(time.Millisecond)
		}
	case "stays after its last answer":
		say(initLine, strings.Replace(workLine, `"stop_reason":null`, `"stop_reason":"end_turn"`, 1))
		hang()
	case "ends no line":
		fmt.Print(initLine + "\n" + doneLine)
	case "stays within its last line":
		fmt.Print(initLine + "\n" + doneLine)
		hang()
	case "says why in half a line":
		fmt.Print("Invalid API key")
		os.Exit(1)
	case "stays after its last step":
		say(`{"type":"step_start","sessionID":"s1","part":{}}`, `{"type":"text","sessionID":"s1","part":{"type":"text","text":"all of it is done"}}`,
			`{"type":"step_finish","sessionID":"s1","part":{"reason":"stop","cost":0.01,"tokens":{"input":10,"output":5}}}`)
		hang()
	case "prints short lines":
		say(initLine, strings.Repeat("y\n", 30<<20), workLine, doneLine)
	case "fails, then gives its result":
		say(initLine, failLine, doneLine)
	case "gives two results":
		say(initLine, strings.Replace(doneLine, "all of it", "some of it", 1), initLine, workLine, doneLine)
		hang()
	case "says why on stdout":
		say("Invalid API key · Please run /login")
		os.Exit(1)
	case "leaves children", "leaves children and hangs":
		leave(true)
		leave(false)
		say(initLine, workLine)
		if behaviour == "leaves children" {
			say(doneLine)
			return
		}
		hang()
	case "runs in circles":
		say(initLine, workLine)
		for n := 0; ; n++ {
			say(callLine(n, `{"pattern": "x"}`))
			time.Sleep(time.Millisecond)
		}
	case "spends":
		say(initLine, workLine)
		hang()
	case "sleeps":
		hang()
	case "leaves a child without its first thread":
		cmd := exec.Command(os.Args[0])
		cmd.Env = []string{fakeHost + "=ends its first thread"}
		_ = cmd.Start()
		for _, err := os.Stat("child"); err != nil; _, err = os.Stat("child") {
			time.Sleep(time.Millisecond)
		}
		say(initLine, doneLine)
	case "ends its first thread":
		go func() {
			for stat := ""; !strings.Contains(stat, ") Z "); {
				raw, _ := os.ReadFile("/proc/self/stat")
				stat = string(raw)
			}
			_ = os.WriteFile("child.new", []byte(strconv.Itoa(os.Getpid())), 0o600)
			_ = os.Rename("child.new", "child")
			time.Sleep(time.Minute)
			os.Exit(0)
		}()
		_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
	}
}

func say(lines ...string) {
	for _, line := range lines {
		fmt.Println(line)
	}
}

// attempts counts how often the host was started, in the folder it works in.
func attempts() int {
	file, err := os.OpenFile("attempts", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 0
	}
	_, _ = file.WriteString("x")
	info, _ := file.Stat()
	return int(info.Size())
}

// leave starts a process in a session of its own, which even forgets the mark
// where told to, and goes.
func leave(scrubbed bool) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fakeHost+"=sleeps")
	if scrubbed {
		cmd.Env = []string{fakeHost + "=sleeps", "LEFT_BY=" + os.Getenv(core.AgentVariable)}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// A journal records all reports.
type journal struct {
	mu      sync.Mutex
	told    []string
	retries []supervise.Retry
	ends    []supervise.Outcome
	orders  supervise.Directive
	broken  int // so many ends fail first
}

func (j *journal) note(what string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.told) == 0 || j.told[len(j.told)-1] != what {
		j.told = append(j.told, what)
	}
}

func (j *journal) Begin(_ context.Context, by supervise.Process) error {
	j.note("begin")
	if by != supervise.Self() {
		return errors.New("the supervisor does not know itself")
	}
	return nil
}

func (j *journal) Active(context.Context, supervise.Progress) error { j.note("active"); return nil }

func (j *journal) Report(context.Context, supervise.Progress) (supervise.Directive, error) {
	j.note("tell")
	return j.orders, nil
}

func (j *journal) Retry(_ context.Context, r supervise.Retry) error {
	j.note("retry")
	j.retries = append(j.retries, r)
	return nil
}

func (j *journal) End(_ context.Context, o supervise.Outcome) error {
	if j.broken--; j.broken >= 0 {
		return core.Unavailablef(nil, "the disk is full")
	}
	j.note("end")
	j.ends = append(j.ends, o)
	return nil
}

var fast = supervise.Intervals{
	Look: 5 * time.Millisecond, Tell: 20 * time.Millisecond, Grace: 150 * time.Millisecond, Linger: 20 * time.Second,
	HandBack: 30 * time.Second, Retry: 10 * time.Millisecond, Patience: time.Second,
}

// supervisor returns one of a fake host.
func supervisor(t *testing.T, behaviour string, j supervise.Journal) *supervise.Supervisor {
	t.Helper()
	dir := t.TempDir()
	return &supervise.Supervisor{
		Job: supervise.Job{
			ID: "agent-" + filepath.Base(filepath.Dir(dir)), Dir: dir, Cwd: dir, Command: []string{os.Args[0], "first"},
			Env: []string{fakeHost + "=" + behaviour}, Prompt: "do it", Limits: supervise.Limits{Wall: time.Minute},
		},
		Read: transcripts.ClaudeStream.Reader(), Journal: j, Log: slog.New(slog.DiscardHandler), Pace: fast,
	}
}

// supervised runs a fake host under a supervisor and returns what came of it. A process
// has one supervisor at a time, which ends all that the process started.
func supervised(t *testing.T, behaviour string, change func(*supervise.Job, *journal)) (supervise.Outcome, *journal) {
	t.Helper()
	j := &journal{}
	s := supervisor(t, behaviour, j)
	job := &s.Job
	job.Resume, job.RetryPrompt, job.FinalPrompt = []string{os.Args[0], "resumed", "--session=" + supervise.Session}, "go on", "hand back"
	job.Limits.Start, job.Limits.Retries = 20*time.Second, 2
	if change != nil {
		change(job, j)
	}
	switch behaviour { // however long they are given
	case "never hands back":
		s.Pace.HandBack = fast.Grace
	case "stays after its last step":
		s.Read, s.Pace.Linger = transcripts.OpenCodeRun.Reader(), fast.Grace
	case "stays within its last line", "stays after its result", "chatters after its result", "gives two results":
		s.Pace.Linger = fast.Grace
	}
	outcome, err := s.Run(t.Context())
	require.NoError(t, err)
	require.Len(t, j.ends, 1, "the supervisor reports the end once")
	assert.Equal(t, outcome, j.ends[0])
	assert.Equal(t, "end", j.told[len(j.told)-1])
	assert.Empty(t, processes.With(t, core.AgentVariable+"="+job.ID, "LEFT_BY="+job.ID), "processes are left")
	kept, known, err := supervise.LoadOutcome(job.Dir)
	require.NoError(t, err)
	assert.True(t, known)
	assert.Equal(t, outcome, kept)
	return outcome, j
}

func TestAnAgentEnds(t *testing.T) {
	const half, whole, handed, failed = "half of it is done", "all of it is done", "handed back: half of it", "ended with an error"
	idle := supervise.Limits{Idle: 3 * time.Second}
	told := supervise.Directive{Stop: core.AgentCancelled, Reason: "the user said so"}
	for name, tt := range map[string]struct {
		limits supervise.Limits
		orders supervise.Directive
		state  core.AgentState
		reason string // in the stop reason
		text   string
		error  string // in the error
	}{
		"does its work":                 {state: core.AgentCompleted, reason: "done", text: whole},
		"dies":                          {state: core.AgentError, reason: "status 3", text: half, error: "out of luck"},
		"is killed":                     {state: core.AgentError, reason: "killed", text: half},
		"has no result":                 {state: core.AgentError, reason: "status 0 and no result", text: half},
		"prints only garbage":           {state: core.AgentError, reason: "status 0 and no result"},
		"prints garbage":                {state: core.AgentCompleted, reason: "done", text: whole},
		"is not let in":                 {state: core.AgentError, reason: failed, error: "401"},
		"fails always":                  {state: core.AgentError, reason: failed, error: "529"},
		"prints a line of 40 MB":        {state: core.AgentCompleted, reason: "done", text: whole},
		"stays after its result":        {state: core.AgentCompleted, reason: "did not exit", text: whole},
		"leaves children":               {state: core.AgentCompleted, reason: "done", text: whole},
		"hangs":                         {limits: idle, state: core.AgentTimeout, reason: "nothing came for 3 s", text: handed},
		"never hands back":              {limits: idle, state: core.AgentTimeout, reason: "nothing came for 3 s", text: half},
		"passes an error for an answer": {state: core.AgentError, reason: failed, error: "401"},
		"stays after its last step":     {state: core.AgentCompleted, reason: "did not exit", text: whole},
		"chatters after its result":     {state: core.AgentCompleted, reason: "did not exit", text: "all of it is done"},
		"fails, then gives its result":  {state: core.AgentCompleted, text: "all of it is done"},
		"gives two results":             {state: core.AgentCompleted, reason: "did not exit", text: "all of it is done"},
		"stays after its last answer":   {limits: supervise.Limits{Wall: 2 * time.Second}, state: core.AgentCompleted, reason: "done; it took over", text: half},
		"says why on stdout":            {state: core.AgentError, reason: "status 1", error: "Invalid API key"},
		"ends no line":                  {state: core.AgentCompleted, reason: "done", text: whole},
		"stays within its last line":    {state: core.AgentCompleted, reason: "did not exit", text: whole},
		"says why in half a line":       {state: core.AgentError, reason: "status 1", error: "Invalid API key"},
		"says nothing":                  {limits: supervise.Limits{Start: 100 * time.Millisecond}, state: core.AgentTimeout, reason: "no line came within 100 ms"},
		"floods":                        {limits: supervise.Limits{Output: 1 << 20}, state: core.AgentError, reason: "printed more"},
		"ignores SIGTERM":               {limits: supervise.Limits{Wall: 5 * time.Second}, state: core.AgentTimeout, reason: "it took over", text: half},
		"leaves children and hangs":     {orders: told, state: core.AgentCancelled, reason: "the user said so"},
		"runs in circles":               {limits: supervise.Limits{SameCalls: 20}, state: core.AgentError, reason: "loop", text: handed},
		"spends":                        {limits: supervise.Limits{Tokens: 120}, state: core.AgentError, reason: "token budget", text: handed},
	} {
		t.Run(name, func(t *testing.T) {
			got, j := supervised(t, name, func(job *supervise.Job, j *journal) {
				limits := job.Limits
				job.Limits, j.orders = limits.Within(tt.limits), tt.orders
				if tt.limits.Wall > 0 {
					job.FinalPrompt = ""
				}
			})
			assert.Equal(t, tt.state, got.State, got.Reason)
			assert.Contains(t, got.Reason, tt.reason)
			if tt.text != "" {
				assert.Equal(t, tt.text, got.Text)
			}
			assert.Contains(t, got.Error, tt.error)
			assert.Equal(t, tt.state != core.AgentCompleted, got.Partial)
			assert.Equal(t, "begin", j.told[0])
			wants := map[string]int{"fails always": 2, "says nothing": 1}[name] // a wrong key is no reason for another attempt
			assert.Len(t, j.retries, wants)
			assert.Equal(t, wants, got.Attempt)
		})
	}
}

func TestAHostThatHangsAsItBeginsIsStartedOnceMore(t *testing.T) {
	got, j := supervised(t, "says nothing at first", func(job *supervise.Job, _ *journal) { job.Limits.Start = 5 * time.Second })
	assert.Equal(t, core.AgentCompleted, got.State, got.Reason)
	assert.Equal(t, "first: do it", got.Text)
	require.Len(t, j.retries, 1)
	assert.Equal(t, "no line came within 5 s", j.retries[0].Reason)
}

func TestMillionsOfPlainLinesTakeNoTime(t *testing.T) {
	got, _ := supervised(t, "prints short lines", func(job *supervise.Job, _ *journal) { job.Limits.Wall = 20 * time.Second })
	assert.Equal(t, "done", got.Reason, "all were read within its time")
	assert.Equal(t, "all of it is done", got.Text)
}

// TestUsageAndSessionAreKept also has a journal that cannot be written at first, and a session that
// had cost something before.
func TestUsageAndSessionAreKept(t *testing.T) {
	got, j := supervised(t, "does its work", func(job *supervise.Job, j *journal) { job.SpentUSD, j.broken = 0.3, 3 })
	assert.Len(t, j.ends, 1)
	assert.Equal(t, "s1", got.Session)
	assert.Equal(t, int64(200), got.Usage.TokensIn, "the usage at the end of a turn replaces the sum of its answers")
	assert.Equal(t, int64(50), got.Usage.TokensOut)
	assert.Equal(t, int64(30), got.Thinking)
	assert.InDelta(t, 0.2, got.Cost(), 1e-9)
	assert.InDelta(t, 0.5, got.SessionUSD, 1e-9)
}

func TestAHandoffMayExtendTheTimeLimit(t *testing.T) {
	var until core.Millis
	got, _ := supervised(t, "hangs", func(j *supervise.Job, on *journal) {
		j.Limits.Wall, j.FinalPrompt = 2*time.Second, "" // by then it has asked for orders, however busy the machine is
		until = core.MillisOf(time.Now().Add(2500 * time.Millisecond))
		on.orders = supervise.Directive{Until: until}
	})
	assert.Equal(t, core.AgentTimeout, got.State)
	assert.GreaterOrEqual(t, got.EndedAt, until)
}

func TestRefusedToolsAreReported(t *testing.T) {
	got, _ := supervised(t, "is refused tools", nil)
	assert.Equal(t, core.AgentCompleted, got.State)
	assert.Equal(t, []string{"Bash", "Write"}, got.Refused)
}

func TestTheHostFindsItselfInItsFolder(t *testing.T) {
	got, _ := supervised(t, "tells its folder", nil)
	here, folder, _ := strings.Cut(got.Text, " ")
	assert.NotEmpty(t, here)
	assert.Equal(t, here, folder, "PWD and the working folder agree")
}

func TestTransientErrorsAreRetriedInTheSameSession(t *testing.T) {
	got, j := supervised(t, "fails once", nil)
	assert.Equal(t, core.AgentCompleted, got.State)
	assert.Equal(t, "went on with: go on resumed --session=s1", got.Text)
	require.Len(t, j.retries, 1)
	assert.Equal(t, 1, j.retries[0].Attempt)
	assert.Contains(t, j.retries[0].Reason, "529")
}

func TestAMissingProgramEndsTheAgent(t *testing.T) {
	got, _ := supervised(t, "", func(j *supervise.Job, _ *journal) { j.Command = []string{"/nowhere/host"} })
	assert.Equal(t, core.AgentError, got.State)
	assert.Contains(t, got.Reason, "does not exist")
}

func TestProcessesOfAYoungAgentAreRecordedAtOnce(t *testing.T) {
	s := supervisor(t, "leaves children and hangs", &journal{})
	s.Pace.Tell, s.Job.Limits.Idle, s.Job.Command = time.Hour, 3*time.Second, s.Job.Command[:1]
	_, err := s.Run(t.Context())
	require.NoError(t, err)
	raw, err := os.ReadFile(filepath.Join(s.Job.Dir, "family.json"))
	require.NoError(t, err)
	var noted []struct{ Command string }
	require.NoError(t, json.Unmarshal(raw, &noted))
	require.Len(t, noted, 3, "the host and the process that it left are gone")
	for _, p := range noted {
		assert.Equal(t, os.Args[0], p.Command)
	}
}

// cancelling is a journal of somebody who calls the agent off at its first words.
type cancelling struct {
	journal
	cancel func()
}

func (c *cancelling) Report(ctx context.Context, p supervise.Progress) (supervise.Directive, error) {
	if p.Text != "" {
		c.cancel()
	}
	return c.journal.Report(ctx, p)
}

func TestACancelledContextEndsTheAgent(t *testing.T) {
	for behaviour, want := range map[string]supervise.Outcome{
		"hangs":                  {State: core.AgentCancelled, Text: "half of it is done"},
		"stays after its result": {State: core.AgentCompleted, Text: "all of it is done"}, // a result that has come counts
	} {
		t.Run(behaviour, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s := supervisor(t, behaviour, &cancelling{cancel: cancel})
			got, err := s.Run(ctx)
			require.NoError(t, err)
			assert.Equal(t, want.State, got.State)
			assert.Equal(t, want.Text, got.Text)
			assert.Empty(t, processes.With(t, core.AgentVariable+"="+s.Job.ID))
		})
	}
}
