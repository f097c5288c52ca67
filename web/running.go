package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"flame/local/guard"
	"flame/local/place"
	"flame/project"
)

// ServerKeys are the address and the secrets of a server of the page.
type ServerKeys struct {
	Addr   string `json:"addr,omitempty"` // host:port on loopback that it listens on; empty: not for others to find
	Token  string `json:"token"`          // that requests for data carry
	Secret string `json:"secret"`         // with which it proves that it is the same server (guard.Proof)
}

// ServerFile keeps the keys of a project's server in its data folder, so that the next
// `flame web` finds the server. A server that starts soon after another's end takes over its
// address and keys, so that open pages continue. Later the keys are worthless, also those that a
// browser has kept.
type ServerFile struct {
	Dir string // the data folder
}

const (
	runningFile = "web.json"
	maxKeys     = 1 << 10 // bytes of that file
	// inherited is how long after a server's end another one may take over its keys.
	inherited = 10 * time.Minute
	// signPace is how often a running server renews the time of the file.
	signPace = time.Minute
)

func (r ServerFile) file() string { return filepath.Join(r.Dir, runningFile) }

// Last returns the keys of the server that runs, or ended a short time ago; zero without one. It trusts only a file that belongs to this user alone, and
// only an address on this machine.
func (r ServerFile) Last() (kept ServerKeys) {
	info, err := os.Lstat(r.file())
	if err != nil || time.Since(info.ModTime()).Abs() > inherited {
		return ServerKeys{}
	}
	content, err := place.ReadSecret(r.file(), maxKeys)
	if err != nil || json.Unmarshal(content, &kept) != nil || len(kept.Secret) < challengeSize || kept.Token == "" {
		return ServerKeys{}
	}
	if at, err := netip.ParseAddrPort(kept.Addr); err != nil || !at.Addr().IsLoopback() || at.Port() == 0 {
		kept.Addr = ""
	}
	return kept
}

// Next returns the keys for a server at an address: those of the last server, or new ones. The
// user may have set the token.
func (r ServerFile) Next(addr net.Addr, token string) ServerKeys {
	last := r.Last()
	next := ServerKeys{Token: cmp.Or(token, last.Token, rand.Text()+rand.Text()), Secret: cmp.Or(last.Secret, rand.Text()+rand.Text())}
	if at, err := netip.ParseAddrPort(addr.String()); err == nil && at.Addr().IsLoopback() {
		next.Addr = at.String()
	}
	return next
}

// Keep writes the keys of a starting server, and renews the time of their file until the caller
// calls end.
func (r ServerFile) Keep(keys ServerKeys) (end func(), err error) {
	err = place.WriteAtomic(r.file(), 0o600, func(w io.Writer) error { return json.NewEncoder(w).Encode(keys) })
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		for range project.Every(ctx, signPace, signPace) {
			now := time.Now()
			_ = os.Chtimes(r.file(), now, now) // at worst the next server has keys of its own
			r.removeLead(signPace)
		}
	}()
	return func() {
		stop()
		r.removeLead(0)
	}, nil
}

// removeLead removes the file that led a browser to the page, once it is older than after.
func (r ServerFile) removeLead(after time.Duration) {
	file := filepath.Join(r.Dir, openFile)
	if info, err := os.Lstat(file); err == nil && time.Since(info.ModTime()) >= after {
		_ = os.Remove(file) // it may remain: it leads nowhere after the server's end
	}
}

const (
	challengeSize = 32              // characters of a challenge, and of a secret, at least
	helloTime     = 2 * time.Second // in which a server on this machine must answer
)

// errAnother reports that another program listens on the server's address.
var errAnother = errors.New("another program listens there")

// Answers reports whether the server of these keys listens. It does not send the token: another
// user's program may have the port.
func (k ServerKeys) Answers(ctx context.Context) bool {
	return k.Addr != "" && k.hello(ctx) == nil
}

func (k ServerKeys) hello(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, helloTime)
	defer cancel()
	challenge := rand.Text() + rand.Text()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+k.Addr+"/hello?challenge="+challenge, nil)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}
	answer, err := client.Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	var told struct {
		Proof string `json:"proof"`
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, 4096)).Decode(&told); err != nil {
		return err
	}
	if subtle.ConstantTimeCompare([]byte(told.Proof), []byte(guard.Proof(k.Secret, k.Addr, challenge))) != 1 {
		return errAnother
	}
	return nil
}
