package oci

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/retry"

	"github.com/mur-capsules/mur/lib/store/layout"
	"github.com/mur-capsules/mur/lib/store/source"
)

// Options of a Client.
type Options struct {
	// Environ holds KEY=VALUE: DOCKER_CONFIG, else HOME, leads to the Docker
	// configuration with the credentials.
	Environ []string
	// Token returns the token config.yaml has for a place in a registry, or "":
	// user:password, or a bearer token.
	Token func(Address) string
	// UserAgent names the program to registries.
	UserAgent string
}

// Client talks to registries. It is safe for concurrent use; what it learned of a
// registry it keeps for its own life alone.
type Client struct {
	o    Options
	http *http.Client

	docker func() (credentials.Store, error)

	mu    sync.Mutex
	plain map[string]bool // by registry
	auth  map[string]*auth.Client
}

// NewClient makes a client. It asks nobody yet and reads no file.
func NewClient(o Options) *Client {
	c := &Client{o: o, plain: map[string]bool{}, auth: map[string]*auth.Client{}}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	transport.TLSHandshakeTimeout = 10 * time.Second
	transport.ResponseHeaderTimeout = source.MetadataTimeout
	transport.MaxIdleConnsPerHost = 8
	again := &retry.GenericPolicy{
		Retryable: retry.DefaultPredicate, Backoff: retry.DefaultBackoff,
		MinWait: 200 * time.Millisecond, MaxWait: 2 * time.Second, MaxRetry: 2,
	}
	c.http = &http.Client{Transport: guard{&retry.Transport{Base: guard{transport}, Policy: func() retry.Policy { return again }}}}
	c.docker = sync.OnceValues(func() (credentials.Store, error) { return dockerStore(o.Environ) })
	return c
}

// guard lets no request leave in the clear except to loopback, and turns the
// answer of a registry that had enough of us into an error that says so.
type guard struct{ base http.RoundTripper }

var errClear = errors.New("plain HTTP is spoken to loopback addresses alone")

func (g guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != "https" && !loopback(req.URL.Host) {
		return nil, errClear
	}
	return g.base.RoundTrip(req)
}

// dockerStore is the store of the Docker configuration; nil when there is none.
func dockerStore(environ []string) (credentials.Store, error) {
	dir := lookup(environ, "DOCKER_CONFIG")
	if dir == "" {
		home := lookup(environ, "HOME")
		if home == "" {
			return nil, nil
		}
		dir = filepath.Join(home, ".docker")
	}
	path := filepath.Join(dir, "config.json")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	s, err := credentials.NewStore(path, credentials.StoreOptions{})
	if err != nil {
		return nil, fmt.Errorf("the credentials of %s can not be read: %w", path, err)
	}
	return s, nil
}

func lookup(environ []string, key string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(environ[i], key+"="); ok {
			return v
		}
	}
	return ""
}

// repository opens the repository of an address.
func (c *Client) repository(ctx context.Context, a Address) (*remote.Repository, error) {
	repo, err := remote.NewRepository(a.Registry + "/" + a.Repository)
	if err != nil {
		return nil, err
	}
	if repo.PlainHTTP, err = c.speaksPlain(ctx, a.Registry); err != nil {
		return nil, err
	}
	repo.MaxMetadataBytes = layout.MaxManifest
	repo.SkipReferrersGC = true
	repo.Client = c.authFor(a)
	return repo, nil
}

// authFor is the client that logs in where an address lies. Tokens of config.yaml
// are for places within a registry, so those places do not share what they
// logged in with.
func (c *Client) authFor(a Address) *auth.Client {
	token := ""
	if c.o.Token != nil {
		token = c.o.Token(a)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := a.Registry
	if token != "" {
		key += "/" + a.Repository
	}
	if have := c.auth[key]; have != nil {
		return have
	}
	ac := &auth.Client{Client: c.http, Cache: auth.NewCache(), Header: http.Header{}}
	if c.o.UserAgent != "" {
		ac.SetUserAgent(c.o.UserAgent)
	}
	if loopback(a.Registry) {
		ac.BlockedRealmPrefixes = noPrefixes // its token service is here too
	}
	ac.Credential = func(ctx context.Context, hostport string) (auth.Credential, error) {
		if hostport != a.Registry {
			return auth.EmptyCredential, nil
		}
		if token != "" {
			return credentialOf(token), nil
		}
		store, err := c.docker()
		if store == nil || err != nil {
			return auth.EmptyCredential, err
		}
		return store.Get(ctx, credentials.ServerAddressFromHostname(hostport))
	}
	c.auth[key] = ac
	return ac
}

// credentialOf reads a token of config.yaml.
func credentialOf(token string) auth.Credential {
	if user, password, ok := strings.Cut(token, ":"); ok {
		return auth.Credential{Username: user, Password: password}
	}
	return auth.Credential{AccessToken: token}
}

// speaksPlain tells whether a registry is spoken to without TLS: one on loopback
// that answers a TLS greeting with something else, or by hanging up.
func (c *Client) speaksPlain(ctx context.Context, registry string) (bool, error) {
	if !loopback(registry) {
		return false, nil
	}
	c.mu.Lock()
	plain, known := c.plain[registry]
	c.mu.Unlock()
	if known {
		return plain, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	addr := registry
	if _, _, err := net.SplitHostPort(registry); err != nil {
		addr = net.JoinHostPort(strings.Trim(registry, "[]"), "443")
	}
	// Nothing is sent on this connection, so its certificate does not matter.
	d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err == nil {
		conn.Close()
	}
	var other tls.RecordHeaderError
	switch {
	case errors.As(err, &other), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		plain = true
	case err != nil:
		return false, err
	}
	c.mu.Lock()
	c.plain[registry] = plain
	c.mu.Unlock()
	return plain, nil
}
