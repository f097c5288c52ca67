package server

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"flame/core"
	"flame/hub"
)

// Versions of the server.
const (
	leastMajor = 2
	leastMinor = 12 // atomic batches
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

// versionOf matches what the server says of its version. Hooks would wait while it is made.
var versionOf = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`nats-server: v?(\d+\.\d+\.\d+[-.+0-9A-Za-z]*)`) })

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
			WithHint("%s, or a package of your system with at least %d.%d", install, leastMajor, leastMinor)
	}
	ctx, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.WaitDelay = time.Second
	said, err := cmd.Output()
	if err != nil {
		return Program{}, core.Unavailablef(err, "%s --version: %v", path, err).WithHint("install it anew: " + install)
	}
	found := versionOf().FindSubmatch(said)
	if found == nil {
		return Program{}, core.Unavailablef(nil, "%s does not say which version it is", path).WithHint("install it anew: " + install)
	}
	p := Program{Path: path, Version: string(found[1])}
	if old(p.Version) {
		return p, core.Invalidf("%s is version %s, and flame needs %d.%d or newer", path, p.Version, leastMajor, leastMinor).WithHint(install)
	}
	return p, nil
}

// old reports whether a server is older than flame needs. One that does not tell its version
// is not.
func old(version string) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return false
	}
	major, err := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	return errors.Join(err, err2) == nil && (major < leastMajor || major == leastMajor && minor < leastMinor)
}
