package hosts

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

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
	// Converse runs a program as Run does, with an input that stays open, until isLast accepts a
	// line of its stdout; then it ends the program.
	Converse func(ctx context.Context, dir, input string, isLast func(line string) bool, program string, args ...string) error
}

// nowhere replaces the home of a user who has none; nothing is there.
const nowhere = "/nonexistent"

// ThisMachine returns the machine flame runs on, seen from projectDir. Without
// a home folder it returns a Problem; what does not touch the home can still
// use the machine.
func ThisMachine(projectDir string) (Machine, error) {
	m := Machine{Home: nowhere, ProjectDir: projectDir, Getenv: os.Getenv, LookPath: exec.LookPath, Run: run, Converse: converse}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return m, core.Unavailablef(err, "HOME is %q, which is not a home folder", home).WithHint("set HOME to your home folder, by an absolute path")
	}
	m.Home = home
	return m, nil
}

// InProject returns the machine, seen from another project's folder.
func (m Machine) InProject(projectDir string) Machine {
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

// A Program is a host's own command line on a machine; it runs in the project's folder.
type Program struct {
	Machine Machine
	Name    string // that a user types
	Path    string
}

// RunJSON runs a command that prints JSON, and decodes it into answer. A command that fails, or takes
// too long, is an error with its words, of kind core.ErrUnavailable.
func (p Program) RunJSON(ctx context.Context, answer any, args ...string) error {
	ctx, stop := context.WithTimeout(ctx, maxAnswer)
	defer stop()
	out, err := p.Machine.Run(ctx, p.Machine.ProjectDir, p.Path, args...)
	switch {
	case ctx.Err() != nil:
		return core.Unavailablef(err, "%s gave no answer within %s", p.Line(args...), core.Span(maxAnswer.Milliseconds())).
			WithHint("try it in a terminal: it may wait for something")
	case err != nil:
		return core.Unavailablef(err, "%s", core.OneLine(err.Error(), maxWords)).WithHint("try %s in a terminal", p.Line(args...))
	}
	if err := json.Unmarshal([]byte(out), answer); err != nil {
		return core.Unavailablef(err, "flame cannot read the answer of %s (an older version?): %v", p.Line(args...), err)
	}
	return nil
}

// Step returns the step that runs a command.
func (p Program) Step(args ...string) SetupStep {
	return SetupStep{Description: "run " + p.Line(args...), Do: func(ctx context.Context) error {
		_, err := p.Machine.Run(ctx, p.Machine.ProjectDir, p.Path, args...)
		return err
	}}
}

// Line returns the command line that a user would type; it is only for display.
func (p Program) Line(args ...string) string {
	line := p.Name
	for _, arg := range args {
		if strings.ContainsAny(arg, " \t\"'$\\") {
			arg = strconv.Quote(arg)
		}
		line += " " + arg
	}
	return line
}

// SameFolder reports whether two paths name the same folder, even through links.
func SameFolder(a, b string) bool {
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
	cmd.WaitDelay = time.Second // what it started may hold its output open
	if err := cmd.Run(); err != nil {
		said := strings.TrimSpace(stderr.String() + stdout.String())
		return stdout.String(), fmt.Errorf("%s %s: %w: %s", filepath.Base(program), strings.Join(args, " "), err, said)
	}
	return stdout.String(), nil
}

// Bounds of what programs say: the time of an answer and of a conversation, the length of a line in
// bytes, and of their words in an error, in characters.
const (
	maxAnswer       = 20 * time.Second
	maxConversation = 10 * time.Second
	maxSaid         = 4 << 20
	maxWords        = 1000
)

func converse(ctx context.Context, dir, input string, isLast func(line string) bool, program string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, maxConversation)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		cancel() // it may not end by itself
		_ = cmd.Wait()
	}()
	if _, err := io.WriteString(stdin, input); err != nil {
		return err
	}
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, maxSaid)
	for lines.Scan() {
		if isLast(lines.Text()) {
			return nil
		}
	}
	return fmt.Errorf("%s %s ended without an answer: %w", filepath.Base(program), strings.Join(args, " "), errors.Join(lines.Err(), ctx.Err()))
}

