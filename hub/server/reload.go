package server

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"flame/core"
	"flame/store/disk"
)

// reloadTime is how long a server may take to say what it thinks of a configuration.
const reloadTime = 20 * time.Second

// What a server logs of a configuration that it has read again.
const (
	saidTaken   = "[INF] Reloaded server configuration"
	saidRefused = "[ERR] Failed to reload server configuration: "
)

// reload has the server read its configuration again, and returns an error unless the server
// says that it has it. The server goes on as it was with one that it refuses, and says so in
// its log alone. A server that has ended refuses nothing.
func (c *child) reload(ctx context.Context) error {
	log := reading{path: c.folder.file(logName)}
	log.skip()
	if err := c.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		return err
	}
	late := time.After(reloadTime)
	for {
		if known, why := verdict(log.lines(), c.cmd.Process.Pid); why != "" {
			return core.Unavailablef(nil, "nats-server refuses the new configuration: %s", core.OneLine(why, 500)).WithHint(afterRefusal, log.path)
		} else if known {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.ended:
			return nil
		case <-late:
			return core.Unavailablef(nil, "nats-server has not said within %v whether it takes the new configuration", reloadTime).WithHint(afterRefusal, log.path)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// afterRefusal is the hint when a server does not have the configuration that it should.
const afterRefusal = "machines that joined since cannot connect, and those that were removed still can; " +
	"its log, %s, may say more; to have it begin anew, end `flame hub` and start it again"

// verdict looks in lines of a server's log for what it said of its configuration, and why it
// refused it if it did. Clients can have the server log what they choose, but do not know
// its process.
func verdict(lines []string, pid int) (known bool, why string) {
	for _, line := range lines {
		rest, own := strings.CutPrefix(line, fmt.Sprintf("[%d] ", pid))
		_, said, level := strings.Cut(rest, " [")
		if said = "[" + said; !own || !level {
			continue
		}
		if strings.HasPrefix(said, saidTaken) {
			return true, ""
		}
		if why, refused := strings.CutPrefix(said, saidRefused); refused {
			return true, cmp.Or(strings.TrimSpace(why), "it does not say why")
		}
	}
	return false, ""
}

// A reading is how far a log was read, which its server may begin anew at any time.
type reading struct {
	path string
	file os.FileInfo // which was read; nil: none
	at   int64       // offset in it
}

// maxRead is how much is read of a log at once, in bytes.
const maxRead = 1 << 20

// skip has what is in the log now count as read.
func (r *reading) skip() {
	if info, err := os.Lstat(r.path); err == nil {
		r.file, r.at = info, info.Size()
	}
}

// lines returns the next whole lines; none if there are none yet, or they cannot be read.
func (r *reading) lines() []string {
	file, err := disk.OpenOwn(r.path, os.O_RDONLY)
	if err != nil {
		return nil
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	if r.file == nil || !os.SameFile(r.file, info) || info.Size() < r.at {
		r.at = 0
	}
	r.file = info
	text, _ := io.ReadAll(io.NewSectionReader(file, r.at, maxRead)) // what can be read
	whole := bytes.LastIndexByte(text, '\n') + 1
	if whole == 0 && len(text) == maxRead {
		whole = len(text) // no line is so long
	}
	r.at += int64(whole)
	return strings.Split(string(text[:whole]), "\n")
}
