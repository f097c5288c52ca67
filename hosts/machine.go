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

// A Machine is what a setup acts on. All fields are required.
type Machine struct {
	Home       string // absolute
	ProjectDir string // absolute; the folder of the Project scope
	Getenv     func(string) string
	LookPath   func(string) (string, error)
	// Run runs a program in dir with flame's own environment and returns what it
	// wrote to stdout. An error includes what it wrote to stderr.
	Run func(ctx context.Context, dir, program string, args ...string) (string, error)
}

// nowhere replaces the home of a user who has none; nothing is there.
const nowhere = "/nonexistent"

// ThisMachine returns the machine flame runs on, seen from projectDir. Without
// a home folder it returns a Problem; what does not touch the home can still
// use the machine.
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

// ConfigHome returns the XDG base directory for configuration.
func (m Machine) ConfigHome() string {
	return m.folder("XDG_CONFIG_HOME", ".config")
}

// DataHome returns the XDG base directory for data.
func (m Machine) DataHome() string {
	return m.folder("XDG_DATA_HOME", filepath.Join(".local", "share"))
}

// folder returns the folder in variable, which XDG requires to be absolute, or
// else inHome in Home.
func (m Machine) folder(variable, inHome string) string {
	if dir := m.Getenv(variable); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(m.Home, inHome)
}

// Version returns what program prints for --version, or "" if that is not
// useful: a host's version is for people to read, no step depends on it.
func (m Machine) Version(ctx context.Context, program string) string {
	out, err := m.Run(ctx, m.Home, program, "--version")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	return first
}

// Same reports whether two paths name the same folder, even through links.
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
