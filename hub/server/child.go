package server

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"flame/core"
	"flame/store/disk"
)

// A child is the server's process.
type child struct {
	cmd    *exec.Cmd
	folder Folder
	said   *tail         // on stderr
	began  int64         // size of the log when it was started
	ended  chan struct{} // closed when it is over
	err    error         // how it ended; after ended
}

// startChild starts the server. The caller's thread has to live as long as it.
func startChild(program string, folder Folder) (*child, error) {
	c := &child{folder: folder, said: &tail{}, ended: make(chan struct{})}
	log, err := disk.OpenOwn(folder.file(logName), os.O_RDWR|os.O_CREATE) // else others' group could read it
	if err != nil {
		return nil, err
	}
	if info, err := log.Stat(); err == nil {
		c.began = info.Size()
	}
	log.Close()
	c.cmd = exec.Command(program, "-c", folder.file(confName))
	c.cmd.Dir, c.cmd.Stdout, c.cmd.Stderr = folder.Path, c.said, c.said
	c.cmd.SysProcAttr = bound()
	if err := c.cmd.Start(); err != nil {
		return nil, core.Unavailablef(err, "%s cannot be started: %v", program, err)
	}
	go func() {
		c.err = c.cmd.Wait()
		close(c.ended)
	}()
	return c, nil
}

// grace is how long a server may take to end.
const grace = 15 * time.Second

// stop ends the server and waits until it is over.
func (c *child) stop() {
	select {
	case <-c.ended:
		return
	default:
	}
	_ = c.cmd.Process.Signal(syscall.SIGTERM) // fails if it is over
	select {
	case <-c.ended:
	case <-time.After(grace):
		_ = c.cmd.Process.Kill() // as above
		<-c.ended
	}
}

// problem says why the server ended, as far as it told.
func (c *child) problem() error {
	last := ""
	for line := range strings.SplitSeq(c.said.String()+"\n"+c.logged(), "\n") {
		if line = strings.TrimSpace(line); line != "" && (last == "" || strings.Contains(line, "[FTL]") || !strings.Contains(last, "[FTL]")) {
			last = line
		}
	}
	return core.Unavailablef(c.err, "nats-server has ended: %s", core.OneLine(last, 500)).WithHint("its log: %s", c.folder.file(logName))
}

// logged returns the end of what the server has logged.
func (c *child) logged() string {
	file, err := disk.OpenOwn(c.folder.file(logName), os.O_RDONLY)
	if err != nil {
		return ""
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	from := max(c.began, info.Size()-maxTail)
	if info.Size() < c.began {
		from = max(0, info.Size()-maxTail) // the log was begun anew
	}
	text, _ := io.ReadAll(io.NewSectionReader(file, from, maxTail)) // what can be read
	return string(text)
}

// maxTail is how much of what a server says is kept, in bytes.
const maxTail = 8 << 10

// A tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

// Write keeps the end of what was written.
func (t *tail) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, text...)
	if over := len(t.kept) - maxTail; over > 0 {
		t.kept = bytes.Clone(t.kept[over:])
	}
	return len(text), nil
}

// String returns what is kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}
