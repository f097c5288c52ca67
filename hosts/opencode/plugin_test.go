package opencode_test

import (
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
const records = `#!/bin/sh
[ "$*" = "hook opencode --stream" ] || exit
printf '%s|%s\n' "$PWD" "$FLAME_DIR" > "$HOME/place"
while IFS= read -r told; do
	printf '%s\n' "$told" >> "$HOME/events"
	n=${told#*:}
	answer=$(cat "$HOME/answer")
	printf '{"n": %s, "answer": %s}\n' "${n%%,*}" "${answer:-{\}}"
done
`

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
const stage = `
	const { Flame } = await import(process.argv[1])
	const asked = [] // of the host itself
	const client = { session: { summarize: async (request) => asked.push(request) } }
	const load = () => Flame({ directory: process.argv[2], client })
	const hooks = await load()
	const event = (type, properties) => hooks.event({ event: { type, properties } })
	const session = (type, id, info) => event("session." + type, { sessionID: id, info: { id, title: "Work", ...info } })
	const below = (id, parentID) => session("updated", id, { parentID, title: "New session - 2026" })
	const status = (sessionID, type) => event("session.status", { sessionID, status: { type } })
	const said = (sessionID, text, messageID = "m") => hooks["experimental.text.complete"]({ sessionID, messageID }, { text })
	const text = (text, more) => ({ type: "text", text, ...more })
	const tool = (tool, status, state, id = "p") => ({ type: "tool", id, tool, callID: "c-" + id, sessionID: "s", messageID: "m",
		state: { status, input: {}, ...state } })
	const part = (part) => event("message.part.updated", { sessionID: part.sessionID, part })
	const prompt = (sessionID, ...parts) => hooks["chat.message"]({ sessionID }, { message: { id: "u", model: { providerID: "a", modelID: "b" } }, parts })
	const before = async (tool, callID, args) => { await hooks["tool.execute.before"]({ tool, sessionID: "s", callID }, { args }); return args }
	const after = (tool, callID, args, output) => hooks["tool.execute.after"]({ tool, sessionID: "s", callID, args }, output)
	const message = (id, role, parts, info) => ({ info: { id, role, sessionID: "s", time: { created: Number(id.slice(1)) }, ...info }, parts })
	const thought = (text) => ({ type: "reasoning", text, metadata: { anthropic: { signature: "x" } } })
	const answer = (id, info) => event("message.updated", { info: { id, role: "assistant", sessionID: "s", time: { created: 5, completed: 9 },
		tokens: { input: 1, output: 2, reasoning: 3, cache: { read: 4, write: 5 } }, cost: 0.5, ...info } })
	const request = async (...messages) => { await hooks["experimental.chat.messages.transform"]({}, { messages }); return messages }
`

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
	const ours = `{"flame": {"type": "local", "command": ["FLAME", "serve"], "environment": {"FLAME_TOOLS": "lean"}}}`
	added := []string{"flame:converge", "flame:delegate", "flame:handoff", "flame:pop", "flame:push", "flame:status"}
	tests := map[string]struct {
		config   string
		env      string // of OpenCode's
		without  bool   // a flame to start
		mcp      string // afterwards; empty: none
		commands []string
	}{
		"adds server and commands": {
			config: `{}`, mcp: ours, commands: added,
		},
		"keeps the user's other servers and commands": {
			config:   `{"mcp": {"other": {"type": "local"}}, "command": {"mine": {}, "flame:push": {}}}`,
			mcp:      `{"other": {"type": "local"}, ` + ours[1:],
			commands: append([]string{"mine"}, added...),
		},
		"leaves a server of the user's own alone": {
			config: `{"mcp": {"flame": {"command": ["x"]}}}`, mcp: `{"flame": {"command": ["x"]}}`, commands: added,
		},
		"knows flame under another name": {
			config: `{"mcp": {"f": {"command": ["/opt/flame"]}}}`, mcp: `{"f": {"command": ["/opt/flame"]}}`, commands: added,
		},
		"does nothing where the user switched flame off": {
			config: `{"mcp": {"flame": {"enabled": false}}}`, mcp: `{"flame": {"enabled": false}}`,
		},
		"offers the tools that the user chose": {
			env: "FLAME_TOOLS=frames,plan", config: `{}`, mcp: strings.Replace(ours, "lean", "frames,plan", 1), commands: added,
		},
		"takes an empty choice for none": {env: "FLAME_TOOLS=", config: `{}`, mcp: ours, commands: added},
		"leaves a choice in the user's own entry alone": {
			config: `{"mcp": {"flame": {"command": ["flame"], "environment": {"FLAME_TOOLS": "all"}}}}`,
			mcp:    `{"flame": {"command": ["flame"], "environment": {"FLAME_TOOLS": "all"}}}`, commands: added,
		},
		"does nothing without a flame to start": {config: `{}`, without: true},
		"survives a configuration that makes no sense": {
			config: `{"mcp": {"a": null, "b": {"command": 7}}}`, mcp: `{"a": null, "b": {"command": 7}, ` + ours[1:], commands: added,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			if tt.env != "" {
				h.env = append(h.env, tt.env)
			}
			flame := filepath.Join(h.home, ".local", "bin", "flame")
			if tt.without {
				require.NoError(t, os.Remove(flame))
			}
			var after struct {
				MCP     json.RawMessage
				Command map[string]any
			}
			require.NoError(t, json.Unmarshal([]byte(h.plays(`const config = `+tt.config+`; await hooks.config(config); return config`)), &after))
			assert.ElementsMatch(t, tt.commands, slices.Collect(maps.Keys(after.Command)))
			if tt.mcp == "" {
				assert.Empty(t, after.MCP)
				return
			}
			path, err := json.Marshal(flame)
			require.NoError(t, err)
			assert.JSONEq(t, strings.ReplaceAll(tt.mcp, `"FLAME"`, string(path)), string(after.MCP))
		})
	}
}
