package server

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"flame/core"
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
