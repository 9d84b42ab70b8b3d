package provenance

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/workfs"
)

// PublicKey is a key that is trusted, or not: Ed25519, or ECDSA on P-256. Its id
// is its OpenSSH fingerprint.
type PublicKey struct {
	id     string
	public crypto.PublicKey
}

// ID is SHA256: and the fingerprint.
func (k *PublicKey) ID() string { return k.id }

// KeyID implements dsse.Verifier.
func (k *PublicKey) KeyID() (string, error) { return k.id, nil }

// Public implements dsse.Verifier.
func (k *PublicKey) Public() crypto.PublicKey { return k.public }

// Verify implements dsse.Verifier.
func (k *PublicKey) Verify(_ context.Context, data, sig []byte) error {
	ok := false
	switch p := k.public.(type) {
	case ed25519.PublicKey:
		ok = ed25519.Verify(p, data, sig)
	case *ecdsa.PublicKey:
		sum := sha256.Sum256(data)
		ok = ecdsa.VerifyASN1(p, sum[:], sig)
	}
	if !ok {
		return errors.New("the signature does not verify")
	}
	return nil
}

// PrivateKey signs.
type PrivateKey struct {
	PublicKey
	private crypto.Signer
}

// Sign implements dsse.Signer.
func (k *PrivateKey) Sign(_ context.Context, data []byte) ([]byte, error) {
	if _, ok := k.private.(ed25519.PrivateKey); ok {
		return k.private.Sign(rand.Reader, data, crypto.Hash(0))
	}
	sum := sha256.Sum256(data)
	return k.private.Sign(rand.Reader, sum[:], crypto.SHA256)
}

func publicKey(public crypto.PublicKey) (*PublicKey, error) {
	switch p := public.(type) {
	case ed25519.PublicKey:
	case *ecdsa.PublicKey:
		if p.Curve != elliptic.P256() {
			return nil, fmt.Errorf("its curve is %s; P-256 is expected", p.Curve.Params().Name)
		}
	default:
		return nil, fmt.Errorf("it is a %T; Ed25519 or ECDSA on P-256 is expected", public)
	}
	id, err := dsse.SHA256KeyID(public)
	if err != nil {
		return nil, err
	}
	return &PublicKey{id, public}, nil
}

// maxKey bounds a key's file in bytes.
const maxKey = 64 << 10

func keyFault(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		err = fs.ErrNotExist
	}
	return diag.Errorf("E-REG-104", "the key %s can not be used: %w", path, err).
		Hint("mur-lock key makes a pair: <name>.key to sign with, <name>.pub to trust").
		About(diag.Subject{Kind: diag.Path, Name: path}).Name("path", path).Name("reason", err.Error())
}

func readPEM(path, kind string) ([]byte, error) {
	data, err := workfs.ReadFile(path, maxKey)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(data)
	if block == nil || block.Type != kind {
		return nil, fmt.Errorf("it holds no PEM block %s", kind)
	}
	return block.Bytes, nil
}

// ReadPublic reads a public key: a PEM file with a PUBLIC KEY. The error is
// E-REG-104.
func ReadPublic(path string) (*PublicKey, error) {
	der, err := readPEM(path, "PUBLIC KEY")
	if err != nil {
		return nil, keyFault(path, err)
	}
	public, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, keyFault(path, errors.New("its PUBLIC KEY can not be read"))
	}
	k, err := publicKey(public)
	if err != nil {
		return nil, keyFault(path, err)
	}
	return k, nil
}

// ReadPrivate reads a private key: a PEM file with an unencrypted PRIVATE KEY
// (PKCS #8) that others can not read. The error is E-REG-104 and shows nothing of
// the key.
func ReadPrivate(path string) (*PrivateKey, error) {
	if fi, err := os.Stat(path); err == nil && fi.Mode().Perm()&0o077 != 0 {
		return nil, diag.Errorf("E-REG-104", "the key %s has mode %04o, so that others can reach it", path, fi.Mode().Perm()).
			Hint("chmod 600 %s", path).
			About(diag.Subject{Kind: diag.Path, Name: path}).Name("path", path).Name("reason", "its mode")
	}
	der, err := readPEM(path, "PRIVATE KEY")
	if err != nil {
		return nil, keyFault(path, err)
	}
	private, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, keyFault(path, errors.New("its PRIVATE KEY can not be read"))
	}
	signer, ok := private.(crypto.Signer)
	if !ok {
		return nil, keyFault(path, errors.New("it is no key to sign with"))
	}
	pub, err := publicKey(signer.Public())
	if err != nil {
		return nil, keyFault(path, err)
	}
	return &PrivateKey{*pub, signer}, nil
}

// MakePair makes an Ed25519 key pair: base.key, for its owner alone, and base.pub.
// Existing files are left alone: E-REG-104. It returns the id.
func MakePair(base string) (id string, err error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return "", err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return "", err
	}
	open, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return "", err
	}
	for _, f := range []struct {
		path, kind string
		der        []byte
		mode       fs.FileMode
	}{
		{base + ".key", "PRIVATE KEY", secret, 0o600},
		{base + ".pub", "PUBLIC KEY", open, 0o644},
	} {
		if err := writeNew(f.path, pem.EncodeToMemory(&pem.Block{Type: f.kind, Bytes: f.der}), f.mode); err != nil {
			return "", keyFault(f.path, err)
		}
	}
	return dsse.SHA256KeyID(public)
}

func writeNew(path string, data []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}
