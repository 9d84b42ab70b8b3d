// Package artifact knows what an artifact is: its reference, its platform tag,
// the .mur.zip archive that carries it, and which entry of the archive is its
// payload.
//
// Every archive, wherever it came from, is read by Open, which refuses what is
// malformed, ambiguous or hostile and hands out bytes; nothing is ever extracted
// to disk by the name an archive gives it (ART-40 to ART-46). Pack writes
// archives whose bytes depend on their inputs alone (ART-22 to ART-39). The
// package knows nothing of stores, locks or networks.
package artifact

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/names"
)

// Suffix ends the name of every archive.
const Suffix = ".mur.zip"

// ManifestName is the entry every archive begins with (ART-14).
const ManifestName = "murmur.yaml"

// Ref names one artifact: a full name at one exact version.
type Ref struct {
	Full    names.Full
	Version string
}

// String is <scope>/<name>@<version>.
func (r Ref) String() string { return r.Full.String() + "@" + r.Version }

// Subject describes the reference in a diagnostic.
func (r Ref) Subject() diag.Subject { return diag.Subject{Kind: diag.Artifact, Name: r.String()} }

// ParseRef reads <scope>/<name>@<version>. The error says what is wrong in words
// that follow the name of the argument or key; it has no code.
func ParseRef(s string) (Ref, error) {
	name, version, ok := strings.Cut(s, "@")
	if !ok {
		return Ref{}, fmt.Errorf("%s is no reference: <scope>/<name>@<version> is expected", diag.Quote(s))
	}
	full, err := parseNameOf(s, name)
	if err != nil {
		return Ref{}, err
	}
	if strings.Contains(version, "@") {
		return Ref{}, fmt.Errorf("%s holds two @: <scope>/<name>@<version> is expected", diag.Quote(s))
	}
	if err := names.CheckVersion(version); err != nil {
		return Ref{}, fmt.Errorf("the version in %s %w: <scope>/<name>@<version> is expected", diag.Quote(s), err)
	}
	return Ref{Full: full, Version: version}, nil
}

func parseNameOf(whole, name string) (names.Full, error) {
	if name == "" {
		return names.Full{}, fmt.Errorf("%s has no name: <scope>/<name>@<version> is expected", diag.Quote(whole))
	}
	return names.ParseFull(name)
}

// Form tells the forms of an install argument apart (ART-12).
type Form int

// The forms of a Request.
const (
	ByVersion     Form = iota + 1 // <scope>/<name>@<version>
	Newest                        // <scope>/<name>
	GitHubRelease                 // github:<owner>/<repo>@<tag>
	ByPath                        // a path
	ByAddress                     // oci://<registry>/<path>/<scope>/<name>[:<version>][@<digest>]
)

// Request is an install argument, read but not resolved.
type Request struct {
	Form Form
	Ref  Ref    // ByVersion; Newest, without a version
	Path string // ByPath and ByAddress, as written

	Owner, Repo, Tag string // GitHubRelease
}

// ParseRequest reads an install argument. A path is recognized by a leading ./,
// ../ or /, or by ending in .mur.zip. The error is E-IO-003 (ART-12, ART-13).
// What stands after oci:// is read by who asks registries (store/oci).
func ParseRequest(s string) (Request, error) {
	bad := func(err error) (Request, error) {
		return Request{}, diag.Errorf("E-IO-003", "%w", err).
			Hint("the forms are <scope>/<name>@<version>, <scope>/<name>, oci://<registry>/<path>/<scope>/<name>:<version>, github:<owner>/<repo>@<tag>, and a path, which begins with ./, ../ or / or ends in %s", Suffix).
			Name("path", s).Name("reason", err.Error())
	}
	if strings.HasPrefix(s, "oci://") {
		return Request{Form: ByAddress, Path: s}, nil
	}
	if isPath(s) {
		if strings.IndexByte(s, 0) >= 0 {
			return bad(fmt.Errorf("%s holds a NUL character", diag.Quote(s)))
		}
		return Request{Form: ByPath, Path: s}, nil
	}
	if rest, ok := strings.CutPrefix(s, "github:"); ok {
		req, err := parseGitHub(s, rest)
		if err != nil {
			return bad(err)
		}
		return req, nil
	}
	if strings.Contains(s, "@") {
		ref, err := ParseRef(s)
		if err != nil {
			return bad(err)
		}
		return Request{Form: ByVersion, Ref: ref}, nil
	}
	full, err := parseNameOf(s, s)
	if err != nil {
		return bad(err)
	}
	return Request{Form: Newest, Ref: Ref{Full: full}}, nil
}

func isPath(s string) bool {
	return strings.HasPrefix(s, "./") || strings.HasPrefix(s, "../") || strings.HasPrefix(s, "/") ||
		s == "." || s == ".." || strings.HasSuffix(s, Suffix)
}

func parseGitHub(whole, rest string) (Request, error) {
	expected := "github:<owner>/<repo>@<tag> is expected"
	repo, tag, ok := strings.Cut(rest, "@")
	owner, name, slash := strings.Cut(repo, "/")
	switch {
	case !ok, !slash, owner == "", name == "", tag == "":
		return Request{}, fmt.Errorf("%s lacks a part: %s", diag.Quote(whole), expected)
	case strings.Contains(tag, "@"):
		return Request{}, fmt.Errorf("%s holds two @: %s", diag.Quote(whole), expected)
	case strings.Contains(name, "/"):
		return Request{}, fmt.Errorf("%s has too many parts: %s", diag.Quote(whole), expected)
	}
	return Request{Form: GitHubRelease, Owner: owner, Repo: name, Tag: tag}, nil
}

// FileName is the name of an archive in a store and the packer's default; an
// empty platform gives the untagged name (ART-50).
func FileName(name, version, platform string) string { return Stem(name, version, platform) + Suffix }

// Stem is FileName without its suffix: <name>-<version>[-<platform>].
func Stem(name, version, platform string) string {
	s := name + "-" + version
	if platform != "" {
		s += "-" + platform
	}
	return s
}

// UnknownPlatform is the tag of a host that is none of Platforms.
const UnknownPlatform = "unknown"

// Platforms are the platform tags (ART-7).
func Platforms() []string {
	return []string{"linux-x86_64", "linux-aarch64", "darwin-x86_64", "darwin-aarch64"}
}

// Host is the platform tag of this host.
func Host() string { return Platform(runtime.GOOS, runtime.GOARCH) }

// Platform is the tag of an operating system and architecture in Go's words.
func Platform(goos, goarch string) string {
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[goarch]
	if tag := goos + "-" + arch; isPlatform(tag) {
		return tag
	}
	return UnknownPlatform
}

func isPlatform(tag string) bool {
	for _, p := range Platforms() {
		if p == tag {
			return true
		}
	}
	return false
}

// CheckPlatform says why tag is no platform tag, or nil.
func CheckPlatform(tag string) error {
	if !isPlatform(tag) {
		return fmt.Errorf("%s is no platform: one of %s is expected", diag.Quote(tag), strings.Join(Platforms(), ", "))
	}
	return nil
}
