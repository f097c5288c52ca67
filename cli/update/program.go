package update

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"flame/config/env"
	"flame/core"
	"flame/local/confine"
	"flame/local/place"
)

// previous and next end the names of the program that was replaced, and of one that is being
// written; both are beside the program.
const (
	previous = ".previous"
	next     = ".next"
)

// owners install programs into folders with in in their path; how says how they update flame.
var owners = []struct{ in, by, how string }{
	{"/node_modules/", "npm", "`npm install -g " + env.NPM + "@latest`, then `flame setup`"},
	{"/go-build", "`go run`", "update the source, then `go run . setup`"},
	{"/go/bin/", "`go install`", "update the source, then `go install .`"},
	{"/Cellar/", "Homebrew", "`brew upgrade flame`, then `flame setup`"},
	{"/nix/store/", "Nix", "update it there, then `flame setup`"},
	{"/usr/bin/", "the package manager of this system", "install the new package with it, then `flame setup`"},
}

// Own returns the real path of the program at a path, if flame may replace it. The error says how to
// update a program that something else has installed.
func Own(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", core.Unavailablef(err, "flame cannot find its own program, %s: %v", path, cause(err)).
			WithHint("it was replaced or deleted since it started: run the command again")
	}
	for _, owner := range owners {
		if strings.Contains(real, owner.in) {
			return "", core.Invalidf("%s installed %s, and updates it", owner.by, real).WithHint("%s", owner.how)
		}
	}
	return real, nil
}

// Install puts a program in the place of the one at path, which it keeps beside it: either all of
// that happens or nothing. The new one must run, and be of the version; the empty version is any.
// It returns its version.
func Install(ctx context.Context, path string, program []byte, version string) (string, error) {
	fresh := path + next
	if err := write(fresh, program); err != nil {
		return "", err
	}
	defer os.Remove(fresh)
	runs, err := VersionOf(ctx, fresh)
	switch {
	case err != nil:
		return "", core.Invalidf("the new program does not run here: %v", err).
			WithHint("nothing was changed; `flame version` prints the system of this program")
	case version != "" && runs != version:
		return "", core.Invalidf("the new program says that it is version %q, and the release %q", runs, version).
			WithHint("nothing was changed; name another release")
	}
	current, err := confine.ReadFile(path, maxProgram)
	if err != nil {
		return "", err
	}
	if err := write(path+previous, current); err != nil {
		return "", err
	}
	return runs, os.Rename(fresh, path)
}

// Back exchanges the program at path and the one that it replaced, and returns the version of
// the latter.
func Back(ctx context.Context, path string) (string, error) {
	program, err := confine.ReadFile(path+previous, maxProgram)
	if errors.Is(err, os.ErrNotExist) {
		return "", core.NotFoundf("there is no %s: this program has replaced none", path+previous)
	}
	if err != nil {
		return "", core.Unavailablef(err, "%s cannot be read: %v", path+previous, cause(err))
	}
	return Install(ctx, path, program, "")
}

// write writes a program whole, or not at all.
func write(file string, program []byte) error {
	err := place.Write(file, 0o755, func(to io.Writer) error {
		_, err := io.Copy(to, bytes.NewReader(program))
		return err
	})
	if err != nil {
		return core.Unavailablef(err, "flame cannot write %s: %v", file, cause(err)).
			WithHint("nothing was changed; make room, or run this as the user who may write in that folder")
	}
	return nil
}

// versionTime is how long a program may take to print its version.
const versionTime = 10 * time.Second

// VersionOf runs a flame for its version, as names of archives have it.
func VersionOf(ctx context.Context, program string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "version", "--json")
	cmd.WaitDelay = time.Second
	said, err := cmd.Output()
	if err != nil {
		return "", err
	}
	var build struct {
		Version string `json:"version"`
	}
	err = json.Unmarshal(said, &build)
	return strings.TrimPrefix(build.Version, "v"), err
}
