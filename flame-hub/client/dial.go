package client

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"net"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"flame/core"
	"flame/hub"
)

// dialTime bounds one attempt to connect.
const dialTime = 5 * time.Second

// A hub that is silent for pingTime is pinged; after two lost pings the connection ends.
const (
	pingTime  = 4 * time.Second
	pingsLost = 2
)

// errPin reports the certificate of another server.
var errPin = errors.New("its certificate is not the one that this machine joined with")

// An Identity is how a client authenticates to a hub's server.
type Identity struct {
	URL   string
	Seed  string // private nkey; empty: the URL or Creds say who it is
	Pin   string // SHA-256 of the server's certificate, in hex; empty: as the system trusts it
	Inbox string // prefix of the subjects at which it gets answers; no other client may read them
	Creds string // path of a file with JWT and key; may be empty
}

// IdentityOf returns the identity of a machine.
func IdentityOf(l hub.Link) Identity {
	return Identity{URL: l.URL, Seed: l.Seed, Pin: l.Pin, Inbox: InboxOf(l.Machine), Creds: l.Creds}
}

// InboxOf returns the prefix of the subjects at which a client gets answers.
func InboxOf(name string) string { return "_INBOX_" + name }

// Dial connects. It tries once, and the connection does not reconnect: the caller dials
// again and restarts its watches.
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
			return nil, core.Invalidf("the key is not an nkey: %v", err)
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

// pinned trusts one certificate, regardless of its signer.
func pinned(pin string) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, // the pin proves more than names and authorities
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 || Fingerprint(state.PeerCertificates[0].Raw) != pin {
				return errPin
			}
			return nil
		},
	}
}

// Fingerprint returns the Pin of a certificate.
func Fingerprint(certificate []byte) string {
	sum := sha256.Sum256(certificate)
	return hex.EncodeToString(sum[:])
}

// unreached turns an error of connecting into advice.
func (i Identity) unreached(err error) error {
	at := hub.RedactURL(i.URL)
	var problem *core.Problem
	var network *net.OpError
	switch {
	case errors.As(err, &problem):
		return err
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired):
		if i.Pin == "" {
			return core.Invalidf("the server at %s refuses this machine", at).WithHint("give user and password, or a token, in the URL, or a file with --creds")
		}
		return core.Invalidf("the hub at %s does not know this key", at).
			WithHint("an invitation works once and expires: ask for another, `flame hub invite`; " +
				"if this machine had joined, it was removed there, or the hub's folder is new: `flame leave`, then join again")
	case errors.Is(err, errPin):
		return core.Invalidf("another server answers at %s: %v", at, errPin).
			WithHint("if the hub was set up again, ask for another invitation; if not, an attacker may be intercepting the connection")
	case errors.As(err, &network), errors.Is(err, nats.ErrNoServers), errors.Is(err, nats.ErrTimeout):
		return core.Unavailablef(err, "no hub answers at %s: %v", at, err).
			WithHint("is `flame hub` running there, does it listen on more than its own machine (--listen), and may this machine connect?")
	}
	return core.Unavailablef(err, "the hub at %s cannot be used: %v", at, err)
}

// PublicOf returns the public key to the private one of a user.
func PublicOf(seed string) (string, error) {
	pair, err := nkeys.FromSeed([]byte(seed))
	if err != nil {
		return "", core.Invalidf("the key is not an nkey: %v", err)
	}
	public, err := pair.PublicKey()
	if err == nil && !nkeys.IsValidPublicUserKey(public) {
		err = core.Invalidf("the key is of another kind")
	}
	return public, err
}
