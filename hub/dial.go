package hub

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"flame/core"
)

// dialTime bounds one attempt to connect.
const dialTime = 5 * time.Second

// A hub that says nothing for pingTime is asked for a sign of life; one that misses two
// of them is gone.
const (
	pingTime  = 4 * time.Second
	pingsLost = 2
)

// errPin is another server's certificate.
var errPin = errors.New("its certificate is not the one that was agreed on")

// An Identity is how a client of a hub's server shows who it is.
type Identity struct {
	URL   string
	Seed  string // private nkey; empty: the URL or Creds say who it is
	Pin   string // SHA-256 of the server's certificate, in hex; empty: as the system trusts it
	Inbox string // prefix of the subjects at which it gets answers; no other client may read them
	Creds string // path of a file with JWT and key; may be empty
}

// Identity returns how a machine shows who it is.
func (l Link) Identity() Identity {
	return Identity{URL: l.URL, Seed: l.Seed, Pin: l.Pin, Inbox: InboxOf(l.Machine), Creds: l.Creds}
}

// InboxOf returns the prefix of the subjects at which a client gets answers.
func InboxOf(name string) string { return "_INBOX_" + name }

// Dial connects. It tries once, and the connection does not last beyond a fault of the
// network: whoever needs another dials again, and begins anew what it watched.
func (i Identity) Dial(ctx context.Context, options ...nats.Option) (*nats.Conn, error) {
	timeout := dialTime
	if until, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(until))
	}
	if timeout <= 0 || ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	options = append([]nats.Option{
		nats.Name("flame"), nats.CustomInboxPrefix(i.Inbox), nats.Timeout(timeout), nats.NoReconnect(), nats.ReconnectBufSize(-1),
		nats.PingInterval(pingTime), nats.MaxPingsOutstanding(pingsLost),
	}, options...)
	if i.Seed != "" {
		pair, err := nkeys.FromSeed([]byte(i.Seed))
		if err != nil {
			return nil, core.Invalidf("the key is no nkey: %v", err)
		}
		public, err := pair.PublicKey()
		if err != nil {
			return nil, err
		}
		options = append(options, nats.Nkey(public, pair.Sign))
	}
	if i.Pin != "" {
		options = append(options, nats.Secure(pinned(i.Pin)))
	}
	if i.Creds != "" {
		options = append(options, nats.UserCredentials(i.Creds))
	}
	nc, err := nats.Connect(i.URL, options...)
	if err != nil {
		return nil, i.unreached(err)
	}
	return nc, nil
}

// pinned trusts one certificate, whoever signed it.
func pinned(pin string) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, // names and authorities say less than the pin
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 || Fingerprint(state.PeerCertificates[0].Raw) != pin {
				return errPin
			}
			return nil
		},
	}
}

// Fingerprint returns what Pin is of a certificate.
func Fingerprint(certificate []byte) string {
	sum := sha256.Sum256(certificate)
	return hex.EncodeToString(sum[:])
}

// Shown returns the URL of a server, or of several, without what is secret in it.
func Shown(address string) string {
	var shown []string
	for part := range strings.SplitSeq(address, ",") {
		u, err := url.Parse(strings.TrimSpace(part))
		if err != nil || u.Host == "" {
			return "a server"
		}
		shown = append(shown, u.Scheme+"://"+u.Host)
	}
	return strings.Join(shown, ",")
}

// unreached returns the advice for an error of connecting.
func (i Identity) unreached(err error) error {
	at := Shown(i.URL)
	var problem *core.Problem
	var network *net.OpError
	switch {
	case errors.As(err, &problem):
		return err
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired):
		if i.Pin == "" {
			return core.Invalidf("the server at %s does not let this machine in", at).WithHint("give user and password, or a token, in the URL, or a file with --creds")
		}
		return core.Invalidf("the hub at %s does not know this key", at).
			WithHint("an invitation works once, and not for long: ask for another, `flame hub invite`; " +
				"a machine that had joined was removed there, or the hub's folder is new: `flame leave`, then join anew")
	case errors.Is(err, errPin):
		return core.Invalidf("what answers at %s is another server: %v", at, errPin).
			WithHint("if the hub was set up anew, ask for another invitation; if not, somebody is between you and it")
	case errors.As(err, &network), errors.Is(err, nats.ErrNoServers), errors.Is(err, nats.ErrTimeout):
		return core.Unavailablef(err, "no hub answers at %s: %v", at, err).
			WithHint("is `flame hub` running there, does it listen on more than its own machine (--listen), and may this machine connect?")
	}
	return core.Unavailablef(err, "the hub at %s cannot be used: %v", at, err)
}
