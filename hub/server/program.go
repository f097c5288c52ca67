package server

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"flame/core"
	"flame/hub"
)

// install is the hint that says how to get the server.
const install = "`go install github.com/nats-io/nats-server/v2@v" + hub.ServerVersion + "`"

// A Program is the nats-server of this machine.
type Program struct {
	Path    string
	Version string // such as 2.15.2
}

// Pinned reports whether it is the version that flame is tested with.
func (p Program) Pinned() bool { return p.Version == hub.ServerVersion }

// FindProgram finds the server on PATH, else where `go install` puts it, and asks for its
// version.
func FindProgram(ctx context.Context, home string) (Program, error) {
	path, err := exec.LookPath("nats-server")
	for _, dir := range []string{os.Getenv("GOBIN"), filepath.Join(os.Getenv("GOPATH"), "bin"), filepath.Join(home, "go", "bin")} {
		if err != nil && filepath.IsAbs(dir) {
			path, err = exec.LookPath(filepath.Join(dir, "nats-server"))
		}
	}
	if err != nil {
		return Program{}, core.NotFoundf("nats-server is not on PATH; it is the program that `flame hub` runs").
			WithHint("%s, or a package of your system with at least %s", install, hub.OldestVersion)
	}
	ctx, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.WaitDelay = time.Second
	said, err := cmd.Output()
	if err != nil {
		return Program{}, core.Unavailablef(err, "%s --version: %v", path, err).WithHint("install it again: " + install)
	}
	_, version, _ := strings.Cut(string(said), "nats-server: ")
	p := Program{Path: path, Version: strings.TrimPrefix(strings.TrimSpace(version), "v")}
	if p.Version == "" || p.Version[0] < '0' || p.Version[0] > '9' {
		return p, core.Unavailablef(nil, "%s does not print its version", path).WithHint("install it again: " + install)
	}
	if !hub.SupportsVersion(p.Version) {
		return p, core.Invalidf("%s is version %s, and flame needs %s or newer", path, p.Version, hub.OldestVersion).WithHint(install)
	}
	return p, nil
}

// Unit returns a unit of systemd, of a user, that runs `flame hub` with these words.
func Unit(words []string, path string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = unitWord(strings.ReplaceAll(word, "$", "$$"))
	}
	return fmt.Sprintf(`# ~/.config/systemd/user/flame-hub.service
#   systemctl --user enable --now flame-hub
#   loginctl enable-linger     so that it runs while you are not logged in
[Unit]
Description=flame hub, where machines meet

[Service]
ExecStart=%s
Environment=%s
Restart=on-failure
RestartSec=2
TimeoutStopSec=30

[Install]
WantedBy=default.target
`, strings.Join(quoted, " "), unitWord("PATH="+path))
}

// unitWord quotes a word as systemd reads it.
func unitWord(word string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`, "\n", `\n`).Replace(word) + `"`
}
