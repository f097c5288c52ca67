package supervise

import (
	"errors"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// lazily compiles an expression when it is needed: most flame processes never
// do.
func lazily(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// passing matches transient errors: too many requests, server trouble, a broken
// connection (spec: agents §8).
var passing = lazily(`(?i)\b(429|5\d\d)\b|overloaded|rate.?limit|too many requests|` +
	`connection (closed|reset|error|refused)|socket hang up|ECONNRESET|ETIMEDOUT|fetch failed|network error|` +
	`temporarily unavailable|usage limit|database is locked|SQLITE_BUSY`)

// permanent matches errors that no retry fixes, whatever else they say.
var permanent = lazily(`(?i)authenticat|unauthori[sz]ed|\b40[0134]\b|invalid.{0,10}key|permission|` +
	`credit balance|budget|context.{0,20}(length|window|limit|overflow)|prompt is too long|max.?turns`)

// transient reports whether another attempt may help after this error.
func transient(text string) bool {
	return passing().MatchString(text) && !permanent().MatchString(text)
}

// transientStart reports whether a process that could not be started may start
// later.
func transientStart(err error) bool {
	return errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.ETXTBSY)
}

var (
	resetAt    = lazily(`\|(\d{10})\b`) // "usage limit reached|1790000000"
	retryAfter = lazily(`(?i)(?:retry.?after|try again in)\D{0,3}(\d{1,5})\s*(ms|m|s)?`)
)

// delay returns the pause before another attempt, the first being 0: it
// doubles, with jitter so that many do not retry at once. A time named in the
// error is respected.
func delay(first time.Duration, attempt int, text string, now time.Time) time.Duration {
	if m := resetAt().FindStringSubmatch(text); m != nil {
		if at, err := strconv.ParseInt(m[1], 10, 64); err == nil {
			return max(time.Unix(at, 0).Sub(now), 0)
		}
	}
	pause := first << attempt
	if m := retryAfter().FindStringSubmatch(text); m != nil {
		n, err := strconv.Atoi(m[1])
		unit := map[string]time.Duration{"ms": time.Millisecond, "m": time.Minute}[strings.ToLower(m[2])]
		if unit == 0 {
			unit = time.Second
		}
		if err == nil {
			return max(time.Duration(n)*unit, pause)
		}
	}
	return pause + rand.N(pause/4+1)
}
