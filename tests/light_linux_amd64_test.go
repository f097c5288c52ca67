package tests

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/effort"
	"flame/tests/trace"
)

// A weight bounds the resources that a process may use.
type weight struct {
	faults int            // page faults: 60 % of a hook's time is the kernel's, most of it for these
	peak   int            // memory, in KB
	calls  map[string]int // by kind
}

// weights bound the processes that hosts start often and wait for. The bounds of faults and memory
// are a tenth above the values of a quiet machine, because a busy one starts more threads. A
// change that needs more says so here, and in its commit.
var weights = []struct {
	what   string
	args   []string
	event  string // on stdin
	answer string // its output contains this
	weight
}{
	{"flame --version", []string{"--version"}, "", "flame ", weight{
		715, 14700, map[string]int{"lock": 6, "open": 5, "read": 8, "readlink": 1, "thread": 8, "write": 6},
	}},
	{"a hook that needs no store", hookArgs, flameCalled, `"session_id":"s"`, weight{
		756, 15540, map[string]int{"lock": 6, "open": 7, "read": 12, "readlink": 1, "stat": 32, "thread": 6, "write": 6},
	}},
	{"a hook that reads", hookArgs, flameCalledInChild, `"agent_id":"child"`, weight{
		850, 17970, map[string]int{"lock": 34, "open": 15, "read": 52, "readlink": 1, "stat": 68, "thread": 6, "write": 16},
	}},
	{"a hook that writes", hookArgs, fileWritten, "", weight{
		1040, 18660, map[string]int{"lock": 39, "open": 17, "read": 52, "readlink": 1, "stat": 76, "sync": 2, "thread": 6, "write": 58},
	}},
	{"the hook of a prompt", hookArgs, laterPrompt, "", weight{
		1110, 19140, map[string]int{"lock": 49, "open": 18, "read": 74, "readlink": 2, "stat": 73, "sync": 2, "thread": 6, "write": 30},
	}},
}

var hookArgs = []string{"hook", "claude-code"}

// Events of Claude Code, in the folder DIR; RUN is the number of the run.
var (
	firstPrompt        = eventOf("UserPromptSubmit", `"prompt_id": "p0", "prompt": "Fix the login"`)
	laterPrompt        = eventOf("UserPromptSubmit", `"prompt_id": "RUN", "prompt": "Now split the parser from the cache, step RUN."`)
	flameCalled        = eventOf("PreToolUse", flameCall)
	flameCalledInChild = eventOf("PreToolUse", `"agent_id": "child", `+flameCall)
	fileWritten        = eventOf("PostToolUse", `"tool_use_id": "RUN", "tool_name": "Write", "tool_input": {"file_path": "DIR/RUN.go", "content": "x"},
		"tool_response": {"type": "create", "filePath": "DIR/RUN.go", "content": "x", "structuredPatch": []}`)
)

const flameCall = `"tool_use_id": "RUN", "tool_name": "mcp__plugin_flame_flame__flame_add_decision", "tool_input": {"decision": "d"}`

func eventOf(name, fields string) string {
	return fmt.Sprintf(`{"hook_event_name": %q, "session_id": "s", "cwd": "DIR", %s}`, name, fields)
}

// TestProcessesOfHostsAreLight takes the minimum of several runs of each, because chance only
// adds. No other test of this package runs at the same time. It compiles flame once more, as releases
// are, and other kernels map a different amount of a file with each fault: so it is a heavy test.
func TestProcessesOfHostsAreLight(t *testing.T) {
	effort.Heavy(t)
	flame := releasedBinary(t)
	home, dir := below(t, "/tmp"), below(t, "/tmp") // because flame searches the folders above, too
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".git"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".git", "HEAD"), []byte(headOfMain), 0o600))
	run := func(event string, n int, args ...string) (trace.Counts, string) {
		var out strings.Builder
		cmd := exec.Command(flame, args...)
		cmd.Dir, cmd.Env, cmd.Stdout = dir, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, &out
		cmd.Stdin = strings.NewReader(strings.NewReplacer("DIR", dir, "RUN", fmt.Sprint("run", n)).Replace(event))
		counts, err := trace.Run(cmd)
		if errors.Is(err, syscall.EPERM) {
			effort.Lacks(t, fmt.Errorf("no process may be traced here: %w", err))
		}
		require.NoError(t, err)
		return counts, out.String()
	}
	run(firstPrompt, 0, hookArgs...)
	run(flameCalled, 0, hookArgs...) // makes the key of stamps, which later hooks read
	n := 0
	for _, w := range weights {
		least := trace.Counts{Faults: 1 << 30, Peak: 1 << 30, Calls: map[string]int{}}
		for range 7 {
			n++
			counts, out := run(w.event, n, w.args...)
			assert.Contains(t, out, w.answer, w.what)
			if counts.Peak > 0 { // one that another of its threads ended may leave no figures
				least = lesser(least, counts)
			}
		}
		t.Logf("%s: %+v", w.what, least)
		assert.LessOrEqual(t, least.Faults, w.faults, "%s: page faults", w.what)
		assert.LessOrEqual(t, least.Peak, w.peak, "%s: KB of memory", w.what)
		for _, kind := range slices.Sorted(maps.Keys(least.Calls)) {
			assert.LessOrEqual(t, least.Calls[kind], w.calls[kind], "%s: system calls: %s", w.what, kind)
		}
	}
}

// below returns a new folder in dir.
func below(t *testing.T, dir string) string {
	made, err := os.MkdirTemp(dir, "flame-light-")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(made)) })
	return made
}

// lesser returns the lesser of each count.
func lesser(a, b trace.Counts) trace.Counts {
	for kind, n := range b.Calls {
		if least, counted := a.Calls[kind]; !counted || n < least {
			a.Calls[kind] = n
		}
	}
	return trace.Counts{Faults: min(a.Faults, b.Faults), Peak: min(a.Peak, b.Peak), Calls: a.Calls}
}

// releasedBinary returns the path of flame as releases are built.
func releasedBinary(t *testing.T) string {
	file := filepath.Join(t.TempDir(), "flame")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-buildvcs=false", "-o", file, ".")
	cmd.Dir, cmd.Env = "..", append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return file
}
