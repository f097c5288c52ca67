package server

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"flame/core"
)

// CheckURL returns an error unless text names servers of NATS: one, or several with commas
// between them.
func CheckURL(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		u, err := url.Parse(strings.TrimSpace(part))
		if err == nil && u.Port() != "" {
			_, err = strconv.ParseUint(u.Port(), 10, 16)
		}
		if err != nil || !slices.Contains([]string{"nats", "tls"}, u.Scheme) || u.Hostname() == "" || u.Path != "" && u.Path != "/" || u.RawQuery != "" {
			return core.Invalidf("that is neither a line that `flame hub invite` printed nor the URL of a NATS server").
				WithHint("a URL is such as nats://USER:PASSWORD@HOST:4222, nats://TOKEN@HOST or tls://HOST")
		}
	}
	return nil
}
