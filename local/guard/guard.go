// Package guard decides which requests a listening server accepts: by their Host and
// Origin headers, and by a token. It also stores that token.
package guard

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"flame/config/env"
	"flame/core"
)

// A Guard refuses requests that must not reach a person's own server: those of pages of
// other origins in the person's browser, also by a name that points at loopback (DNS
// rebinding), and those without the token, because other users of the machine can
// connect to loopback, too.
type Guard struct {
	addr     string   // the server's
	loopback bool     // the server listens on loopback
	token    string   // empty: the server requires none
	public   *url.URL // another address of the server for browsers; nil: none
	page     bool     // the server serves a page, and only that page may use it
}

// New returns the guard of a server that listens on addr and requires token with each
// request.
func New(addr, token string) (*Guard, error) {
	loopback, err := onLoopback(addr)
	if err != nil {
		return nil, err
	}
	if flaw := flawOf(token); flaw != "" {
		return nil, core.Invalidf("the token of %s %s", env.HTTPToken, flaw).
			WithHint("set it to a random text of %d characters or more, or unset it: flame then makes one", minToken)
	}
	return &Guard{addr: addr, loopback: loopback, token: token}, nil
}

// WithoutToken returns the guard of a server that listens on addr, a loopback
// address, and requires no token.
func WithoutToken(addr string) (*Guard, error) {
	loopback, err := onLoopback(addr)
	if err != nil {
		return nil, err
	}
	if !loopback {
		return nil, core.Invalidf("other machines can reach %s, so the server needs a token", addr).
			WithHint("omit --no-token, or listen on 127.0.0.1")
	}
	return &Guard{addr: addr, loopback: true}, nil
}

// ForPage returns the guard for the server of a page: only a page of the same origin may
// use it. public is the address, such as https://host.example, by which a browser reaches
// the server through another machine or a proxy; empty: none.
func (g *Guard) ForPage(public string) (*Guard, error) {
	guarded := *g
	guarded.page = true
	if public == "" {
		return &guarded, nil
	}
	at, err := url.Parse(public)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || strings.Trim(at.Path, "/") != "" || at.User != nil {
		return nil, core.Invalidf("%q is not the address of a server", public).
			WithHint("give scheme and host as the browser shows them, as in https://host.example:8443")
	}
	guarded.public = at
	return &guarded, nil
}

// Addr returns the address that the server must listen on. The guard depends on it.
func (g *Guard) Addr() string { return g.addr }

// Protect returns a handler that passes only accepted requests to next.
func (g *Guard) Protect(next http.Handler) http.Handler {
	return g.CheckOrigin(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.knows(r.Header.Get("Authorization")) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="flame"`)
			http.Error(w, "send the server's token as: Authorization: Bearer TOKEN; flame printed its location at start-up", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	}))
}

// CheckOrigin returns a handler that checks the origin of requests, but not their token. It is for
// content that is not secret.
func (g *Guard) CheckOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.URL.Path, "/.well-known/"):
			// A refused client looks for a way to sign in there (OAuth). Any other
			// answer would start that.
			http.NotFound(w, r)
		case g.loopback && !isLoopback(hostname(r.Host)) && !g.isPublic(r.Host):
			said := "this server accepts only requests from its own machine: the Host header must name localhost, 127.0.0.1 or [::1]"
			if g.page {
				said += "; if browsers use another name for it, start it with --public-url"
			}
			http.Error(w, said, http.StatusForbidden)
		case !g.isFromHere(r):
			http.Error(w, "pages of other origins may not use this server", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// isPublic reports whether a Host header names the public address.
func (g *Guard) isPublic(host string) bool {
	return g.public != nil && strings.EqualFold(host, g.public.Host)
}

// Proof returns the answer to a challenge that only a holder of the secret can compute, for
// a server at an address. With it a client recognizes the server before it sends the token.
// The secret must be random, because anyone can test guesses against an answer.
func Proof(secret, addr, challenge string) string {
	sum := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(sum, "flame\n%s\n%s", addr, challenge)
	return hex.EncodeToString(sum.Sum(nil))
}

// knows reports whether an Authorization header has the server's token. It compares
// hashes, which have the same length, in constant time.
func (g *Guard) knows(authorization string) bool {
	if g.token == "" {
		return true
	}
	scheme, token, _ := strings.Cut(authorization, " ")
	given, wanted := sha256.Sum256([]byte(strings.TrimSpace(token))), sha256.Sum256([]byte(g.token))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(given[:], wanted[:]) == 1
}

// isFromHere reports whether r comes from a program, which sends no Origin, or from a
// page of this server's own origin. Every sandboxed page has the origin "null".
func (g *Guard) isFromHere(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	if g.public != nil && len(origins) == 1 && strings.EqualFold(origins[0], g.public.Scheme+"://"+g.public.Host) {
		return true
	}
	return len(origins) == 1 && slices.ContainsFunc(g.names(r), func(host string) bool {
		return strings.ToLower(origins[0]) == "http://"+strings.ToLower(host)
	})
}

// names returns the names that a browser may use for this server: the Host header and,
// on loopback, where a browser may have loaded the page by another name, localhost and
// the address that r arrived at. All have the same port. Browsers omit port 80.
func (g *Guard) names(r *http.Request) []string {
	names := []string{r.Host}
	local, known := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !g.loopback || !known || g.page {
		return names
	}
	_, port, _ := net.SplitHostPort(r.Host) // an error means no port
	for _, host := range []string{"localhost", local.IP.String()} {
		names = append(names, strings.TrimSuffix(net.JoinHostPort(host, port), ":"))
	}
	return names
}

// hostname returns the host of a Host header, which may lack the port.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}

// isLoopback reports whether host is localhost or a loopback address. It does not look up
// other names, because their addresses could change after the check.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// onLoopback reports whether only this machine reaches addr, which is host:port.
func onLoopback(addr string) (bool, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false, core.Invalidf("%q is not an address to listen on", addr).
			WithHint("give host and port, as in 127.0.0.1:7433; port 0 picks a free one")
	}
	return isLoopback(host), nil
}
