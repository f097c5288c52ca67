package hub

import (
	"encoding/hex"
	"errors"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nkeys"

	"flame/core"
	"flame/core/merge"
)

// MaxProject is the greatest length of the name of a project in characters.
const MaxProject = 64

// MaxQueue is the greatest length of the name of a queue in characters.
const MaxQueue = 64

// IsName reports whether a text of at most so many characters may be a part of a subject:
// letters, digits, - and _.
func IsName(text string, most int) bool {
	return text != "" && len(text) <= most && strings.Trim(text, keyChars) == ""
}

// IsURL reports whether text names servers of NATS: one, or several with commas between
// them.
func IsURL(text string) bool {
	for part := range strings.SplitSeq(text, ",") {
		u, err := url.Parse(strings.TrimSpace(part))
		if err == nil && u.Port() != "" {
			_, err = strconv.ParseUint(u.Port(), 10, 16)
		}
		if err != nil || !slices.Contains([]string{"nats", "tls"}, u.Scheme) || u.Hostname() == "" || u.Path != "" && u.Path != "/" || u.RawQuery != "" {
			return false
		}
	}
	return true
}

// check returns an error unless a link can be one that flame has written. The error has
// nothing of it that is secret.
func (l Link) check() error {
	switch {
	case l.URL == "":
		return errors.New("the url is missing")
	case !IsURL(l.URL):
		return errors.New("its url is not that of a NATS server")
	case !IsName(l.Project, MaxProject):
		return errors.New("its project is missing or invalid")
	case !merge.ValidMachine(l.Machine):
		return errors.New("its machine is missing or invalid")
	case l.Creds != "" && !filepath.IsAbs(l.Creds):
		return errors.New("its creds are not an absolute path")
	}
	if _, err := PublicOf(l.Seed); l.Seed != "" && err != nil {
		return errors.New("its seed is not a private key")
	}
	if sum, err := hex.DecodeString(l.Pin); err != nil || l.Pin != "" && len(sum) != 32 {
		return errors.New("its pin is not the hash of a certificate")
	}
	return nil
}

// PublicOf returns the public key to the private one of a user.
func PublicOf(seed string) (string, error) {
	pair, err := nkeys.FromSeed([]byte(seed))
	if err != nil {
		return "", core.Invalidf("the key is not an nkey: %v", err)
	}
	public, err := pair.PublicKey()
	if err == nil && !nkeys.IsValidPublicUserKey(public) {
		err = core.Invalidf("the key is of another kind")
	}
	return public, err
}

// keyChars are those that a key of a bucket may have, but for "=", which begins the keys of
// ids with others, and ".", which has a meaning at either end and when it is doubled.
const keyChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
