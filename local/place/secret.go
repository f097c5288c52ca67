package place

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"flame/core"
)

// secretSize is the number of random bytes of a secret that flame makes; maxSecret bounds the file
// with one, which a person may have written.
const (
	secretSize = 32
	maxSecret  = 1 << 10
)

// KeptSecret returns the text in a file that only this user may read. Without the file it makes
// one, with a random text; processes that do so at the same time get the same one.
func KeptSecret(path string) (string, error) {
	secret, err := secretIn(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return secret, err
	}
	if err := makeSecret(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", core.Unavailablef(err, "flame cannot store a secret in %s: %v", path, err).WithHint("make the folder writable")
	}
	return secretIn(path)
}

// secretIn returns the text in the file at path. Without such a file the error is
// fs.ErrNotExist.
func secretIn(path string) (string, error) {
	content, err := ReadSecret(path, maxSecret)
	return strings.TrimSpace(string(content)), err
}

// makeSecret writes a new secret into a file beside path and links that to path. Unlike a
// rename, a link replaces nothing. So the first of several processes wins, and no process
// reads half a secret.
func makeSecret(path string) error {
	beside, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // created with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(beside.Name())
	secret := make([]byte, secretSize)
	_, _ = rand.Read(secret) // never fails (crypto/rand)
	_, err = beside.WriteString(base64.RawURLEncoding.EncodeToString(secret))
	if err := errors.Join(err, beside.Sync(), beside.Close()); err != nil {
		return err
	}
	return os.Link(beside.Name(), path)
}

// StampKeyName is the file with the key by which flame's hooks prove who makes a call.
const StampKeyName = "stamp-key"

// StampKey returns the key by which flame's hooks prove who makes a call. With write, it makes a
// missing key, and the folder for it.
func (f *Folder) StampKey(ctx context.Context, write bool) ([]byte, error) {
	if f.failed != nil {
		return nil, f.failed
	}
	path := filepath.Join(f.Path, StampKeyName)
	text, err := secretIn(path)
	if errors.Is(err, fs.ErrNotExist) && write {
		if _, err = f.Ready(ctx, true); err == nil {
			text, err = KeptSecret(path)
		}
	}
	if err != nil {
		return nil, err
	}
	key, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(key) != secretSize {
		return nil, core.Unavailablef(nil, "%s is damaged", path).WithHint("delete that file, and flame makes a new key; then start the hosts' sessions anew")
	}
	return key, nil
}
