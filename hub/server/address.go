package server

import (
	"flame/core"
	"flame/hub"
)

// CheckURL returns an error unless text names servers of NATS: one, or several with commas
// between them.
func CheckURL(text string) error {
	if !hub.IsURL(text) {
		return core.Invalidf("that is neither a line that `flame hub invite` printed nor the URL of a NATS server").
			WithHint("a URL is such as nats://USER:PASSWORD@HOST:4222, nats://TOKEN@HOST or tls://HOST")
	}
	return nil
}
