// Package hosts is what the hosts' setups share: the machine they act on, the
// steps of their plans, what they find installed, and flame's own binary. What
// a host is given, and how, is in the package of that host.
package hosts

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"flame/core"
)

// A Setup ties flame to a host. Install and Remove only plan; Apply acts.
// The plan of what is done already is empty.
type Setup interface {
	// Install plans what is missing for flame to work in the host. Without the
	// host on PATH it is a Problem of kind core.ErrNotFound, with ByHand as hint.
	Install(ctx context.Context, scope Scope) ([]Step, error)
	// Remove plans how to undo Install for one scope.
	Remove(ctx context.Context, scope Scope) ([]Step, error)
	// Status says what there is now. It starts nothing of flame.
	Status(ctx context.Context) (Status, error)
	// ByHand returns the lines that register flame's server without a setup.
	ByHand() string
}

// A Scope says for which work a host is set up.
type Scope string

// The scopes, named as Claude Code names them.
const (
	User    Scope = "user"    // all projects of this user
	Project Scope = "project" // one project, by files that may be committed with it
)

// A Step is one change to the machine.
type Step struct {
	Says string // what it does, beginning with a verb: "write …"
	Do   func(context.Context) error
}

// Apply takes the steps in order, up to the first that fails, and tells done
// of each that was taken.
func Apply(ctx context.Context, steps []Step, done func(Step)) error {
	for _, step := range steps {
		if err := step.Do(ctx); err != nil {
			return core.Unavailablef(err, "could not %s: %v", step.Says, err).
				WithHint("put that right and run the same command again: it goes on where it stopped")
		}
		done(step)
	}
	return nil
}

// A Status is what one host has of flame.
type Status struct {
	Program   string         // where the host is; empty: not on PATH, and Version is empty too
	Version   string         // as the host itself prints it
	Installed []Installation // by setup
	ByHand    []Registration // by anyone else
	Offers    string         // version of the plugin that setup would install
	GivesWay  bool           // where both are there, the host starts only what was registered by hand
}

// Double reports whether flame is registered by setup and by hand as well. The
// host then starts it twice, unless GivesWay.
func (s Status) Double() bool { return len(s.Installed) > 0 && len(s.ByHand) > 0 }

// An Installation is what setup left in a host.
type Installation struct {
	Scope   Scope
	Where   string // the file or folder that holds it
	Current bool   // it is what this flame would install
}

// A Registration is an entry for flame that no setup made.
type Registration struct {
	Name string // the entry's name in the host
	File string // where it stands
	Undo string // what removes it: a command, or what to delete
}

// A Machine is where a setup acts. All fields are needed.
type Machine struct {
	Home       string // absolute
	ProjectDir string // absolute; where Project scope applies
	Getenv     func(string) string
	LookPath   func(string) (string, error)
	// Run runs a program in dir with flame's own environment and returns what it
	// wrote to stdout. An error includes what it wrote to stderr.
	Run func(ctx context.Context, dir, program string, args ...string) (string, error)
}

// nowhere stands for the home of a user who has none; nothing is there.
const nowhere = "/nonexistent"

// ThisMachine is the one flame runs on, seen from projectDir. Without a home folder
// there is a Problem; what does not touch the home can go on with the machine then.
func ThisMachine(projectDir string) (Machine, error) {
	m := Machine{Home: nowhere, ProjectDir: projectDir, Getenv: os.Getenv, LookPath: exec.LookPath, Run: run}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return m, core.Unavailablef(err, "HOME is %q, which is no home folder", home).WithHint("set HOME to your home folder, by an absolute path")
	}
	m.Home = home
	return m, nil
}

// ConfigHome is the folder for configuration of the XDG base directories.
func (m Machine) ConfigHome() string {
	return m.folder("XDG_CONFIG_HOME", ".config")
}

// DataHome is the folder for data of the XDG base directories.
func (m Machine) DataHome() string {
	return m.folder("XDG_DATA_HOME", filepath.Join(".local", "share"))
}

// folder is that of variable, which XDG wants absolute, or else one in Home.
func (m Machine) folder(variable, inHome string) string {
	if dir := m.Getenv(variable); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(m.Home, inHome)
}

// Version is what program prints for --version, empty when it prints nothing
// useful: a host's version is for people to read, no step depends on it.
func (m Machine) Version(ctx context.Context, program string) string {
	out, err := m.Run(ctx, m.Home, program, "--version")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	return first
}

// Same reports whether two paths name one folder, through links too.
func Same(a, b string) bool {
	if a == b {
		return true
	}
	ia, err := os.Stat(a)
	if err != nil {
		return false
	}
	ib, err := os.Stat(b)
	return err == nil && os.SameFile(ia, ib)
}

// Missing is the Problem of a host that is not on PATH.
func Missing(host, program, byHand string) error {
	return core.NotFoundf("%s is not installed: no %q on PATH", host, program).
		WithHint("install it and run this again, or register flame by hand:\n%s", byHand)
}

func run(ctx context.Context, dir, program string, args ...string) (string, error) {
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		said := strings.TrimSpace(stderr.String() + stdout.String())
		return stdout.String(), fmt.Errorf("%s %s: %w: %s", filepath.Base(program), strings.Join(args, " "), err, said)
	}
	return stdout.String(), nil
}

// IsFlame reports whether a server that a host calls name and starts by command
// is flame's: by its name, or by the program's.
func IsFlame(name, command string) bool {
	return name == "flame" || filepath.Base(command) == "flame"
}
