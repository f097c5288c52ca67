package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
)

// reaches has the machine reach a remote by a program in place of ssh, which never answers the
// named command of git and runs all others.
func (m machine) reaches(remote, never string) {
	m.Helper()
	gitSays(m.T, m.checkout, "remote", "set-url", "origin", "ssh://git@remote.test"+remote)
	ssh := filepath.Join(m.home, "reach")
	text := "#!/bin/sh\nfor last; do :; done\ncase \"$last\" in " + never + ") echo $$ > " + m.home + "/hangs.new; mv " + m.home + "/hangs.new " + m.home +
		"/hangs; exec sleep 1000;; esac\nexec sh -c \"$last\"\n"
	require.NoError(m, os.WriteFile(ssh, []byte(text), 0o700))
	require.NoError(m, os.WriteFile(filepath.Join(m.home, ".gitconfig"), []byte("[core]\n\tsshCommand = "+ssh+"\n"), 0o600))
}

// hangs waits until git hangs, and returns its process.
func (m machine) hangs() (pid int) {
	m.Helper()
	var told []byte
	require.Eventually(m, func() (hangs bool) {
		var err error
		told, err = os.ReadFile(filepath.Join(m.home, "hangs"))
		return err == nil
	}, hubPatience, 20*time.Millisecond)
	pid, err := strconv.Atoi(strings.TrimSpace(string(told)))
	require.NoError(m, err)
	return pid
}

// hasEnded reports whether a process has ended, even if its parent has not waited for it.
func hasEnded(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(stat), ") Z ") || syscall.Kill(pid, 0) != nil
}

func TestAgentsEndDespiteAHangingGit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		never string // what the worker's remote never answers
		stop  func(desk machine, id string, worker *exec.Cmd)
		state core.AgentState
	}{
		"a cancelled agent before its start": {
			"git-upload-pack*", func(desk machine, id string, _ *exec.Cmd) { desk.flame("agents", "cancel", id) }, core.AgentCancelled,
		},
		"an agent before its start, with a stopped worker": {
			"git-upload-pack*", func(_ machine, _ string, worker *exec.Cmd) {
				require.NoError(t, worker.Process.Signal(syscall.SIGTERM))
			}, core.AgentCancelled,
		},
		"a completed agent with pushed changes": {
			"git-receive-pack*", func(desk machine, id string, _ *exec.Cmd) { desk.flame("agents", "cancel", id) }, core.AgentCompleted,
		},
		"a completed agent with a stopped worker": {
			"git-receive-pack*", func(_ machine, _ string, worker *exec.Cmd) {
				require.NoError(t, worker.Process.Signal(syscall.SIGTERM))
			}, core.AgentCompleted,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			desk, box, _ := two(t)
			remote := filepath.Join(t.TempDir(), "project.git")
			gitSays(t, desk.checkout, "init", "-q", "--bare", "--template=", remote)
			desk.reaches(remote, "nothing")
			box.reaches(remote, tt.never)
			worker := box.worker()
			id := desk.away("make the file")
			git := box.hangs()
			tt.stop(desk, id, worker)
			began := time.Now()
			run := desk.until(id, ended)
			t.Logf("ended after %v", time.Since(began))
			assert.Equal(t, tt.state, run.State, "%+v", run.Outcome)
			require.Eventually(t, func() bool { return hasEnded(git) }, hubPatience, 20*time.Millisecond, "git goes on")
			patch := filepath.Join(dataOf(t, desk), "agents", id, "changes.patch")
			if tt.state == core.AgentCompleted {
				require.Len(t, run.Changes, 1)
				gitSays(t, desk.checkout, "apply", "--check", patch)
			} else {
				assert.NoFileExists(t, patch)
				assert.NotContains(t, box.flame("agents", "runs"), "make the file", "nothing is left of it")
			}
		})
	}
}
