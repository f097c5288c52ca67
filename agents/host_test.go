package agents_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
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
	"syscall"
	"testing"
	"time"

	"flame/agents"
	"flame/agents/plan"
	"flame/agents/supervise"
	"flame/core"
	"flame/hosts"
	"flame/project"
)

// TestMain lets the test binary also be what agents need of others: `supervise` is
// flame, `host` a host that does what its prompt says.
func TestMain(m *testing.M) {
	args := append(os.Args[1:], "", "")
	switch args[0] {
	case "supervise":
		exit(superviseAs(args[1], args[2]))
	case "recover":
		exit(recoverIn(args[1]))
	case "host":
		act(args[1])
	case "sleep":
		time.Sleep(time.Minute)
	default:
		// With the race detector each process would stay for a second after its end.
		exit(os.Setenv("GORACE", "atexit_sleep_ms=0"))
		// Tests wait for other processes most of the time.
		exit(flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0))))
		os.Exit(m.Run())
	}
}

// exit ends the process with status 1 where there is an error.
func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A fakeHost runs the test binary, which prints what Claude Code does.
type fakeHost struct{ hosts.Setup }

// launchFile, in an agent's folder, is how its host was to be started last.
const launchFile = "launch.json"

// Launch returns the host what it has to work with as arguments, and leaves them for
// tests to read.
func (fakeHost) Launch(c hosts.LaunchSpec) (hosts.Launch, error) {
	if strings.Contains(c.Prompt, "unlaunchable") {
		return hosts.Launch{}, core.Invalidf("there is no way to run that")
	}
	program, err := os.Executable()
	if err != nil {
		return hosts.Launch{}, err
	}
	launch := hosts.Launch{Command: []string{program, "host", c.Session, string(c.Mode), c.Tools.String(), c.Title, c.System}, Stdin: c.Prompt}
	launch.Env = []string{"TRUSTED=" + strings.Join(c.Trusted, " ")}
	if c.Session == supervise.Session {
		return launch, nil // how it would go on
	}
	raw, err := json.Marshal(launch)
	if err != nil {
		return launch, err
	}
	file := filepath.Join(c.Dir, launchFile)
	written := fmt.Sprint(file, ".", os.Getpid()) // and renamed: tests read it meanwhile
	return launch, errors.Join(os.WriteFile(written, raw, 0o600), os.Rename(written, file))
}

// act performs the steps in the prompt's first paragraph, one after the
// other.
func act(session string) {
	prompt, _ := io.ReadAll(os.Stdin)
	first, _, _ := strings.Cut(string(prompt), "\n\n")
	h := acting{session: session}
	h.print(map[string]any{"type": "system", "subtype": "init", "model": "m", "tools": []string{"Read"}})
	switch {
	case strings.HasPrefix(first, "You have reached a limit"):
		first = "done handed back"
	case strings.HasPrefix(first, "The model could not be reached"):
		first = "done went on"
	}
	for step := range strings.SplitSeq(first, "; ") {
		verb, object, _ := strings.Cut(step, " ")
		h.do(verb, object)
	}
}

// An acting is a session of the fake host.
type acting struct {
	session string
	lines   int
}

func (h *acting) print(line map[string]any) {
	line["session_id"] = h.session
	raw, _ := json.Marshal(line)
	fmt.Println(string(raw))
}

// say prints an answer of the model, of so many tokens.
func (h *acting) say(tokens int, parts ...map[string]any) {
	h.lines++
	h.print(map[string]any{"type": "assistant", "message": map[string]any{
		"id": fmt.Sprintf("m%d", h.lines), "model": "m", "usage": map[string]any{"input_tokens": tokens}, "content": parts,
	}})
}

func (h *acting) result(fields map[string]any) {
	fields["type"], fields["subtype"], fields["usage"] = "result", "success", map[string]any{}
	h.print(fields)
}

