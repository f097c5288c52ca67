package tests

import (
	"bufio"
	"cmp"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/effort"
)

func TestAFrontOnOddMachines(t *testing.T) {
	t.Parallel()
	adds := func(variable string) func(f *fronted) { return func(f *fronted) { f.env = append(f.env, variable) } }
	claude := func(text string) func(f *fronted) {
		return func(f *fronted) { f.write(filepath.Join(f.bin, "claude"), text) }
	}
	const unwritten = "[flame] the project's data cannot be written"
	tests := map[string]struct {
		change func(f *fronted)
		line   string // -p if empty
		code   int    // 5: the program's own
		behind bool   // a gateway
		says   string // on stderr; empty: nothing
	}{
		"FLAME_OFF":            {change: adds("FLAME_OFF=1"), code: 5, says: "flame is off here"},
		"flame off":            {change: func(f *fronted) { f.flame("", "off") }, line: "--meter -p", code: 5, says: "flame is off here"},
		"the client's command": {line: "mcp list", code: 5},
		"a background session": {line: "--bg do", code: 5, says: "continues without flame's gateway"},
		"no claude": {
			change: func(f *fronted) { require.NoError(f.t, os.Remove(filepath.Join(f.bin, "claude"))) }, code: 1,
			says: `claude-code is not installed: no "claude" on PATH`,
		},
		"no home":    {change: func(f *fronted) { f.env = f.env[1:] }, code: 5, behind: true, says: unwritten + ", so nothing is folded or counted"},
		"Bedrock":    {change: adds("CLAUDE_CODE_USE_BEDROCK=1"), code: 1, says: "hint: use plain `claude` here"},
		"a bad fold": {change: adds("FLAME_GATEWAY_FOLD=much"), code: 5, behind: true, says: "[flame] FLAME_GATEWAY_FOLD="},
		"no place for data": {
			change: func(f *fronted) { f.write(filepath.Join(f.home, ".local", "share", "flame"), "a file") }, code: 5, behind: true, says: unwritten,
		},
		"a project that cannot be written": {change: func(f *fronted) { require.NoError(f.t, os.Chmod(f.project, 0o555)) }, code: 5, behind: true},
		"a claude that is flame": {
			change: claude("#!/bin/sh\n'" + flameBinary(t) + "' claude \"$@\"\n"), code: 1, says: "the claude on PATH seems to start flame again",
		},
		"a program that cannot run": {change: claude("#!/nonexistent\n"), code: 1, says: "flame: "},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFronted(t, tells+`echo "$ANTHROPIC_BASE_URL$FLAME_GATEWAY" >$TOP/asks; exit 5`)
			if tt.change != nil {
				tt.change(f)
			}
			out, errs, code := f.run(append([]string{"claude"}, strings.Fields(cmp.Or(tt.line, "-p"))...)...)
			assert.Equal(t, tt.code, code, errs)
			assert.Empty(t, out)
			if tt.says == "" {
				assert.Empty(t, errs)
			} else {
				assert.Contains(t, errs, tt.says)
			}
			assert.Empty(t, f.folders())
			switch {
			case tt.behind:
				assert.Regexp(t, `^http://127\.0\.0\.1:\d+/\w{26}$`, f.base(f.text("settings")))
			case code == 5:
				assert.Equal(t, f.upstream.URL+"\n", f.text("asks"), "without a gateway")
			}
		})
	}
}

func TestAGatewayByHand(t *testing.T) {
	t.Parallel()
	f := newFronted(t, "")
	cmd := f.command("gateway", "--upstream", f.upstream.URL+"/below")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())
	base, told := strings.CutPrefix(lines.Text(), "ANTHROPIC_BASE_URL=")
	require.True(t, told, lines.Text())
	assert.Equal(t, "from the model", get(t, base+"/v1/models"))
	assert.Equal(t, "/below/v1/models", (<-f.seen).URL.Path)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	assert.False(t, lines.Scan())
	assert.NoError(t, endsSoon(t, cmd))
	f.free(base)
	for _, wrong := range []string{"file:///etc", "example.com", "http://"} {
		_, errs, code := f.run("gateway", "--upstream", wrong)
		assert.Equal(t, 1, code)
		assert.Contains(t, errs, "base URL of the model's API", wrong)
	}
}

