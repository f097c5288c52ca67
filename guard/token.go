package guard

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"flame/config/env"
)

const (
	minToken  = 16      // characters: fewer could be guessed
	maxToken  = 1 << 10 // bytes of the file; what flame makes has 43
	tokenSize = 32      // random bytes of a token that flame makes
)

// flawOf returns what is wrong with a token, or "" if nothing is.
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

// KeptToken returns the token kept in the file at path, whose folder must
// exist. It makes one if there is none; servers that start at the same time end
// up with one token. It refuses a file that others could have written or read.
func KeptToken(path string) (string, error) {
	token, err := readToken(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return token, err
	}
	if err := makeToken(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", &Problem{
			Message: fmt.Sprintf("a token cannot be kept in %s: %v", path, err),
			Hint:    "make the folder writable, or set " + env.HTTPToken,
			Cause:   err,
		}
	}
	return readToken(path)
}

// makeToken writes a new token beside path and links it there: a link, unlike a
// rename, replaces nothing, so the first of several servers wins, and nobody
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

// readToken returns the token in the file at path. If there is none, the error
// is fs.ErrNotExist.
func readToken(path string) (string, error) {
	content, err := ReadPrivate(path)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(content)) // a person may have written it
	if flaw := flawOf(token); flaw != "" {
		return "", distrusted(path, flaw)
	}
	return token, nil
}

// ReadPrivate returns the content of a small file that only this user can have written
// and read. If there is none, the error is fs.ErrNotExist; another one is a Problem.
func ReadPrivate(path string) ([]byte, error) {
	// Do not wait for a named pipe in its place.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, unreadable(path, err)
	}
	if why := distrust(info); why != "" {
		return nil, distrusted(path, why)
	}
	content, err := io.ReadAll(io.LimitReader(file, maxToken)) // it may have grown since
	if err != nil {
		return nil, unreadable(path, err)
	}
	return content, nil
}

// unreadable turns trouble with an existing file at path into a Problem.
func unreadable(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return err
	case errors.Is(err, syscall.ELOOP):
		return distrusted(path, "is a symbolic link")
	}
	return &Problem{
		Message: fmt.Sprintf("the token cannot be read: %v", err),
		Hint:    "make the file readable for yourself alone, or set " + env.HTTPToken,
		Cause:   err,
	}
}

// distrust returns why a file cannot be relied on to hold a secret of this
// user's, or "" if it can.
func distrust(info fs.FileInfo) string {
	owner, known := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return "is not a regular file"
	case !known || int(owner.Uid) != os.Geteuid():
		return "belongs to another user"
	case info.Mode().Perm()&0o077 != 0:
		return "can be read or written by others"
	case info.Size() > maxToken:
		return fmt.Sprintf("is longer than %d bytes", maxToken)
	}
	return ""
}

// distrusted returns the Problem of a file that must not be used as the token.
func distrusted(path, why string) error {
	return &Problem{
		Message: fmt.Sprintf("the token is not taken from %s, which %s", path, why),
		Hint:    "delete it, and flame makes another; or set " + env.HTTPToken,
	}
}
