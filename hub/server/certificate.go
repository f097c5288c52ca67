package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io/fs"
	"math/big"
	"time"

	"flame/core"
	"flame/hub"
)

// certificateYears is how long a certificate is valid. Nobody checks that: machines know
// the certificate itself.
const certificateYears = 10

// certificate returns the SHA-256 of the hub's certificate, in hex. It makes one, with its
// key, if there is none.
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
	// The certificate comes last: with it there is a key.
	if err := f.write(keyName, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})); err != nil {
		return "", err
	}
	if err := f.write(certName, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})); err != nil {
		return "", err
	}
	return f.pin()
}

// pin returns the SHA-256 of the certificate that the folder has; fs.ErrNotExist if it has
// none.
func (f Folder) pin() (string, error) {
	text, err := f.read(certName)
	if err != nil {
		return "", err
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" {
		return "", core.Invalidf("%s has no certificate", f.file(certName)).WithHint("move it away: then the hub makes another, and machines join anew")
	}
	return hub.Fingerprint(block.Bytes), nil
}
