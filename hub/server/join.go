package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"flame/core"
	"flame/hub"
)

// A joining is what a machine sends to `flame hub`.
type joining struct {
	Version int    `json:"version"`
	Machine string `json:"machine"`
	Key     string `json:"key"` // public
	// Signature is by the key that the request speaks for, which its subject names. The
	// server lets nobody else publish there, but it lets answers of its own go anywhere.
	Signature []byte `json:"signature"`
}

// signed returns what is signed of a request.
func (q joining) signed(subject string) []byte {
	return fmt.Appendf(nil, "%s %d %s %s", subject, q.Version, q.Machine, q.Key)
}

// sign signs a request with a private key.
func (q *joining) sign(subject, seed string) error {
	pair, err := nkeys.FromSeed([]byte(seed))
	if err == nil {
		q.Signature, err = pair.Sign(q.signed(subject))
	}
	if err != nil {
		return core.Invalidf("the key is no nkey: %v", err)
	}
	return nil
}

// verify refuses a request that the owner of a public key did not sign.
func (q joining) verify(subject, key string) error {
	pair, err := nkeys.FromPublicKey(key)
	if err == nil {
		err = pair.Verify(q.signed(subject), q.Signature)
	}
	if err != nil {
		return core.Invalidf("the request is not signed by who it speaks for").WithHint("use the same version of flame on both machines")
	}
	return nil
}

// An answer is that of `flame hub`.
type answer struct {
	Version int    `json:"version"`
	Error   string `json:"error,omitempty"` // empty: it is done
	Hint    string `json:"hint,omitempty"`
}

// protocol is the version of joinings and answers.
const protocol = 1

// askTime bounds one question to `flame hub`.
const askTime = 10 * time.Second

// Accept has a machine join the project of an invitation. It returns the link, with a key
// that is made here; the hub gets its public half. A server takes a moment to know it.
func (i Invitation) Accept(ctx context.Context, machine string, now core.Millis) (hub.Link, error) {
	guest, err := nkeys.FromSeed([]byte(i.seed))
	if err != nil {
		return hub.Link{}, err
	}
	invited, err := guest.PublicKey()
	if err != nil {
		return hub.Link{}, err
	}
	seed, public, err := newKey()
	if err != nil {
		return hub.Link{}, err
	}
	by := hub.Identity{URL: i.server(), Seed: i.seed, Pin: i.pin, Inbox: hub.InboxOf(invited)}
	link := hub.Link{URL: i.server(), Project: i.Project, Machine: machine, Seed: seed, Pin: i.pin, JoinedAt: now}
	err = ask(ctx, by, joinSubject+invited, joining{Version: protocol, Machine: machine, Key: public})
	if errors.Is(err, nats.ErrConnectionClosed) { // as the server does once the invitation is used; did the answer get lost?
		if Await(ctx, link) == nil {
			err = nil
		}
	}
	if err != nil {
		return hub.Link{}, err
	}
	return link, nil
}

// GiveBack has a hub that flame runs forget the key of a machine.
func GiveBack(ctx context.Context, link hub.Link) error {
	pair, err := nkeys.FromSeed([]byte(link.Seed))
	if err != nil {
		return core.Invalidf("the key of this machine is damaged")
	}
	public, err := pair.PublicKey()
	if err != nil {
		return err
	}
	by := link.Identity()
	return ask(ctx, by, leaveSubject+public, joining{Version: protocol, Machine: link.Machine, Key: public})
}

// newcomerTime is how long a running hub's server may take to know a key.
const newcomerTime = 10 * time.Second

// Await waits until the server knows the key of a machine that has joined.
func Await(ctx context.Context, link hub.Link) error {
	return await(ctx, link.Identity())
}

// AwaitAt waits until the server, reached at an address of this machine, knows the invitation.
func (i Invitation) AwaitAt(ctx context.Context, address string) error {
	return await(ctx, hub.Identity{URL: scheme + "://" + address, Seed: i.seed, Pin: i.pin, Inbox: hub.InboxOf(i.Project)})
}

// await connects until the server knows the key.
func await(ctx context.Context, i hub.Identity) error {
	ctx, stop := context.WithTimeout(ctx, newcomerTime)
	defer stop()
	for {
		conn, err := i.Dial(ctx)
		if err == nil {
			conn.Close()
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// ask sends a question to `flame hub` and returns what it objects.
func ask(ctx context.Context, i hub.Identity, subject string, question joining) error {
	ctx, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	denied := make(chan error, 1)
	conn, err := i.Dial(ctx, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		select {
		case denied <- err:
		default:
		}
	}))
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := question.sign(subject, i.Seed); err != nil {
		return err
	}
	text, err := json.Marshal(question)
	if err != nil {
		return err
	}
	reply, err := conn.RequestWithContext(ctx, subject, text)
	if err != nil {
		select {
		case err = <-denied:
		default:
		}
		return core.Unavailablef(err, "the server at %s runs, but `flame hub` does not answer: %v", hub.Shown(i.URL), err).WithHint("is `flame hub` running there?")
	}
	var said answer
	if err := json.Unmarshal(reply.Data, &said); err != nil || said.Version != protocol {
		return core.Unavailablef(err, "the hub at %s is of another version of flame", hub.Shown(i.URL)).WithHint("use the same version on both machines")
	}
	if said.Error == "" {
		return nil
	}
	problem := core.Invalidf("the hub refuses: %s", core.OneLine(said.Error, 500))
	if said.Hint != "" {
		return problem.WithHint("%s", core.OneLine(said.Hint, 500))
	}
	return problem
}
