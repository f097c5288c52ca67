package app_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/cli/app"
	"flame/core"
	"flame/local/place"
	"flame/tests/hoststest"
)

// program writes a script to a file and returns its path.
func program(t *testing.T, file, script string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte("#!/bin/sh\n"+script), 0o755))
	return file
}

// recorder is a program that writes its arguments to a file, each in brackets.
func recorder(t *testing.T, dir, file string) string {
	t.Helper()
	return program(t, filepath.Join(dir, "recorder"), `printf '[%s]' "$@" > `+file+`.new; pwd >> `+file+`.new; mv `+file+`.new `+file+"\n")
}

func TestAProgramGetsHarmlessWords(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "told")
	text := "$(touch " + dir + "/x) `touch " + dir + "/x`;\nsecond\x1b[31m\x00 \u202eline " + strings.Repeat("y", 500)
	require.NoError(t, app.Notify(t.Context(), recorder(t, dir, file), []string{"agent-ended", text, "--help"}, time.Minute))
	told, err := os.ReadFile(file)
	require.NoError(t, err)
	home, err := os.UserHomeDir()
	require.NoError(t, err)
	want := "[agent-ended][$(touch " + dir + "/x) `touch " + dir + "/x`; second[31m line yyy"
	assert.True(t, strings.HasPrefix(string(told), want), "%q", told)
	assert.True(t, strings.HasSuffix(string(told), "y…][…--help]"+home+"\n"), "%q", told)
	assert.NoFileExists(t, filepath.Join(dir, "x"))
}

func TestAProgramThatTakesTooLongIsKilledWithItsGroup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	slow := program(t, filepath.Join(dir, "slow"), "(sleep 300; touch "+dir+"/late) &\necho $! > "+dir+"/pid\nwait\n")
	begun := time.Now()
	err := app.Notify(t.Context(), slow, nil, 5*time.Second)
	require.ErrorContains(t, err, "was killed after 5s")
	assert.Less(t, time.Since(begun), time.Minute)
	raw, err := os.ReadFile(filepath.Join(dir, "pid"))
	require.NoError(t, err)
	pid := strings.TrimSpace(string(raw))
	assert.Eventually(t, func() bool {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	}, time.Minute, 10*time.Millisecond)

	require.ErrorContains(t, app.Notify(t.Context(), program(t, filepath.Join(dir, "bad"), "exit 3\n"), nil, time.Minute), "exit status 3")
	require.Error(t, app.Notify(t.Context(), filepath.Join(dir, "none"), nil, time.Minute))
}

func TestANotificationRunsWithoutTheMarkOfAnAgent(t *testing.T) {
	t.Setenv(core.AgentVariable, "agent-aaaaaaaa")
	dir := t.TempDir()
	file := filepath.Join(dir, "told")
	flame := program(t, filepath.Join(dir, "flame"), `printf '[%s]' "$@" "${`+core.AgentVariable+`-none}" >> `+file+"\n")
	teller := app.Notifier{Flame: flame, Program: "/opt/tell", Log: slog.New(slog.DiscardHandler)}
	teller.Tell("limit", "-rf /", "agent-bbbbbbbb")
	teller.Wait()
	told, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "[notify][--][/opt/tell][limit][…-rf /][agent-bbbbbbbb][none]", string(told))
}

func TestAProjectDoesNotChooseTheProgram(t *testing.T) {
	const (
		shared  = ".claude/settings.json"
		private = ".claude/settings.local.json"
	)
	const sets = `{"env": {"FLAME_NOTIFY": "/usr/bin/env"}}`
	outside := t.TempDir()
	chosen := program(t, filepath.Join(outside, "tell"), "")
	type texts map[string]string
	tests := map[string]struct {
		setting string
		files   texts  // of the project
		path    string // PATH; empty: as it is
		refused string // part of the error; empty: none
	}{
		"an absolute path":                 {setting: chosen},
		"a name on PATH":                   {setting: "tell", path: "/nowhere:" + outside},
		"a relative path":                  {setting: "./tell", files: texts{"tell": ""}, refused: "relative path"},
		"a path below the working folder":  {setting: "bin/tell", refused: "relative path"},
		"a name that is nowhere":           {setting: "no-such-program", refused: "no such program"},
		"a folder":                         {setting: outside, refused: "no such program"},
		"a program of the project":         {setting: "PROJECT/tell", files: texts{"tell": ""}, refused: "is in the project"},
		"one of the project on PATH":       {setting: "tell", path: "PROJECT/bin:" + outside, files: texts{"bin/tell": ""}, refused: "is in the project"},
		"the project's settings":           {setting: chosen, files: texts{shared: sets}, refused: "settings.json"},
		"with no value":                    {setting: chosen, files: texts{shared: `{"env": {"FLAME_NOTIFY": null}}`}, refused: "came with the project"},
		"in other letters":                 {setting: chosen, files: texts{shared: `{"env": {"FLAME\u005fNOTIFY": ""}}`}, refused: "came with the project"},
		"the user's own for the project":   {setting: chosen, files: texts{private: sets}, refused: "settings.local.json"},
		"a server of the project":          {setting: chosen, files: texts{".mcp.json": `{"mcpServers": {"x": ` + sets + `}}`}, refused: ".mcp.json"},
		"OpenCode's settings":              {setting: chosen, files: texts{"opencode.json": "{// c\n\"mcp\": [" + sets + "],}"}, refused: "opencode.json"},
		"OpenCode's other one":             {setting: chosen, files: texts{".opencode/opencode.jsonc": sets}, refused: "opencode.jsonc"},
		"settings that cannot be read":     {setting: chosen, files: texts{shared: "{broken"}, refused: "cannot read it"},
		"settings that set something else": {setting: chosen, files: texts{shared: `{"env": {"PATH": "/tmp", "X": "FLAME_NOTIFY"}}`, "opencode.json": ""}},
		"a PATH of the project":            {setting: "tell", path: outside, files: texts{shared: `{"env": {"PATH": "/tmp"}}`}, refused: "sets PATH"},
		"settings above where Claude was":  {setting: chosen, files: texts{"sub/" + shared: sets, "sub/below/f": ""}, refused: "sub/" + shared},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			project := t.TempDir()
			for file, text := range tt.files {
				program(t, filepath.Join(project, file), "")
				require.NoError(t, os.WriteFile(filepath.Join(project, file), []byte(text), 0o755))
			}
			if tt.path != "" {
				t.Setenv("PATH", strings.ReplaceAll(tt.path, "PROJECT", project))
			}
			t.Setenv("CLAUDE_PROJECT_DIR", filepath.Join(project, "sub/below"))
			got, err := app.NotifyProgram(strings.ReplaceAll(tt.setting, "PROJECT", project), hoststest.Known(), place.At(project))
			if tt.refused == "" {
				require.NoError(t, err)
				assert.Equal(t, chosen, got)
				return
			}
			require.ErrorIs(t, err, core.ErrInvalid)
			assert.ErrorContains(t, err, tt.refused)
		})
	}
}
