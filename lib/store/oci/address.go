// Package oci fetches artifacts from OCI registries and pushes them there, through
// the ORAS client library. It is the only package that knows that library.
//
// An artifact is an image manifest of ArtifactType with the empty config and one
// layer, the archive; its tag is the version. So the digest of the layer is the
// hash murmur.lock pins. Every manifest and every layer is read within a limit and
// verified before anything is made of it. Plain HTTP is spoken to loopback
// addresses alone, whatever a registry redirects to. Credentials are those of the
// Docker configuration or of config.yaml, go to their own registry alone, and are
// in no message.
package oci

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/store/layout"
)

// Scheme begins every address.
const Scheme = "oci://"

// Address names something in a registry:
// oci://<registry>/<repository>[:<tag>][@sha256:<hex>]. The repository's last
// component is the artifact's name, the one before it the scope (ART-12).
type Address struct {
	Registry   string // host[:port]
	Repository string
	Tag        string // "" for none
	Digest     string // "" for none
}

// String is the address as it is written.
func (a Address) String() string {
	s := Scheme + a.Registry + "/" + a.Repository
	if a.Tag != "" {
		s += ":" + a.Tag
	}
	if a.Digest != "" {
		s += "@" + a.Digest
	}
	return s
}

// At is the address with a digest.
func (a Address) At(digest string) Address {
	a.Digest = digest
	return a
}

// Bare is the address without tag and digest.
func (a Address) Bare() Address { return Address{Registry: a.Registry, Repository: a.Repository} }

// Name is the artifact's name.
func (a Address) Name() string { return a.Repository[strings.LastIndex(a.Repository, "/")+1:] }

// Scope is the component before the name, local where there is none.
func (a Address) Scope() string { return scopeOf(strings.TrimSuffix(a.Repository, a.Name())) }

// Full is the full name of what lies there.
func (a Address) Full() names.Full { return names.Full{Scope: a.Scope(), Name: a.Name()} }

func scopeOf(path string) string {
	path = strings.Trim(path, "/")
	if path == "" {
		return names.Local
	}
	return path[strings.LastIndex(path, "/")+1:]
}

// The forms of the OCI distribution specification; a host has no user part.
var (
	hostForm      = regexp.MustCompile(`^([a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)*|\[[0-9a-fA-F:]+\])(:[0-9]{1,5})?$`)
	componentForm = regexp.MustCompile(`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*$`)
	tagForm       = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`)
)

// Parse reads an address. The error is E-IO-003 naming the form expected.
func Parse(s string) (Address, error) {
	a, err := parse(s)
	if err == nil {
		if _, nerr := names.ParseFull(a.Full().String()); nerr != nil {
			err = fmt.Errorf("%s does not end in <scope>/<name>: %w", diag.Quote(s), nerr)
		}
	}
	if err != nil {
		return Address{}, bad(s, err, "oci://<registry>/<path>/<scope>/<name>[:<version>][@sha256:<hex>]")
	}
	return a, nil
}

func bad(s string, err error, form string) error {
	return diag.Errorf("E-IO-003", "%w", err).Hint("the form is %s", form).Name("path", s).Name("reason", err.Error())
}

func parse(s string) (Address, error) {
	rest, ok := strings.CutPrefix(s, Scheme)
	if !ok {
		return Address{}, fmt.Errorf("%s does not begin with %s", diag.Quote(s), Scheme)
	}
	var a Address
	rest, digest, hasDigest := strings.Cut(rest, "@")
	if hasDigest && !layout.IsDigest(digest) {
		return Address{}, fmt.Errorf("%s: the digest is not sha256: and 64 lower-case hex digits", diag.Quote(s))
	}
	a.Digest = digest
	host, path, ok := strings.Cut(rest, "/")
	if !ok {
		return Address{}, fmt.Errorf("%s has no repository", diag.Quote(s))
	}
	path, tag, hasTag := strings.Cut(path, ":")
	if hasTag && !tagForm.MatchString(tag) {
		return Address{}, fmt.Errorf("%s: the tag is not 1 to 128 characters of A-Z, a-z, 0-9, _, . and -, the first no . or -", diag.Quote(s))
	}
	a.Tag = tag
	if !hostForm.MatchString(host) {
		return Address{}, fmt.Errorf("%s: %s is no registry", diag.Quote(s), diag.Quote(host))
	}
	for _, c := range strings.Split(path, "/") {
		if !componentForm.MatchString(c) {
			return Address{}, fmt.Errorf("%s: %s is no part of a repository: lower-case letters and digits, separated by . _ __ or -", diag.Quote(s), diag.Quote(c))
		}
	}
	a.Registry, a.Repository = strings.ToLower(host), path
	return a, nil
}

// Base is where a source's artifacts lie: <registry>[/<path>]. Each is the
// repository <path>/<name>; the path's last component is the scope of all.
type Base struct{ Registry, Path string }

// ParseBase reads <registry>[/<path>], with or without oci:// before it. The
// error is E-IO-003.
func ParseBase(s string) (Base, error) {
	const form = "[oci://]<registry>[/<path>]/<scope>"
	a, err := parse(Scheme + strings.TrimSuffix(strings.TrimPrefix(s, Scheme), "/") + "/x")
	if err == nil && (a.Tag != "" || a.Digest != "") {
		err = fmt.Errorf("%s names one artifact, not a place for many", diag.Quote(s))
	}
	if err != nil {
		return Base{}, bad(s, err, form)
	}
	b := Base{Registry: a.Registry, Path: strings.TrimSuffix(strings.TrimSuffix(a.Repository, "x"), "/")}
	if err := names.CheckScope(b.Scope()); err != nil {
		return Base{}, bad(s, fmt.Errorf("%s does not end in a scope: %s %w", diag.Quote(s), diag.Quote(b.Scope()), err), form)
	}
	return b, nil
}

// Scope is the scope of all that lies there.
func (b Base) Scope() string { return scopeOf(b.Path) }

// String is the base as an address.
func (b Base) String() string { return strings.TrimSuffix(Scheme+b.Registry+"/"+b.Path, "/") }

// Of is the address of an artifact of a name, without tag.
func (b Base) Of(name string) Address {
	return Address{Registry: b.Registry, Repository: strings.TrimPrefix(b.Path+"/"+name, "/")}
}

// Tag is the tag of a version, with the platform's for a native program. A + of
// Semantic Versioning, which no tag may hold, becomes _. The error is E-IO-003.
func Tag(version, platform string) (string, error) {
	tag := strings.ReplaceAll(version, "+", "_")
	if platform != "" {
		tag += "-" + platform
	}
	if !tagForm.MatchString(tag) {
		return "", diag.Errorf("E-IO-003", "the version %s can not be the tag of a registry: 1 to 128 characters of A-Z, a-z, 0-9, _, . and -, the first no . or -", diag.Quote(version)).
			Name("path", version).Name("reason", "no tag")
	}
	return tag, nil
}

// loopback tells whether a host[:port] is this machine, which alone may be
// spoken to without TLS.
func loopback(hostport string) bool {
	host := hostport
	if i := strings.LastIndex(hostport, ":"); i >= 0 && !strings.HasSuffix(hostport, "]") {
		host = hostport[:i]
	}
	host = strings.Trim(host, "[]")
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}
