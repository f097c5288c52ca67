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
	"flame/project"
)

// A joining is a request of a machine to `flame hub`.
type joining struct {
	Version int    `json:"version"`
	Machine string `json:"machine"`
	Key     string `json:"key"` // public
	// Signature is made with the key that the request's subject names. The server lets no other
	// client publish to that subject, but a client can have the server send its answers there.
	Signature []byte `json:"signature"`
}

// signed returns the text of a request that is signed.
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
		return core.Invalidf("the key is not an nkey: %v", err)
	}
	return nil
}

// verify returns an error unless the owner of a public key has signed the request.
func (q joining) verify(subject, key string) error {
	pair, err := nkeys.FromPublicKey(key)
	if err == nil {
		err = pair.Verify(q.signed(subject), q.Signature)
	}
	if err != nil {
		return core.Invalidf("the request is not signed with the key that it names").WithHint("use the same version of flame on both machines")
	}
	return nil
}

// An answer is the answer of `flame hub` to a request.
type answer struct {
	Version int    `json:"version"`
	Error   string `json:"error,omitempty"` // empty: the request was carried out
	Hint    string `json:"hint,omitempty"`
}

// protocol is the version of joinings and answers.
const protocol = 1

// askTime bounds one request to `flame hub`.
const askTime = 10 * time.Second

// Accept has a machine join the project of an invitation. It makes a key, sends its public half
// to the hub, and returns the link with the private half. The server knows the key a moment later.
func (i Invitation) Accept(ctx context.Context, machine string, now core.Millis) (hub.Link, error) {
	invited, err := hub.PublicOf(i.seed)
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
	if errors.Is(err, nats.ErrConnectionClosed) { // the server closes it once the invitation is used: the answer may be lost
		if Await(ctx, link) == nil {
			err = nil
		}
	}
	if err != nil {
		return hub.Link{}, err
	}
	return link, nil
}

// GiveBack removes the key of a machine from a hub that flame runs.
func GiveBack(ctx context.Context, link hub.Link) error {
	public, err := hub.PublicOf(link.Seed)
	if err != nil {
		return err
	}
	return ask(ctx, link.Identity(), leaveSubject+public, joining{Version: protocol, Machine: link.Machine, Key: public})
}

// newcomerTime is how long the server of a running hub may take to accept a new key.
const newcomerTime = 10 * time.Second

// Await waits until the server accepts the key of a machine that has joined.
func Await(ctx context.Context, link hub.Link) error {
	return await(ctx, link.Identity())
}

// AwaitAt waits until the server at an address of this machine accepts the invitation.
func (i Invitation) AwaitAt(ctx context.Context, address string) error {
	return await(ctx, hub.Identity{URL: scheme + "://" + address, Seed: i.seed, Pin: i.pin, Inbox: hub.InboxOf(i.Project)})
}

// await tries to connect until the server accepts the key.
func await(ctx context.Context, i hub.Identity) (err error) {
	ctx, stop := context.WithTimeout(ctx, newcomerTime)
	defer stop()
	for range project.Steadily(ctx, 0, 100*time.Millisecond) {
		conn, refused := i.Dial(ctx)
		if err = refused; err == nil {
			conn.Close()
			return nil
		}
	}
	return err
}

// ask sends a request to `flame hub`. It returns the error in the answer.
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