// FindMember returns the first of a project's files that has a member of this name at any depth,
// such as in the `env` of a server. It also returns a file that flame cannot read, as that file
// may have such a member. plain converts the content of a file to JSON.
func (m Machine) FindMember(files []string, plain func([]byte) []byte, name string) string {
	for _, file := range files {
		content, err := m.Files(ScopeProject).Read(file)
		if IsMissing(err) || err == nil && len(bytes.TrimSpace(content)) == 0 {
			continue
		}
		var document any
		if err != nil || json.Unmarshal(plain(content), &document) != nil || hasMember(document, name) {
			return file
		}
	}
	return ""
}

// Mentioning returns the first of a project's files that has a name in it. It also returns a file that flame cannot read, or in
// which something may hide the name.
func (m Machine) Mentioning(name string, hides func(content []byte) bool, files ...string) string {
	for _, file := range files {
		path := filepath.Join(m.ProjectDir, filepath.FromSlash(file))
		content, err := m.Files(ScopeProject).Read(path)
		if !IsMissing(err) && (err != nil || bytes.Contains(content, []byte(name)) || hides(content)) {
			return path
		}
	}
	return ""
}

// hasMember reports whether a document has a member of this name at any depth.
func hasMember(document any, name string) bool {
	switch part := document.(type) {
	case map[string]any:
		for key, value := range part {
			if key == name || hasMember(value, name) {
				return true
			}
		}
	case []any:
		for _, value := range part {
			if hasMember(value, name) {
				return true
			}
		}
	}
	return false
}

// Certificates is the variable that names a file of certificates to trust.
const Certificates = "SSL_CERT_FILE"

// The variables by which programs reach the network.
var (
	Proxies   = []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"}
	NoProxies = []string{"NO_PROXY", "no_proxy"} // hosts that are reached without a proxy
)

// NetworkOf returns the variables by which requests reach the network, each with its value.
func NetworkOf(getenv func(string) string) map[string]string {
	network := map[string]string{}
	for _, names := range [][]string{Proxies, NoProxies, {"NODE_EXTRA_CA_CERTS", Certificates, "SSL_CERT_DIR"}} {
		for _, name := range names {
			network[name] = getenv(name)
		}
	}
	return network
}

// BypassProxies returns the variables, NAME=value, with which a program reaches 127.0.0.1 without a
// proxy; none if it has no proxy.
func BypassProxies(getenv func(string) string) (environ []string) {
	proxied := false
	for _, name := range Proxies {
		proxied = proxied || getenv(name) != ""
	}
	for i, name := range NoProxies {
		value := strings.TrimSpace(getenv(name))
		if value == "" && i == 0 { // programs that find this one do not look for the other
			value = strings.TrimSpace(getenv(NoProxies[1]))
		}
		if proxied && value != "*" && (value != "" || i == 0) {
			environ = append(environ, name+"="+strings.TrimPrefix(value+",127.0.0.1", ","))
		}
	}
	return environ
}

// A Mode says what an agent may do without asking each time. The names are
// Claude Code's.
type Mode string

// The modes, from the narrowest to the widest.
const (
	ModePlan        Mode = "plan"              // reads only
	ModeDontAsk     Mode = "dontAsk"           // only what rules allow
	ModeDefault     Mode = "default"           // asks; without anybody to ask, like ModeDontAsk
	ModeAcceptEdits Mode = "acceptEdits"       // changes files
	ModeBypass      Mode = "bypassPermissions" // everything
)

// modes lists the modes from the narrowest to the widest.
var modes = []Mode{ModePlan, ModeDontAsk, ModeDefault, ModeAcceptEdits, ModeBypass}

// ParseMode returns the mode of a name.
func ParseMode(name string) (Mode, error) {
	if mode := Mode(name); slices.Contains(modes, mode) {
		return mode, nil
	}
	return "", core.Invalidf("unknown permission mode %q", name).WithHint("use %s", strings.Join(Mode("").Values(), ", "))
}

// Values lists the modes, from the narrowest to the widest.
func (Mode) Values() []string { return core.Words(modes...) }

// Known reports whether flame knows the mode.
func (m Mode) Known() bool { return slices.Contains(modes, m) }

// rank returns the mode's position. An unknown mode counts as ModeDefault, so that
// it neither widens nor blocks.
func (m Mode) rank() int {
	if i := slices.Index(modes, m); i >= 0 {
		return i
	}
	return slices.Index(modes, ModeDefault)
}

// Exceeds reports whether m allows more than other.
func (m Mode) Exceeds(other Mode) bool { return m.rank() > other.rank() }