func (h *acting) do(verb, object string) {
	switch verb {
	case "say":
		h.say(1, map[string]any{"type": "text", "text": object})
	case "use":
		tokens, _ := strconv.Atoi(object)
		h.say(tokens, map[string]any{"type": "text", "text": "used " + object})
	case "edit", "fail-to-edit":
		h.edit(object, verb != "edit")
	case "write":
		_ = os.WriteFile(object, []byte("written\n"), 0o600)
	case "append":
		file, err := os.OpenFile(object, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		exit(err)
		_, err = file.WriteString("more\n")
		exit(err)
	case "cat":
		raw, _ := os.ReadFile(object)
		_, _ = os.Stdout.Write(raw)
	case "remove":
		_ = os.Remove(object)
	case "wait":
		for _, err := os.Stat(object); err != nil; _, err = os.Stat(object) {
			time.Sleep(5 * time.Millisecond)
		}
	case "leave":
		cmd := exec.Command(os.Args[0], "sleep")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if object != "" { // it forgets whose it is, and tells its pid in this file
			cmd.Env = []string{"NOTHING=1"}
		}
		_ = cmd.Start()
		if object != "" {
			_ = os.WriteFile(object, []byte(strconv.Itoa(cmd.Process.Pid)), 0o600)
		}
	case "escape": // a process that leaves session, parents and environment behind, and sleeps so long
		exit(exec.Command("setsid", "-f", "env", "-i", "sleep", object).Run())
	case "delegate":
		exit(delegate(h.session, strings.ReplaceAll(object, " | ", "; ")))
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
	case "cost":
		usd, _ := strconv.ParseFloat(object, 64)
		h.result(map[string]any{"result": "cost " + object, "total_cost_usd": usd, "modelUsage": map[string]any{"m": map[string]any{}}})
	case "done":
		h.result(map[string]any{"result": object})
	case "fail":
		h.result(map[string]any{"result": object, "is_error": true})
		os.Exit(1)
	case "exit":
		status, _ := strconv.Atoi(object)
		os.Exit(status)
	case "hang":
		time.Sleep(10 * time.Minute)
	}
}

// delegate starts an agent below the one that this process works for.
func delegate(session, steps string) error {
	a, err := another(filepath.Join(os.Getenv("FLAME_PROJECT_DIR"), dataFolder))
	if err != nil {
		return err
	}
	by := project.Caller{Session: session, Host: "claude-code", Agent: os.Getenv(core.AgentVariable), Trust: project.TrustHook}
	_, err = a.Spawn(context.Background(), by, plan.Request{Type: "builder", Prompt: steps})
	return err
}

// edit prints the call that changes a file, and how that went.
func (h *acting) edit(path string, failed bool) {
	call := fmt.Sprintf("t%d", h.lines)
	h.say(1, map[string]any{"type": "tool_use", "id": call, "name": "Edit", "input": map[string]any{"file_path": path, "old_string": "a", "new_string": "b"}})
	h.print(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": []map[string]any{
		{"type": "tool_result", "tool_use_id": call, "is_error": failed, "content": cmp.Or(map[bool]string{true: "no such text"}[failed], "ok")},
	}}})
}

// kept is what the processes of one test share beside the store.
type kept struct {
	Bounds plan.TreeLimits
	Keep   bool
}

const (
	keptFile   = "test.json"
	dataFolder = ".data" // in the project, where these tests keep it
)

// superviseAs is `flame supervise`.
func superviseAs(first, second string) error {
	a, err := another(filepath.Join(os.Getenv("FLAME_PROJECT_DIR"), dataFolder))
	if err != nil {
		return err
	}
	if first == "--detach" {
		process, err := supervise.StartKeeper(a.SupervisorSpec(second, a.Dir))
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(process)
	}
	if first == "--keep" {
		return supervise.RunKeeper(a.SupervisorSpec(second, a.Dir))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	return a.Supervise(ctx, first, slog.New(slog.NewJSONHandler(os.Stderr, nil)))
}

// recoverIn recovers agents as each process of flame does from time to time.
func recoverIn(data string) error {
	a, err := another(data)
	if err != nil {
		return err
	}
	return a.Recover(context.Background())
}

// another is the service as one more process of flame has it.
func another(data string) (*agents.Agents, error) {
	var shared kept
	raw, err := os.ReadFile(filepath.Join(data, keptFile))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &shared); err != nil {
		return nil, err
	}
	return newAgents(data, shared)
}
