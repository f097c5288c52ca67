package hub

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"flame/core"
	"flame/core/merge"
)

// A claim lasts for claimTime unless it is renewed, which happens every renewTime; for
// markerTime the server tells of its end. It counts whole seconds.
const (
	claimTime  = 15 * time.Second
	renewTime  = 5 * time.Second
	markerTime = time.Minute
)

// claimTries is how often a claim is tried for that changes under one's hands.
const claimTries = 5

// Claims are those of one machine: a frame that it has claimed is taken over by no other as
// long as the claim lasts. It may be used by several goroutines.
type Claims struct {
	conn  *Conn
	kv    jetstream.KeyValue
	lasts time.Duration // whole seconds

	mu   sync.Mutex
	held map[string]held // by frame
}

// held is a claim that this machine has.
type held struct {
	revision uint64
	worked   bool // Hold was told that this machine works in the frame
}

// A claim is what is kept of one on the hub.
type claim struct {
	Frame   string      `json:"frame"`
	Machine string      `json:"machine"`
	At      core.Millis `json:"at"` // when it was made or renewed, by that machine's clock
}

// Claims returns the claims of this machine.
func (c *Conn) Claims(ctx context.Context) (*Claims, error) { return c.claimsFor(ctx, claimTime) }

// claimsFor is Claims with another time that they last.
func (c *Conn) claimsFor(ctx context.Context, lasts time.Duration) (*Claims, error) {
	kv, stream, err := c.Bucket(ctx, "claims", func(s *jetstream.StreamConfig) { s.AllowMsgTTL, s.SubjectDeleteMarkerTTL = true, markerTime })
	if err != nil {
		return nil, err
	}
	if config := stream.CachedInfo().Config; !config.AllowMsgTTL {
		return nil, core.Invalidf("the bucket %s of the hub lets no key expire", kv.Bucket()).
			WithHint("delete the stream KV_%s on the server; flame makes it again as it has to be", kv.Bucket())
	}
	return &Claims{conn: c, kv: kv, lasts: lasts, held: map[string]held{}}, nil
}

// Claim has this machine hold the claim of a frame. If another machine holds it, the error
// names that.
func (c *Claims) Claim(ctx context.Context, frame string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.take(ctx, frame, false)
}

// Hold renews the claims of the frames that this machine works in, claims those that it did
// not hold yet, and releases those in which it no longer works. It goes on after an error,
// and returns all. A claim that was only made by Claim and not worked in since ends by
// itself.
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

// Release releases all claims of which this Claims knows.
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
	has, known := c.held[frame]
	for range claimTries {
		var err error
		if known {
			has.revision, err = c.renew(ctx, frame, has.revision)
		} else {
			has.revision, err = c.kv.Create(ctx, keyOf(frame), c.value(frame), jetstream.KeyTTL(c.lasts))
		}
		if err == nil {
			has.worked = has.worked || worked
			c.held[frame] = has
			return nil
		}
		if !errors.Is(err, jetstream.ErrKeyExists) && !IsMismatch(err) {
			return c.conn.Told(err) // held still, as far as is known
		}
		delete(c.held, frame)
		if has.revision, known, err = c.mine(ctx, frame); err != nil {
			return err
		}
	}
	return core.Unavailablef(nil, "several machines want %s at once", frame).WithHint("try again")
}

// mine returns the revision of a claim that this machine may renew: its own, perhaps another
// process's, or what is no claim at all. If there is none, known is false; if another
// machine holds it, the error says so.
func (c *Claims) mine(ctx context.Context, frame string) (revision uint64, known bool, err error) {
	e, err := c.kv.Get(ctx, keyOf(frame))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, c.conn.Told(err)
	}
	var by claim
	err = json.Unmarshal(e.Value(), &by)
	if err == nil && merge.ValidMachine(by.Machine) && by.Machine != c.conn.link.Machine {
		return 0, false, core.Invalidf("%s is being worked in on machine %s", frame, by.Machine).
			WithHint("wait until that has ended it, or its session has; %s after that machine is gone, its claim ends", c.lasts)
	}
	return e.Revision(), true, nil
}

// renew writes a claim anew. The client's own update of a key would drop its end.
func (c *Claims) renew(ctx context.Context, frame string, revision uint64) (uint64, error) {
	m := &nats.Msg{Subject: "$KV." + c.kv.Bucket() + "." + keyOf(frame), Data: c.value(frame), Header: nats.Header{}}
	ack, err := c.conn.js.PublishMsg(ctx, m, jetstream.WithMsgTTL(c.lasts), jetstream.WithExpectLastSequencePerSubject(revision))
	if err != nil {
		return revision, err
	}
	return ack.Sequence, nil
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
