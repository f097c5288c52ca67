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

	"flame/core/merge"
)

// MaxProject is the greatest length of the name of a project in characters.
const MaxProject = 64

// IsProject reports whether name can be the name of a project on a hub.
func IsProject(name string) bool {
	odd := func(c rune) bool {
		letter, digit := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z', c >= '0' && c <= '9'
		return !letter && !digit && c != '-' && c != '_'
	}
	return name != "" && len(name) <= MaxProject && !strings.ContainsFunc(name, odd)
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
	case !IsProject(l.Project):
		return errors.New("its project is missing, or no name of one")
	case !merge.ValidMachine(l.Machine):
		return errors.New("its machine is missing, or no id of one")
	case l.Seed != "" && !isSeed(l.Seed):
		return errors.New("its seed is no private key")
	case l.Creds != "" && !filepath.IsAbs(l.Creds):
		return errors.New("its creds are no absolute path")
	}
	if sum, err := hex.DecodeString(l.Pin); err != nil || l.Pin != "" && len(sum) != 32 {
		return errors.New("its pin is not that of a certificate")
	}
	return nil
}

// isSeed reports whether a text is a private key of a user.
func isSeed(text string) bool {
	pair, err := nkeys.FromSeed([]byte(text))
	if err != nil {
		return false
	}
	public, err := pair.PublicKey()
	return err == nil && nkeys.IsValidPublicUserKey(public)
}
