package guard

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"flame/config/env"
	"flame/core"
	"flame/local/place"
)

const (
	minToken  = 16      // characters; others could guess shorter ones
	maxToken  = 1 << 10 // bytes of the file; flame's own tokens have 43
	tokenSize = 32      // random bytes of a token that flame makes
)

// flawOf returns the flaw of a token; empty if it has none.
func flawOf(token string) string {
	switch {
	case token == "":
		return "is empty"
	case strings.ContainsFunc(token, func(c rune) bool { return c == ' ' || !unicode.IsPrint(c) }):
		return "has blanks or control characters"
	case utf8.RuneCountInString(token) < minToken:
		return fmt.Sprintf("has fewer than %d characters", minToken)
	}
	return ""
}

// KeptToken returns the token in the file at path, whose folder must exist. Without the
// file it makes a token; servers that start at the same time get the same one. It refuses
// a file that others may write or read.
func KeptToken(path string) (string, error) {
	token, err := readToken(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return token, err
	}
	if err := makeToken(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", core.Unavailablef(err, "flame cannot store a token in %s: %v", path, err).
			WithHint("make the folder writable, or set " + env.HTTPToken)
	}
	return readToken(path)
}

// makeToken writes a new token into a file beside path and links that to path. Unlike a
// rename, a link replaces nothing. So the first of several servers wins, and no server
// reads half a token.
func makeToken(path string) error {
	beside, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // created with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(beside.Name())
	token := make([]byte, tokenSize)
	_, _ = rand.Read(token) // never fails (crypto/rand)
	_, err = beside.WriteString(base64.RawURLEncoding.EncodeToString(token))
	if err := errors.Join(err, beside.Sync(), beside.Close()); err != nil {
		return err
	}
	return os.Link(beside.Name(), path)
}

// readToken returns the token in the file at path. Without such a file the error is
// fs.ErrNotExist.
func readToken(path string) (string, error) {
	content, err := place.ReadSecret(path, maxToken)
	if errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	token := strings.TrimSpace(string(content)) // a person may have written it
	if flaw := flawOf(token); err == nil && flaw != "" {
		err = fmt.Errorf("the token in %s %s", path, flaw)
	}
	if err != nil {
		return "", core.Unavailablef(err, "flame cannot use the stored token: %v", err).
			WithHint("delete that file, and flame makes a new token; or set " + env.HTTPToken)
	}
	return token, nil
}
