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
		return m, core.Unavailablef(err, "HOME is %q, which is not a home folder", home).WithHint("set HOME to your home folder, by an absolute path")
	}
	m.Home = home
	return m, nil
}

// At returns the machine, seen from another project's folder.
func (m Machine) At(projectDir string) Machine {
	m.ProjectDir = projectDir
	return m
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
