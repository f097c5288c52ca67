package server

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"flame/core"
	"flame/hub"
)

// A Probe is what a machine sees of the server of its hub.
type Probe struct {
	Version string        // of the server
	Latency time.Duration // of a question and its answer
}

// Ask connects to the server of a link and asks for what flame needs of it.
func Ask(ctx context.Context, link hub.Link) (p Probe, err error) {
	i := identityOf(link)
	conn, err := i.dial(ctx)
	if err != nil {
		return p, unreached(err, i)
	}
	defer conn.Close()
	p.Version = conn.ConnectedServerVersion()
	if p.Latency, err = conn.RTT(); err != nil {
		return p, unreached(err, i)
	}
	if old(p.Version) {
		version := core.OneLine(p.Version, 30)
		return p, core.Invalidf("the server at %s is version %s, and flame needs %d.%d or newer", Shown(link.URL), version, leastMajor, leastMinor).
			WithHint("have it updated")
	}
	js, err := jetstream.New(conn)
	if err != nil {
		return p, err
	}
	ctx, stop := context.WithTimeout(ctx, dialTime)
	defer stop()
	_, err = js.AccountInfo(ctx)
	switch {
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return p, core.Invalidf("the server at %s has no JetStream for this user", Shown(link.URL)).
			WithHint("start it with -js and a store_dir that is not temporary, or have JetStream enabled for the account")
	case err != nil && conn.LastError() != nil && errors.Is(conn.LastError(), nats.ErrPermissionViolation):
		return p, core.Invalidf("the server at %s refuses this user: %v", Shown(link.URL), conn.LastError()).
			WithHint("docs/machines.md lists the subjects that flame needs")
	case err != nil:
		return p, unreached(err, i)
	}
	return p, nil
}

// old reports whether a server is older than flame needs. One that does not tell its version
// is not.
func old(version string) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return false
	}
	major, err := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	return errors.Join(err, err2) == nil && (major < leastMajor || major == leastMajor && minor < leastMinor)
}

// CheckURL returns an error unless text names servers of NATS: one, or several with commas
// between them.
func CheckURL(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		u, err := url.Parse(strings.TrimSpace(part))
		if err != nil || !slices.Contains([]string{"nats", "tls"}, u.Scheme) || u.Hostname() == "" || u.Path != "" && u.Path != "/" || u.RawQuery != "" {
			return core.Invalidf("that is neither a line that `flame hub invite` printed nor the URL of a NATS server").
				WithHint("a URL is such as nats://USER:PASSWORD@HOST:4222, nats://TOKEN@HOST or tls://HOST")
		}
	}
	return nil
}
