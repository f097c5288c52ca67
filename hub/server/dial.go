package server

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"flame/core"
	"flame/hub"
)

// dialTime bounds one attempt to connect.
const dialTime = 5 * time.Second

// An identity is how a client of a hub's server shows who it is.
type identity struct {
	URL   string
	Seed  string // private nkey; empty: the URL or Creds say who it is
	Pin   string // of the server's certificate; empty: as the system trusts it
	Inbox string // prefix of the subjects at which it gets answers
	Creds string // path of a file with JWT and key; may be empty
}

// identityOf returns how a machine shows who it is.
func identityOf(l hub.Link) identity {
	return identity{URL: l.URL, Seed: l.Seed, Pin: l.Pin, Inbox: inboxOf(l.Machine), Creds: l.Creds}
}

// dial connects. It tries once, and the connection does not last beyond a fault of the
// network.
func (i identity) dial(ctx context.Context, options ...nats.Option) (*nats.Conn, error) {
	timeout := dialTime
	if until, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(until))
	}
	if timeout <= 0 || ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	options = append([]nats.Option{
		nats.Name("flame"), nats.CustomInboxPrefix(i.Inbox), nats.Timeout(timeout), nats.NoReconnect(), nats.ReconnectBufSize(-1),
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
	return nats.Connect(i.URL, options...)
}

// Shown returns the URL of a server without what is secret in it.
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

// unreached returns the advice for an error of dial.
func unreached(err error, i identity) error {
	url := Shown(i.URL)
	var problem *core.Problem
	var network *net.OpError
	switch {
	case errors.As(err, &problem):
		return err
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired):
		if i.Pin == "" {
			return core.Invalidf("the server at %s does not let this machine in", url).
				WithHint("give user and password, or a token, in the URL, or a file with --creds")
		}
		return core.Invalidf("the hub at %s does not know this key", url).
			WithHint("an invitation works once, and not for long; ask for another: `flame hub invite`")
	case errors.Is(err, errPin):
		return core.Invalidf("what answers at %s is another server: %v", url, errPin).
			WithHint("if the hub was set up anew, ask for another invitation; if not, somebody is between you and it")
	case errors.As(err, &network), errors.Is(err, nats.ErrNoServers), errors.Is(err, nats.ErrTimeout):
		return core.Unavailablef(err, "no hub answers at %s: %v", url, err).
			WithHint("is `flame hub` running there, does it listen on more than its own machine (--listen), and may this machine connect?")
	}
	return core.Unavailablef(err, "the hub at %s cannot be used: %v", url, err)
}
