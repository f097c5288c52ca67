package wrap

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"flame/core"
)

// A Port is an open port of 127.0.0.1 that several processes share.
type Port struct {
	Addr string // host and number
	file *os.File
}

// NewSecret returns a random path that cannot be guessed.
func NewSecret() string { return rand.Text() }

// Base returns the base URL of a gateway at an address.
func Base(addr, secret string) string { return "http://" + addr + "/" + secret }

// bases matches the base URLs of gateways.
var bases = core.Pattern(`^http://(127\.0\.0\.1:\d+)/[A-Z2-7]{26}$`)

// IsGone reports whether a base URL is that of a gateway where nothing listens any more.
func IsGone(base string) bool {
	found := bases().FindStringSubmatch(base)
	if found == nil {
		return false
	}
	conn, err := net.DialTimeout("tcp", found[1], time.Second)
	if err != nil {
		return errors.Is(err, syscall.ECONNREFUSED)
	}
	_ = conn.Close() // nothing was sent
	return false
}

// Open opens any port that is free.
func Open() (*Port, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	shared, err := l.(*net.TCPListener).File()
	if err != nil {
		return nil, err
	}
	defer shared.Close()
	// Handing a file on would make it blocking for all who share it, a running gateway
	// too, if Go took it for one that is not.
	own, err := unix.FcntlInt(shared.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return &Port{Addr: l.Addr().String(), file: os.NewFile(uintptr(own), l.Addr().String())}, nil
}

// Close closes the port for this process.
func (p *Port) Close() error { return p.file.Close() }

// inherited is the number under which a gateway finds the port: the first after stderr.
const inherited = 3

// InheritedPort returns the port that this process, a gateway, was started with.
func InheritedPort() (net.Listener, error) {
	file := os.NewFile(inherited, "port")
	defer file.Close()
	l, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("this process was started without a port: %w", err)
	}
	return l, nil
}
