package client

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"flame/core"
	"flame/core/merge"
	"flame/hub"
	"flame/project"
	"flame/project/transfer"
)

// A claim expires after claimTime unless its machine renews it, which happens every renewTime.
// The server reports an expired claim for markerTime. It counts whole seconds.
const (
	claimTime  = 15 * time.Second
	renewTime  = 5 * time.Second
	markerTime = time.Minute
)

// claimTries is how often Claim tries again because the claim changed meanwhile.
const claimTries = 5

// Claims are the claims of one machine: while a claim lasts, no other machine takes over its
// frame. Several goroutines may use them.
type Claims struct {
	conn  *Conn
	kv    *Bucket
	lasts time.Duration // whole seconds

	mu   sync.Mutex
	held map[string]held // by frame
}

// held is a claim that this machine has.
type held struct {
	revision uint64
	worked   bool // Hold has had the frame in its list
}

// A claim is the hub's record of one.
type claim struct {
	Frame   string      `json:"frame"`
	Machine string      `json:"machine"`
	At      core.Millis `json:"at"` // when it was made or renewed, by that machine's clock
}

// Claims returns the claims of this machine.
func (c *Conn) Claims(ctx context.Context) (*Claims, error) { return c.claimsFor(ctx, claimTime) }

// claimsFor is Claims for claims that last for another time.
func (c *Conn) claimsFor(ctx context.Context, lasts time.Duration) (*Claims, error) {
	kv, err := c.Bucket(ctx, "claims", func(s *jetstream.StreamConfig) { s.AllowMsgTTL, s.SubjectDeleteMarkerTTL = true, markerTime })
	if err != nil {
		return nil, err
	}
	return &Claims{conn: c, kv: kv, lasts: lasts, held: map[string]held{}}, nil
}

// Claim claims a frame for this machine. If another machine holds the claim, the error names
// it.
func (c *Claims) Claim(ctx context.Context, frame string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.take(ctx, frame, false)
}

// Hold renews the claims of the frames that this machine works in, claims those that it did
// not hold yet, and releases those in which it no longer works. It continues after an error
// and returns all errors. A claim that Claim made expires unless the machine works in the frame.
func (c *Claims) Hold(ctx context.Context, working []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, frame := range working {
		errs = append(errs, c.take(ctx, frame, true))
	}
	for frame, has := range c.held {
		if has.worked && !slices.Contains(working, frame) {
			errs = append(errs, c.release(ctx, frame))
		}
	}
	return errors.Join(errs...)
}

// Release releases all claims that this Claims made.
func (c *Claims) Release(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for frame := range c.held {
		errs = append(errs, c.release(ctx, frame))
	}
	return errors.Join(errs...)
}

// take makes or renews a claim.
func (c *Claims) take(ctx context.Context, frame string, worked bool) error {
	has := c.held[frame]
	for range claimTries {
		revision, err := c.kv.Replace(ctx, keyOf(frame), c.value(frame), has.revision, c.lasts)
		if err == nil {
			c.held[frame] = held{revision, has.worked || worked}
			return nil
		}
		if !IsMismatch(err) {
			return err // held still, as far as is known
		}
		delete(c.held, frame)
		if has.revision, err = c.replaceable(ctx, frame); err != nil {
			return err
		}
	}
	return core.Unavailablef(nil, "several machines claim %s at the same time", frame).WithHint("try again")
}

// replaceable returns the revision that a claim of this machine may replace: that of the
// machine's own claim, which another process may have made, of an invalid value, or 0 without a
// value. If another machine holds the claim, the error says so.
func (c *Claims) replaceable(ctx context.Context, frame string) (revision uint64, err error) {
	value, revision, err := c.kv.Last(ctx, keyOf(frame))
	var by claim
	if err == nil && json.Unmarshal(value, &by) == nil && merge.ValidMachine(by.Machine) && by.Machine != c.conn.link.Machine {
		return 0, core.Invalidf("%s is in use on machine %s", frame, by.Machine).
			WithHint("wait until the frame or its session ends there; the claim expires %s after that machine is gone", c.lasts)
	}
	return revision, err
}

func (c *Claims) value(frame string) []byte {
	text, err := json.Marshal(claim{Frame: frame, Machine: c.conn.link.Machine, At: core.MillisOf(time.Now())})
	if err != nil {
		panic(err) // strings and a number
	}
	return text
}

// release ends a claim, unless it has passed to another machine.
func (c *Claims) release(ctx context.Context, frame string) error {
	err := c.kv.Purge(ctx, keyOf(frame), jetstream.LastRevision(c.held[frame].revision), jetstream.PurgeTTL(markerTime))
	if err != nil && !IsMismatch(err) {
		return c.conn.Told(err)
	}
	delete(c.held, frame)
	return nil
}

// Claim claims a frame of another machine for this one, on the hub that the project with
// this data folder has joined. It makes a connection of its own: the claim lasts a few
// seconds, or until the process that keeps the project connected holds it. If the hub has
// work in the frame that this machine does not know, Claim stores it and refuses the
// claim. Without a hub every claim is granted.
func Claim(ctx context.Context, p *project.Project, data string, frame core.Frame) error {
	link, err := hub.Load(data)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	conn, err := Connect(ctx, link)
	if errors.Is(err, core.ErrUnavailable) {
		return project.UnclaimedError(frame)
	}
	if err != nil {
		return err
	}
	defer conn.Close()
	claims, err := conn.Claims(ctx)
	if err != nil {
		return err
	}
	if err := claims.Claim(ctx, frame.ID); err != nil {
		return err
	}
	if err := conn.unheard(ctx, p, frame.ID); err != nil {
		return errors.Join(err, claims.Release(ctx))
	}
	return nil
}

// unheard stores the hub's document of a frame if it has work that this machine does not know,
// and then returns an error that says so.
func (c *Conn) unheard(ctx context.Context, p *project.Project, id string) error {
	t, err := c.tree(ctx)
	if err != nil {
		return err
	}
	value, _, err := t.Last(ctx, keyOf(id))
	if err != nil {
		return err
	}
	came, is, err := parse(keyOf(id), value, p.Now())
	switch {
	case is == unread:
		return core.Invalidf("%s cannot be taken over, because flame cannot use the hub's version of it: %v", id, err).
			WithHint("use the same version of flame on all machines; is the clock of this machine right?")
	case is == nothing:
		return nil // this machine's document will replace it
	}
	known, err := transfer.Agreed(ctx, p, id)
	if err != nil {
		return err
	}
	both := merge.Merge(known, came).Work
	if w := known.Work; both.Machine == w.Machine && both.Term == w.Term && both.Stamp == w.Stamp && (came.Invalid == nil || known.Invalid != nil) {
		return nil
	}
	if _, err := (transfer.SharedTree{Project: p, Machine: c.link.Machine}).Take(ctx, []merge.Doc{came}); err != nil {
		return err
	}
	return core.Invalidf("%s has changed on machine %s meanwhile; flame has stored these changes", id, came.Work.Machine).
		WithHint("look at the frame, and try again if you still want to take it over")
}