func TestASignalEndsTheWaitForAGateway(t *testing.T) {
	t.Parallel()
	effort.Heavy(t)
	onLinux(t)
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			f := newFronted(t, tells+`read line; exit 7`)
			cmd, end, _ := f.begin("claude")
			f.text("pid")
			gateway := gatewayOf(t, cmd.Process.Pid)
			require.NoError(t, syscall.Kill(gateway, syscall.SIGSTOP))
			t.Cleanup(func() { _ = syscall.Kill(gateway, syscall.SIGKILL) })
			end()
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = cmd.Wait() // the test checks the state below
			}()
			program, err := strconv.Atoi(strings.TrimSpace(f.text("pid")))
			require.NoError(t, err)
			require.Eventually(t, func() bool {
				if syscall.Kill(program, 0) == nil {
					return false
				}
				_ = cmd.Process.Signal(s) // the process may have ended
				select {
				case <-ended:
					return true
				default:
					return false
				}
			}, soon, 5*time.Millisecond)
			assert.NoError(t, syscall.Kill(gateway, 0), "flame did not wait for it")
			assert.Equal(t, 7, cmd.ProcessState.ExitCode())
			assert.Empty(t, f.folders())
		})
	}
}

func TestAFrontInsideOfAnotherUsesItsUpstream(t *testing.T) {
	t.Parallel()
	effort.Heavy(t)
	f := newFronted(t, `case "$3" in
	inner) `+tells+`read line;;
	*) cp "$2" $TOP/outer
	   eval "$(sed 's/.*"ANTHROPIC_BASE_URL":"\([^"]*\)".*"FLAME_GATEWAY":"\([^"]*\)".*/export ANTHROPIC_BASE_URL=\1 FLAME_GATEWAY=\2/' $TOP/outer)"
	   exec '`+flameBinary(t)+`' claude inner;;
	esac; exit 0`)
	cmd, end, _ := f.begin("claude", "outer")
	text := f.text("settings")
	assert.NotEqual(t, f.base(f.text("outer")), f.base(text))
	require.Len(t, f.folders(), 2)
	var found int
	for _, folder := range f.folders() {
		raw, err := os.ReadFile(filepath.Join(folder, "address.json"))
		require.NoError(t, err)
		if strings.Contains(string(raw), `"upstream":"`+f.upstream.URL+`"`) {
			found++
		}
	}
	assert.Equal(t, 2, found, "no chain")
	assert.Equal(t, "from the model", get(t, f.base(text)+"/v1/models"))
	assert.Equal(t, http.MethodGet, (<-f.seen).Method)
	end()
	assert.NoError(t, endsSoon(t, cmd))
}

func TestAGatewayGetsItsVariables(t *testing.T) {
	t.Parallel()
	effort.Heavy(t)
	onLinux(t)
	f := newFronted(t, tells+`read line; exit 0`)
	f.env = append(f.env, "SSL_CERT_DIR=/mine", "FLAME_GATEWAY_FOLD=edit")
	f.write(filepath.Join(f.home, ".claude", "settings.json"), `{"env":{"HTTPS_PROXY":"http://theirs:1"}}`)
	f.write(filepath.Join(f.project, ".claude", "settings.json"), `{"env":{"HTTPS_PROXY":"http://evil:1","NODE_EXTRA_CA_CERTS":"/evil.pem"}}`)
	cmd, end, errs := f.begin("claude", "--meter", "-p", "--meter")
	environ := func(pid int) []string {
		raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
		require.NoError(t, err)
		return strings.Split(string(raw), "\x00")
	}
	told := environ(gatewayOf(t, cmd.Process.Pid))
	base := f.base(f.text("settings"))
	for _, variable := range []string{
		"HTTPS_PROXY=http://theirs:1", "SSL_CERT_DIR=/mine", "NODE_EXTRA_CA_CERTS=", "FLAME_GATEWAY_FOLD=off",
		"FLAME_GATEWAY_UPSTREAM=" + f.upstream.URL, "FLAME_GATEWAY_SECRET=" + filepath.Base(base),
	} {
		assert.Contains(t, told, variable)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(f.text("pid")))
	require.NoError(t, err)
	for _, variable := range environ(pid) {
		assert.NotContains(t, variable, filepath.Base(base))
		assert.NotContains(t, variable, "evil")
	}
	assert.Regexp(t, `(?s)^--settings\n.*\n-p\n--meter\n$`, f.text("args"))
	assert.Contains(t, f.text("settings"), `"NO_PROXY":"127.0.0.1"`)
	end()
	assert.NoError(t, endsSoon(t, cmd))
	assert.Empty(t, errs.String())
}
