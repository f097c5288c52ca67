package server

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"flame/core"
	"flame/flame-hub/client"
	"flame/hub"
	"flame/local/lock"
	"flame/project"
)

// An Invitation lets one machine join a project of a hub. It is a secret until it has been
// used or has expired.
type Invitation struct {
	Address string // host:port
	Project string
	seed    string // private nkey
	pin     string // of the server's certificate
}

// scheme is that of URLs of hubs that `flame hub` runs.
const scheme = "tls"

// String returns the argument of `flame join`.
func (i Invitation) String() string {
	return scheme + "://" + i.Address + "/" + i.Project + "#" + i.seed + "." + i.pin
}

// server returns the URL of the hub's server.
func (i Invitation) server() string { return scheme + "://" + i.Address }

// maxLine is the greatest length of an invitation in bytes.
const maxLine = 1 << 10

// IsInvitation reports whether a text is meant as an invitation rather than the URL of a
// server.
func IsInvitation(text string) bool {
	rest, encrypted := strings.CutPrefix(text, scheme+"://")
	_, path, _ := strings.Cut(rest, "/")
	return strings.Contains(text, "#") || encrypted && path != "" // the project, and what came after it is lost
}

// ParseInvitation reads the result of String, which people have passed on.
func ParseInvitation(text string) (Invitation, error) {
	damaged := func(what string) error {
		return core.Invalidf("this is not the whole line that `flame hub invite` printed: %s", what).
			WithHint("copy all of it, with its quotes: a shell takes # as the beginning of a comment")
	}
	if len(text) > maxLine {
		return Invitation{}, damaged("it is too long")
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != scheme || u.User != nil || u.RawQuery != "" {
		return Invitation{}, damaged("it is not a URL that begins with tls://")
	}
	i := Invitation{Address: u.Host, Project: strings.TrimPrefix(u.Path, "/")}
	if err := checkAddress(i.Address); err != nil {
		return i, damaged(err.Error())
	}
	if err := ValidProject(i.Project); err != nil {
		return i, damaged(err.Error())
	}
	i.seed, i.pin, _ = strings.Cut(u.Fragment, ".")
	if _, err := client.PublicOf(i.seed); err != nil {
		return i, damaged("the key is damaged")
	}
	if sum, err := hex.DecodeString(i.pin); err != nil || len(sum) != 32 {
		return i, damaged("the end is missing")
	}
	return i, nil
}

// CheckURL returns an error unless text names servers of NATS: one, or several with commas
// between them.
func CheckURL(text string) error {
	if !hub.IsURL(text) {
		return core.Invalidf("that is neither a line that `flame hub invite` printed nor the URL of a NATS server").
			WithHint("a URL is such as nats://USER:PASSWORD@HOST:4222, nats://TOKEN@HOST or tls://HOST")
	}
	return nil
}

// checkAddress returns an error unless address is host:port.
func checkAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	odd := func(c rune) bool {
		letter, digit := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z', c >= '0' && c <= '9'
		return !letter && !digit && !strings.ContainsRune(".-:_", c)
	}
	if err != nil || host == "" || strings.ContainsFunc(host, odd) {
		return core.Invalidf("%q is not HOST:PORT", core.OneLine(address, maxName))
	}
	if _, err := net.LookupPort("tcp", port); err != nil || strings.Trim(port, "0123456789") != "" {
		return core.Invalidf("%q is not a port", core.OneLine(port, maxName))
	}
	return nil
}

// InviteOptions say who is invited, and how.
type InviteOptions struct {
	Project string
	For     time.Duration // from now on
	Address string        // host:port at which machines reach the hub; empty: where it listens
}

// maxInvitation is the longest time an invitation works.
const maxInvitation = 30 * 24 * time.Hour

