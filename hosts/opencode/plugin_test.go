package opencode_test

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tools"
)

// A host is OpenCode as the plugin sees it, played in Node, with a flame that
// records what it is told.
type host struct {
	t             *testing.T
	home, project string
	env           []string      // more than what every host has
	room          string        // for events without an answer, in characters; empty: the plugin's own
	patience      time.Duration // with flame; longer than the plugin's own where a busy machine could use that up
}

func newHost(t *testing.T) *host {
	t.Helper()
	h := &host{t: t, home: filepath.Join(t.TempDir(), `it's "home"`), project: filepath.Join(t.TempDir(), "my project"), patience: 20 * time.Second}
	require.NoError(t, os.MkdirAll(filepath.Join(h.home, ".local", "bin"), 0o755))
	require.NoError(t, os.MkdirAll(h.project, 0o755))
	h.installs(records)
	return h
}

// records is a flame that keeps the events it is told, and answers from a file.
//
//go:embed testdata/plugin/flame.sh
var records string

func (h *host) installs(flame string) {
	h.write(".local/bin/flame", flame)
	require.NoError(h.t, os.Chmod(filepath.Join(h.home, ".local", "bin", "flame"), 0o755))
}

// write puts a file into the home.
func (h *host) write(name, text string) {
	h.t.Helper()
	require.NoError(h.t, os.WriteFile(filepath.Join(h.home, name), []byte(text), 0o644))
}

// read returns a file of the home, empty if there is none.
func (h *host) read(name string) string {
	text, _ := os.ReadFile(filepath.Join(h.home, name))
	return string(text)
}

// stage is what scenes are played with: event tells the plugin of an event, and
// the others of what usually comes with one.
//
//go:embed testdata/plugin/stage.js
var stage string

// A scene is the script of one, by "", and what stands in its file below lines such as "=== sent".
type scene map[string]string

// scenes returns the scenes of an archive by their names.
func scenes(t *testing.T, archive string) map[string]scene {
	t.Helper()
	parsed, err := txtar.ParseFile("testdata/plugin/" + archive)
	require.NoError(t, err)
	all := map[string]scene{}
	for _, file := range parsed.Files {
		one, part := scene{}, ""
		for line := range strings.Lines(string(file.Data)) {
			if name, begins := strings.CutPrefix(line, "=== "); begins {
				part = strings.TrimSpace(name)
				line = ""
			}
			one[part] += line
		}
		all[file.Name] = one
	}
	require.NotEmpty(t, all)
	return all
}

// plays runs a scene, the body of an asynchronous function, until the process is
// disposed of. It returns what the scene returned, as JSON.
func (h *host) plays(scene string) string {
	h.t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		h.t.Skip("no Node on PATH to run the plugin in; the tests with the real OpenCode run it as well")
	}
	const patience = "answer: 300,"
	plugin := installed(h.t, tools.Names)
	require.Contains(h.t, plugin, patience)
	plugin = strings.Replace(plugin, patience, fmt.Sprintf("answer: %d,", h.patience.Milliseconds()), 1)
	if h.room != "" {
		const room = "size: 64 << 20,"
		require.Contains(h.t, plugin, room)
		plugin = strings.Replace(plugin, room, "size: "+h.room+",", 1)
	}
	h.write("flame.mjs", plugin)
	script := stage + "const result = await (async () => {" + scene + "})()\nawait hooks.dispose?.()\nprocess.stdout.write(JSON.stringify(result ?? null))"
	cmd := exec.CommandContext(h.t.Context(), node, "--input-type=module", "-e", script, filepath.Join(h.home, "flame.mjs"), h.project)
	cmd.Env = append([]string{"HOME=" + h.home, "PATH=/usr/bin:/bin"}, h.env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(h.t, err, stderr.String())
	assert.Empty(h.t, stderr.String(), "the plugin prints nothing")
	return string(out)
}

// heard returns the events that flame was told of, each with the plugin's version,
// but for the end of all sessions, which is the last.
func (h *host) heard() (events []map[string]any) {
	h.t.Helper()
	last := 0
	for line := range strings.Lines(h.read("events")) {
		var told struct {
			N       int
			Source  string
			Session string
			Event   map[string]any
		}
		require.NoError(h.t, json.Unmarshal([]byte(line), &told))
		event := told.Event
		assert.Greater(h.t, told.N, last)
		last = told.N
		assert.Len(h.t, told.Source, 36)
		if event["event"] != "dispose" {
			assert.Equal(h.t, event["session"], told.Session)
		}
		assert.Regexp(h.t, "^[0-9a-f]{12}$", event["plugin"])
		delete(event, "plugin")
		events = append(events, event)
	}
	if last = len(events) - 1; last < 0 || events[last]["event"] != "dispose" {
		assert.NotContains(h.t, h.read("events"), `"dispose"`)
		return events
	}
	assert.NotEmpty(h.t, events[last]["sessions"])
	return events[:last]
}

func TestPluginConfiguresOpenCode(t *testing.T) {
	t.Parallel()
	const ours = `"flame": {"type": "local", "command": ["FLAME", "serve"], "environment": {"FLAME_TOOLS": "lean"}}`
	for name, tt := range scenes(t, "configures.txtar") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			h.env = strings.Fields(tt["env"])
			flame := filepath.Join(h.home, ".local", "bin", "flame")
			if _, without := tt["without"]; without {
				require.NoError(t, os.Remove(flame))
			}
			var after struct {
				MCP     json.RawMessage
				Command map[string]any
			}
			require.NoError(t, json.Unmarshal([]byte(h.plays(`const config = `+tt[""]+`; await hooks.config(config); return config`)), &after))
			commands := strings.Fields(tt["commands"])
			if _, adds := tt["commands"]; adds {
				commands = append(commands, "flame:converge", "flame:delegate", "flame:handoff", "flame:pop", "flame:push", "flame:status")
			}
			assert.ElementsMatch(t, commands, slices.Collect(maps.Keys(after.Command)))
			if tt["mcp"] == "" {
				assert.Empty(t, after.MCP)
				return
			}
			path, err := json.Marshal(flame)
			require.NoError(t, err)
			want := strings.ReplaceAll(tt["mcp"], "OURS", ours)
			assert.JSONEq(t, strings.ReplaceAll(want, `"FLAME"`, string(path)), string(after.MCP))
		})
	}
}
