// Package registry starts a real OCI registry for a test: the program
// docker-registry of the Debian package of that name, on loopback, with or without
// a password and TLS. A test that can not have one is skipped and says so.
package registry

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/crypto/bcrypt"
)

// Program is the registry's name on the path.
const Program = "docker-registry"

// Missing says why no registry can be started here, or "".
func Missing() string {
	if _, err := exec.LookPath(Program); err != nil {
		return "needs " + Program + " of the Debian package " + Program
	}
	return ""
}

// Options of a registry.
type Options struct {
	User, Password string // asked of everybody when set
	TLS            bool   // with a certificate of its own, see Registry.CA
}

// Registry is one that runs, or ran.
type Registry struct {
	Host string // 127.0.0.1:<port>
	Dir  string // what it keeps
	CA   string // file with the certificate to trust, "" without TLS

	config string
	cmd    *exec.Cmd
	log    bytes.Buffer
}

// Start starts a registry that keeps its things beneath dir. The caller stops it.
func Start(dir string, o Options) (*Registry, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &Registry{Host: l.Addr().String(), Dir: filepath.Join(dir, "data"), config: filepath.Join(dir, "config.yml")}
	l.Close()
	if err := os.MkdirAll(r.Dir, 0o755); err != nil {
		return nil, err
	}
	text := fmt.Sprintf("version: 0.1\nlog: {level: error, accesslog: {disabled: true}}\nstorage:\n  filesystem: {rootdirectory: %s}\n  delete: {enabled: true}\n", r.Dir)
	text += fmt.Sprintf("http:\n  addr: %s\n", r.Host)
	if o.TLS {
		r.CA = filepath.Join(dir, "cert.pem")
		if err := certificate(r.CA, filepath.Join(dir, "key.pem")); err != nil {
			return nil, err
		}
		text += fmt.Sprintf("  tls: {certificate: %s, key: %s}\n", r.CA, filepath.Join(dir, "key.pem"))
	}
	if o.User != "" {
		hash, err := bcrypt.GenerateFromPassword([]byte(o.Password), bcrypt.MinCost)
		if err != nil {
			return nil, err
		}
		passwords := filepath.Join(dir, "htpasswd")
		if err := os.WriteFile(passwords, fmt.Appendf(nil, "%s:%s\n", o.User, hash), 0o600); err != nil {
			return nil, err
		}
		text += fmt.Sprintf("auth:\n  htpasswd: {realm: test, path: %s}\n", passwords)
	}
	if err := os.WriteFile(r.config, []byte(text), 0o644); err != nil {
		return nil, err
	}
	return r, r.Again()
}

// Again starts a registry that was stopped, at the same address.
func (r *Registry) Again() error {
	r.cmd = exec.Command(Program, "serve", r.config)
	r.cmd.Stdout, r.cmd.Stderr = &r.log, &r.log
	r.cmd.Env = append(os.Environ(), "OTEL_TRACES_EXPORTER=none")
	if err := r.cmd.Start(); err != nil {
		return err
	}
	for range 200 {
		conn, err := net.Dial("tcp", r.Host)
		if err == nil {
			conn.Close()
			return nil
		}
		time.Sleep(25 * time.Millisecond)
	}
	r.Stop()
	return fmt.Errorf("%s does not answer on %s: %s", Program, r.Host, r.log.Bytes())
}

// Stop stops the registry; what it keeps stays.
func (r *Registry) Stop() {
	if r.cmd != nil {
		_ = r.cmd.Process.Kill()
		_ = r.cmd.Wait()
		r.cmd = nil
	}
}

// Blob is the file with the bytes of a digest, sha256:<hex> or <hex>.
func (r *Registry) Blob(digest string) string {
	hash := strings.TrimPrefix(digest, "sha256:")
	return filepath.Join(r.Dir, "docker/registry/v2/blobs/sha256", hash[:2], hash, "data")
}

// certificate writes a certificate for 127.0.0.1 that is its own authority.
func certificate(certFile, keyFile string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test registry"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644); err != nil {
		return err
	}
	return os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600)
}
