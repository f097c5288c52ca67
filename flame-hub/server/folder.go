package server

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io/fs"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"flame/core"
	"flame/flame-hub/client"
	"flame/local/lock"
	"flame/local/place"
)

// The files of a hub's folder.
const (
	ledgerName = "machines.json"
	confName   = "nats.conf"
	certName   = "cert.pem"
	keyName    = "key.pem"
	logName    = "nats.log"
	hubLock    = "hub.lock" // held by `flame hub` while it runs
	editLock   = "machines.lock"
)

// A Folder is the folder in which a hub keeps its data.
type Folder struct {
	Path string // absolute
	// Temporary allows a folder that the machine empties when it restarts.
	Temporary bool
}

// DefaultFolder returns the usual folder of a user's hub: below dataHome, the value of
// XDG_DATA_HOME, or else below home.
func DefaultFolder(dataHome, home string) string {
	if !filepath.IsAbs(dataHome) {
		dataHome = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(dataHome, "flame-hub")
}

// otherData is the hint for a folder that cannot be used.
const otherData = "name another folder with --data"

// check returns an error for a folder of another user, or one that does not survive a restart. It
// accepts a missing folder.
func (f Folder) check() error {
	if strings.ContainsFunc(f.Path, func(c rune) bool { return c < ' ' || c == '"' || c == '\\' || c == 0x7f }) || !filepath.IsAbs(f.Path) {
		return core.Invalidf("the server's configuration cannot contain the path %q", f.Path).WithHint(otherData)
	}
	info, err := os.Lstat(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return core.Unavailablef(err, "%s cannot be used: %v", f.Path, err).WithHint(otherData)
	default:
		if err := place.CheckOwned(f.Path, info, fs.ModeDir); err != nil {
			return core.Unavailablef(err, "%v", err).WithHint(notTrusted)
		}
		if info.Mode().Perm()&0o077 != 0 {
			return core.Invalidf("other users can read %s, and it holds keys", f.Path).WithHint("`chmod 700 %s`, or %s", f.Path, otherData)
		}
	}
	if err := place.CheckFilesystem(f.Path); err != nil {
		return core.Unavailablef(nil, "%v", err).WithHint("name a folder on a local disk with --data")
	}
	if !f.Temporary && isTemporary(f.Path) {
		return core.Invalidf("%s is temporary: it is emptied when the machine restarts, or before", f.Path).
			WithHint("%s; for a trial, --temporary allows it", otherData)
	}
	return nil
}

// notTrusted is the hint for a file or folder that other users may change.
const notTrusted = "move it away, or make it writable only by you; or " + otherData

// isTemporary reports whether a restart may remove the content of a folder.
func isTemporary(path string) bool {
	real, err := filepath.EvalSymlinks(place.Nearest(path))
	if err != nil {
		return false // flame cannot write there either
	}
	for _, temporary := range []string{"/tmp", "/dev/shm", os.TempDir()} {
		for _, dir := range []string{path, real} {
			if rel, err := filepath.Rel(temporary, dir); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
				return true
			}
		}
	}
	return place.InMemory(real)
}

// free returns the free space of the disk in bytes, and whether it is known.
func (f Folder) free() (bytes int64, known bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(f.Path, &st); err != nil {
		return 0, false
	}
	return int64(min(uint64(st.Bavail)*uint64(st.Bsize), math.MaxInt64)), true
}

// prepare checks the folder and makes it.
func (f Folder) prepare() error {
	if err := f.check(); err != nil {
		return err
	}
	if err := os.MkdirAll(f.Path, 0o700); err != nil {
		return core.Unavailablef(err, "%s cannot be made: %v", f.Path, err).WithHint(otherData)
	}
	return f.check() // another user may have made it meanwhile
}

// isHub returns an error for a folder in which no hub has run.
func (f Folder) isHub() error {
	if err := f.check(); err != nil {
		return err
	}
	for _, name := range []string{ledgerName, certName} {
		if _, err := os.Lstat(f.file(name)); !errors.Is(err, fs.ErrNotExist) {
			return nil // reading it reports any other error
		}
	}
	return core.NotFoundf("%s contains no hub", f.Path).WithHint("name its folder with --data; or start one: `flame hub`")
}

// file returns the path of a file of the folder.
func (f Folder) file(name string) string { return filepath.Join(f.Path, name) }

// maxFile is the greatest size of a file in bytes.
const maxFile = 8 << 20

// read returns the content of a file of the folder, unless other users may change it.
func (f Folder) read(name string) ([]byte, error) {
	content, err := place.ReadData(f.file(name), maxFile)
	if errors.Is(err, core.ErrUnavailable) {
		err = core.Unavailablef(err, "%v", err).WithHint(notTrusted)
	}
	return content, err
}

// write replaces a file of the folder.
func (f Folder) write(name string, content []byte) error {
	return place.WriteData(f.file(name), content)
}

// load reads the ledger, or returns an empty one if there is none.
func (f Folder) load() (ledger, error) {
	text, err := f.read(ledgerName)
	if errors.Is(err, fs.ErrNotExist) {
		return ledger{Version: ledgerVersion}, nil
	}
	if err != nil {
		return ledger{}, err
	}
	l, err := parseLedger(text)
	if err != nil {
		return l, core.Invalidf("%s cannot be used: %v", f.file(ledgerName), err).WithHint("repair it, or move it away: machines then join again")
	}
	return l, nil
}

// editPatience is how long a change of the ledger waits for the change of another process.
const editPatience = 5 * time.Second

// edit changes the ledger, one process at a time. It keeps no ledger that fails its check.
func (f Folder) edit(ctx context.Context, change func(*ledger) error) (ledger, error) {
	wait, stop := context.WithTimeout(ctx, editPatience)
	defer stop()
	lock, err := lock.Acquire(wait, f.file(editLock))
	if err != nil {
		return ledger{}, core.Unavailablef(err, "%s cannot be locked: %v", f.file(ledgerName), err)
	}
	defer lock.Release()
	l, err := f.load()
	if err != nil {
		return l, err
	}
	before, err := json.Marshal(l)
	if err != nil {
		return l, err
	}
	if err := change(&l); err != nil {
		return l, err
	}
	if err := l.check(); err != nil {
		return l, err
	}
	if after, err := json.Marshal(l); err != nil || bytes.Equal(before, after) {
		return l, err
	}
	return l, place.WriteJSON(f.file(ledgerName), l)
}

// certificateYears is the validity of a certificate. No machine checks it: machines know the
// certificate itself.
const certificateYears = 10

// certificate returns the SHA-256 of the hub's certificate, in hex. It makes the certificate
// and its key if they do not exist.
func (f Folder) certificate(now time.Time) (pin string, err error) {
	pin, err = f.pin()
	if !errors.Is(err, fs.ErrNotExist) {
		return pin, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return "", err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "flame hub"}, DNSNames: []string{"localhost"},
		NotBefore: now.Add(-24 * time.Hour), NotAfter: now.AddDate(certificateYears, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return "", err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", err
	}
	// The key first: a certificate then always has a key.
	if err := f.write(keyName, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})); err != nil {
		return "", err
	}
	if err := f.write(certName, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})); err != nil {
		return "", err
	}
	return f.pin()
}

// pin returns the SHA-256 of the folder's certificate. Without a certificate the error is
// fs.ErrNotExist.
func (f Folder) pin() (string, error) {
	text, err := f.read(certName)
	if err != nil {
		return "", err
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" {
		return "", core.Invalidf("%s has no certificate", f.file(certName)).WithHint("move it away: the hub then makes another, and machines join again")
	}
	return client.Fingerprint(block.Bytes), nil
}
