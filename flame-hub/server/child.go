package server

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"flame/core"
	"flame/flame-hub/client"
	"flame/local/place"
)

// A child is the server's process.
type child struct {
	folder Folder
	end    context.CancelFunc
	began  int64         // size of the log when it was started
	ended  chan struct{} // closed when it is over
	err    error         // how it ended; after ended
}

// startChild starts the server. The caller's thread has to live as long as it.
func startChild(program string, folder Folder) (*child, error) {
	c := &child{folder: folder, ended: make(chan struct{})}
	log, err := place.OpenOwn(folder.file(logName), os.O_WRONLY|os.O_APPEND|os.O_CREATE) // else others' group could read it
	if err != nil {
		return nil, err
	}
	defer log.Close()
	if info, err := log.Stat(); err == nil {
		c.began = info.Size()
	}
	var ctx context.Context
	ctx, c.end = context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, "-c", folder.file(confName))
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(syscall.SIGTERM) }, grace
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder.Path, log, log // until it has read where its log is
	cmd.SysProcAttr = place.DieWithParent(syscall.SIGTERM)
	cmd.SysProcAttr.Setpgid = true // a Ctrl-C at the terminal is only for flame
	if err := cmd.Start(); err != nil {
		return nil, core.Unavailablef(err, "%s cannot be started: %v", program, err)
	}
	go func() {
		c.err = cmd.Wait()
		close(c.ended)
	}()
	return c, nil
}

// grace is how long a server may take to end.
const grace = 15 * time.Second

// stop ends the server and waits until it is over.
func (c *child) stop() {
	c.end()
	<-c.ended
}

// problem says why the server ended, as far as its log tells.
func (c *child) problem() error {
	last := ""
	for line := range strings.SplitSeq(c.logged(), "\n") {
		if line = strings.TrimSpace(line); line != "" && (last == "" || strings.Contains(line, "[FTL]") || !strings.Contains(last, "[FTL]")) {
			last = line
		}
	}
	return core.Unavailablef(c.err, "nats-server has ended: %s", core.OneLine(last, 500)).WithHint("its log: %s", c.folder.file(logName))
}

// logged returns the end of what the server has logged.
func (c *child) logged() string {
	file, err := place.OpenOwn(c.folder.file(logName), os.O_RDONLY)
	if err != nil {
		return ""
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	if info.Size() < c.began {
		c.began = 0 // the log was begun anew
	}
	from := max(c.began, info.Size()-maxTail)
	text, _ := io.ReadAll(io.NewSectionReader(file, from, maxTail)) // what can be read
	return string(text)
}

// maxTail is how much of a log is read, in bytes.
const maxTail = 8 << 10

// install is the hint that says how to get the server.
const install = "`go install github.com/nats-io/nats-server/v2@v" + client.ServerVersion + "`"

// A Program is the nats-server of this machine.
type Program struct {
	Path    string
	Version string // such as 2.15.2
}

// Pinned reports whether it is the version that flame is tested with.
func (p Program) Pinned() bool { return p.Version == client.ServerVersion }

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
			WithHint("%s, or a package of your system with at least %s", install, client.OldestVersion)
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
	if !client.SupportsVersion(p.Version) {
		return p, core.Invalidf("%s is version %s, and flame needs %s or newer", path, p.Version, client.OldestVersion).WithHint(install)
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
