package tools

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"flame/core"
)

// A guard keeps away what must not reach a server on a person's own machine:
// pages in their browser, under their own origin or by a name that was pointed
// at loopback (DNS rebinding), and, beyond loopback, everyone without the token.
type guard struct {
	loopback bool   // the server listens on loopback
	token    string // empty: none is asked for
}

// newGuard fits the guard to the address that the server will listen on. Beyond
// loopback there must be a token.
func newGuard(addr, token string) (guard, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return guard{}, core.Invalidf("%q is not an address to listen on", addr).
			WithHint("give host and port, as in 127.0.0.1:7433; port 0 takes a free one")
	}
	g := guard{loopback: isLoopback(host), token: token}
	if !g.loopback && token == "" {
		return guard{}, core.Invalidf("%s can be reached by other machines, and no token is set", addr).
			WithHint("set FLAME_HTTP_TOKEN to a long random text that clients send as a bearer token, or listen on 127.0.0.1")
	}
	return g, nil
}

// protect lets only allowed requests through to next.
func (g guard) protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case g.loopback && !isLoopback(hostname(r.Host)):
			http.Error(w, "this server is for its own machine: the Host header must name localhost, 127.0.0.1 or [::1]", http.StatusForbidden)
		case !allowedOrigin(r.Header.Values("Origin")):
			http.Error(w, "pages of other origins may not use this server", http.StatusForbidden)
		case !g.knows(r.Header.Get("Authorization")):
			w.Header().Set("WWW-Authenticate", `Bearer realm="flame"`)
			http.Error(w, "send the token of FLAME_HTTP_TOKEN as: Authorization: Bearer TOKEN", http.StatusUnauthorized)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// knows compares in constant time: hashes have one length.
func (g guard) knows(authorization string) bool {
	if g.token == "" {
		return true
	}
	scheme, token, _ := strings.Cut(authorization, " ")
	given, wanted := sha256.Sum256([]byte(strings.TrimSpace(token))), sha256.Sum256([]byte(g.token))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(given[:], wanted[:]) == 1
}

// allowedOrigin is for none, which is what programs send, and for pages that
// were loaded from this machine. "null" is any sandboxed page.
func allowedOrigin(origins []string) bool {
	if len(origins) == 0 {
		return true
	}
	if len(origins) > 1 {
		return false
	}
	origin, err := url.Parse(origins[0])
	return err == nil && (origin.Scheme == "http" || origin.Scheme == "https") && isLoopback(origin.Hostname())
}

// hostname is the host of a Host header, which may lack the port.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}

// isLoopback tells whether host is this machine by its name or address. Other
// names are not looked up: an answer could change after the check.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}
