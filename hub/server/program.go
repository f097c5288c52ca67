package server

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"flame/core"
)

// Versions of the server.
const (
	pinnedVersion = "2.15.2" // with which flame is tested
	leastMajor    = 2
	leastMinor    = 12 // atomic batches
)

// install is the hint that says how to get the server.
const install = "`go install github.com/nats-io/nats-server/v2@v" + pinnedVersion + "`"

// A Program is the nats-server of this machine.
type Program struct {
	Path    string
	Version string // such as 2.15.2
}

// Pinned reports whether it is the version that flame is tested with.
func (p Program) Pinned() bool { return p.Version == pinnedVersion }

// Recommended is the version of the server that flame is tested with.
const Recommended = pinnedVersion

var versionOf = regexp.MustCompile(`nats-server: v?(\d+\.\d+\.\d+[-.+0-9A-Za-z]*)`)

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
	found := versionOf.FindSubmatch(said)
	if found == nil {
		return Program{}, core.Unavailablef(nil, "%s does not say which version it is", path).WithHint("install it anew: " + install)
	}
	p := Program{Path: path, Version: string(found[1])}
	if old(p.Version) {
		return p, core.Invalidf("%s is version %s, and flame needs %d.%d or newer", path, p.Version, leastMajor, leastMinor).WithHint(install)
	}
	return p, nil
}