// Invite makes an invitation to the hub of a folder.
func (f Folder) Invite(ctx context.Context, g InviteOptions, now time.Time) (Invitation, error) {
	none := Invitation{}
	if g.For <= 0 || g.For > maxInvitation {
		return none, core.Invalidf("an invitation lasts longer than 0 seconds, and at most 30 days").WithHint("such as --expires 1h, or --expires 7d")
	}
	if err := f.isHub(); err != nil {
		return none, err
	}
	pin, err := f.pin()
	if errors.Is(err, fs.ErrNotExist) {
		return none, core.Unavailablef(err, "the hub in %s has no certificate", f.Path).WithHint("`flame hub` makes one when it starts")
	}
	if err != nil {
		return none, err
	}
	seed, public, err := newKey()
	if err != nil {
		return none, err
	}
	l, err := f.edit(ctx, func(l *ledger) error {
		l.expire(now)
		return l.invite(invite{Key: public, Project: g.Project, Expires: core.MillisOf(now.Add(g.For))})
	})
	if err != nil {
		return none, err
	}
	if g.Address == "" {
		g.Address = reachable(l.Listen)
	}
	if err := checkAddress(g.Address); err != nil {
		return none, core.Invalidf("%v", err).WithHint("name the address at which other machines reach the hub with --address")
	}
	return Invitation{Address: g.Address, Project: g.Project, seed: seed, pin: pin}, nil
}

// reachable returns at which address others reach a server that listens on this one.
func reachable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); err != nil || host != "" && (ip == nil || !ip.IsUnspecified()) {
		return listen
	}
	// The address from which this machine would speak to the world, which sends nothing.
	route, err := net.Dial("udp4", "192.0.2.1:9")
	if err != nil {
		return net.JoinHostPort("127.0.0.1", port) // without a network, this machine alone
	}
	defer route.Close()
	host, _, _ = net.SplitHostPort(route.LocalAddr().String()) // a *net.UDPAddr has both
	return net.JoinHostPort(host, port)
}

// reachedHere returns the address at which this machine reaches a server that listens on
// listen.
func reachedHere(listen string) string {
	host, port, _ := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		if host = "127.0.0.1"; ip.To4() == nil {
			host = "::1"
		}
	}
	return net.JoinHostPort(host, port)
}

// Here returns the address at which this machine reaches the hub of the folder.
func (f Folder) Here() (string, error) {
	l, err := f.load()
	return reachedHere(l.Listen), err
}

// Local reports whether only the hub's own machine reaches an address.
func Local(address string) bool {
	host, _, _ := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Running reports whether a hub runs in the folder.
func (f Folder) Running() bool {
	wait, stop := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer stop()
	_, held := lock.HolderOf(wait, f.file(hubLock))
	return held
}

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
	invited, err := client.PublicOf(i.seed)
	if err != nil {
		return hub.Link{}, err
	}
	seed, public, err := newKey()
	if err != nil {
		return hub.Link{}, err
	}
	by := client.Identity{URL: i.server(), Seed: i.seed, Pin: i.pin, Inbox: client.InboxOf(invited)}
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
	public, err := client.PublicOf(link.Seed)
	if err != nil {
		return err
	}
	return ask(ctx, client.IdentityOf(link), leaveSubject+public, joining{Version: protocol, Machine: link.Machine, Key: public})
}

// newcomerTime is how long the server of a running hub may take to accept a new key.
const newcomerTime = 10 * time.Second

// Await waits until the server accepts the key of a machine that has joined.
func Await(ctx context.Context, link hub.Link) error {
	return await(ctx, client.IdentityOf(link))
}

// AwaitAt waits until the server at an address of this machine accepts the invitation.
func (i Invitation) AwaitAt(ctx context.Context, address string) error {
	return await(ctx, client.Identity{URL: scheme + "://" + address, Seed: i.seed, Pin: i.pin, Inbox: client.InboxOf(i.Project)})
}

// await tries to connect until the server accepts the key.
func await(ctx context.Context, i client.Identity) (err error) {
	ctx, stop := context.WithTimeout(ctx, newcomerTime)
	defer stop()
	for range project.Every(ctx, 0, 100*time.Millisecond) {
		conn, refused := i.Dial(ctx)
		if err = refused; err == nil {
			conn.Close()
			return nil
		}
	}
	return err
}

// ask sends a request to `flame hub`. It returns the error in the answer.
func ask(ctx context.Context, i client.Identity, subject string, question joining) error {
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
		return core.Unavailablef(err, "the server at %s runs, but `flame hub` does not answer: %v", hub.RedactURL(i.URL), err).
			WithHint("is `flame hub` running there?")
	}
	var said answer
	if err := json.Unmarshal(reply.Data, &said); err != nil || said.Version != protocol {
		return core.Unavailablef(err, "the hub at %s is of another version of flame", hub.RedactURL(i.URL)).WithHint("use the same version on both machines")
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
