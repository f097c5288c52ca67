// Package guard decides who may connect to a listening server: by the Host and
// Origin of a request, and by a token. It also keeps that token.
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
)

// A Guard keeps out what must not reach a person's own server: pages in their
// browser, under their own origin or by a name that was pointed at loopback
// (DNS rebinding), and everyone without the token. Other users of the machine
// can connect to loopback, too.
type Guard struct {
	addr     string   // the server's
	loopback bool     // the server listens on loopback
	token    string   // empty: none is required
	public   *url.URL // another address that it is reached by; nil: none
	page     bool     // it serves a page: only that page may use it
}

// New returns the guard of a server that listens on addr and requires token
// with every request.
func New(addr, token string) (*Guard, error) {
	loopback, err := onLoopback(addr)
	if err != nil {
		return nil, err
	}
	if flaw := flawOf(token); flaw != "" {
		return nil, &Problem{
			Message: "the token of " + env.HTTPToken + " " + flaw,
			Hint:    fmt.Sprintf("set it to a random text of %d characters or more, or unset it: flame makes one itself then", minToken),
		}
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
		return nil, &Problem{
			Message: addr + " can be reached by other machines, so a token is required",
			Hint:    "leave --no-token out, or listen on 127.0.0.1",
		}
	}
	return &Guard{addr: addr, loopback: true}, nil
}

// ForPage returns the guard for the server of a page: a page of the same origin may use
// it, and no other. public is the address by which a browser reaches it through another
// machine or a proxy, as in https://host.example; empty: none.
func (g *Guard) ForPage(public string) (*Guard, error) {
	guarded := *g
	guarded.page = true
	if public == "" {
		return &guarded, nil
	}
	at, err := url.Parse(public)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || strings.Trim(at.Path, "/") != "" || at.User != nil {
		return nil, &Problem{
			Message: fmt.Sprintf("%q is not the address of a server", public),
			Hint:    "give scheme and host as the browser shows them, as in https://host.example:8443",
		}
	}
	guarded.public = at
	return &guarded, nil
}

// Addr returns the address that the server must listen on: the guard depends on
// it.
func (g *Guard) Addr() string { return g.addr }

// Protect returns a handler that passes only allowed requests to next.
func (g *Guard) Protect(next http.Handler) http.Handler {
	return g.Screen(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.knows(r.Header.Get("Authorization")) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="flame"`)
			http.Error(w, "send the server's token as: Authorization: Bearer TOKEN; flame said at start-up where that is", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	}))
}

// Screen returns a handler that passes requests to next by where they come from, with a
// token or without: for what is no secret.
func (g *Guard) Screen(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.URL.Path, "/.well-known/"):
			// A refused client looks there for a way to sign in (OAuth), and
			// starts one unless told that there is none.
			http.NotFound(w, r)
		case g.loopback && !isLoopback(hostname(r.Host)) && !g.isPublic(r.Host):
			said := "this server is for its own machine: the Host header must name localhost, 127.0.0.1 or [::1]"
			if g.page {
				said += "; where a browser reaches it by another name, start it with --public-url"
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

// Proof returns what only a holder of the secret can answer to a challenge, for a server
// at an address: whoever asks learns that it is the right one before sending the token.
// The secret must be random: from an answer others can try out guesses.
func Proof(secret, addr, challenge string) string {
	sum := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(sum, "flame\n%s\n%s", addr, challenge)
	return hex.EncodeToString(sum.Sum(nil))
}

// knows reports whether the token is the server's. It compares hashes, which
// have one length, in constant time.
func (g *Guard) knows(authorization string) bool {
	if g.token == "" {
		return true
	}
	scheme, token, _ := strings.Cut(authorization, " ")
	given, wanted := sha256.Sum256([]byte(strings.TrimSpace(token))), sha256.Sum256([]byte(g.token))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(given[:], wanted[:]) == 1
}

// isFromHere reports whether r comes from a program, which sends no Origin, or
// from a page of this server's own origin. "null" is any sandboxed page.
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

// names returns the names a browser may use for this server: the Host header's
// and, on loopback, where a page may have been loaded by another name, also
// localhost and the address that r arrived at. The port is the same; browsers
// omit that of http.
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

// isLoopback reports whether host is this machine by its name or address. Other
// names are not looked up: an answer could change after the check.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// onLoopback reports whether addr, as host:port, is reachable only from this
// machine.
func onLoopback(addr string) (bool, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false, &Problem{
			Message: fmt.Sprintf("%q is not an address to listen on", addr),
			Hint:    "give host and port, as in 127.0.0.1:7433; port 0 picks a free one",
		}
	}
	return isLoopback(host), nil
}
