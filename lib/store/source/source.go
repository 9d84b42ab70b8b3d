// Package source is the border to the places on a network that artifacts are
// fetched from (ART-59 to ART-66): what a place is asked, what it answers, and
// what the answers of several amount to. The places themselves are packages of
// their own: store/oci and store/github.
//
// What a source hands out was hashed while it came in and has the hash the source
// promised for it. It is no more trusted for that: who stores it reads it with
// store.NewItem and compares it with the lock. Package source touches no network.
package source

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/store"
)

// Timeouts of a request (ART-66): for metadata in all, and for a download
// without a byte coming in.
const (
	MetadataTimeout = 30 * time.Second
	IdleTimeout     = 30 * time.Second
)

// Want is what a source is asked for.
type Want struct {
	Name     names.Full
	Version  string // "" for the newest
	Platform string // tag; a variant for it is preferred over one for any
}

// String is the reference, without a version the name.
func (w Want) String() string {
	if w.Version == "" {
		return w.Name.String()
	}
	return w.Name.String() + "@" + w.Version
}

// Got is an artifact a source handed out.
type Got struct {
	Scope    string // of the source's owner, lower-cased (ART-64)
	Version  string // as the source has it; "" when the archive alone knows
	Bytes    []byte
	SHA256   string // of Bytes
	Platform string // tag of the variant, "" for any
	OwnerID  string // immutable identity of the owner, "" when none is reported (ART-65)
	From     string // where exactly it came from, by digest where there is one

	// Attestations are DSSE envelopes that came along; nobody has verified them.
	Attestations [][]byte
}

// Progress is told how much of a download has come in; total is -1 when not
// known. It is called from several goroutines.
type Progress func(what string, done, total int64)

// Source is one place. It is safe for concurrent use.
type Source interface {
	// Label is what the source is called in messages; Address is where it is. No
	// secret is in either.
	Label() string
	Address() string
	// Scope is the scope of all it has (ART-64); "" when that is not known
	// because the source is misconfigured.
	Scope() string
	// Fetch gets an artifact. The error is an *AbsentError when the source says
	// that it has none, a *diag.Error when what it has is refused, and anything
	// else when it did not answer.
	Fetch(ctx context.Context, want Want, progress Progress) (Got, error)
	// Newest returns the newest version the source has of a name, or "".
	Newest(ctx context.Context, name names.Full, platform string) (string, error)
}

// AbsentError says that a source has no such artifact.
type AbsentError struct{ Reason string }

// Error is the reason.
func (e *AbsentError) Error() string { return e.Reason }

// Chain is sources in the order they are asked (ART-59).
type Chain []Source

// For returns the sources that may have artifacts of a scope. A misconfigured
// source may, as far as anybody can tell, but for local, which has no owner.
func (c Chain) For(scope string) Chain {
	var out Chain
	for _, s := range c {
		if s.Scope() == scope || s.Scope() == "" && scope != names.Local {
			out = append(out, s)
		}
	}
	return out
}

// answers gathers what the sources of a question said.
type answers struct {
	lines  []string
	silent bool // one did not answer
}

func (a *answers) add(s Source, err error) {
	var absent *AbsentError
	if !errors.As(err, &absent) {
		a.silent = true
	}
	a.lines = append(a.lines, fmt.Sprintf("%s (%s): %s", s.Label(), s.Address(), strings.ReplaceAll(err.Error(), "\n", " ")))
}

// fault is E-REG-001 when all said no, E-REG-006 when one said nothing (ART-62).
func (a *answers) fault(want Want) error {
	subject := diag.Subject{Kind: diag.Artifact, Name: want.String()}
	if a.silent {
		return diag.Errorf("E-REG-006", "whether there is %s is not known: a source did not answer\n%s", want, strings.Join(a.lines, "\n")).
			Hint("try again later, or install what a store or a file has").
			About(subject).Name("artifact", want.String()).Name("answers", strings.Join(a.lines, "; "))
	}
	return diag.Errorf("E-REG-001", "no source has %s\n%s", want, strings.Join(a.lines, "\n")).
		About(subject).Name("name@version", want.String())
}

// Fetch asks the sources of the artifact's scope in turn. What one refuses as
// damaged ends it; a source that does not answer does not keep the next from
// being asked. Without a version each is asked for its newest first, and the
// newest of all is taken. The error is ART-62's.
func (c Chain) Fetch(ctx context.Context, want Want, progress Progress) (Got, error) {
	chain := c.For(want.Name.Scope)
	all := &answers{}
	if want.Version == "" {
		var err error
		if chain, want.Version, err = chain.newest(ctx, want, all); err != nil {
			return Got{}, err
		}
	}
	for _, s := range chain {
		got, err := s.Fetch(ctx, want, progress)
		if err == nil {
			return got, nil
		}
		if ctx.Err() != nil {
			return Got{}, context.Cause(ctx)
		}
		if diag.CodeOf(err) != "" {
			return Got{}, err
		}
		all.add(s, err)
	}
	return Got{}, all.fault(want)
}

// Newest asks all sources of a scope for their newest version of a name and
// returns the newest of all. The error is ART-62's: as long as one source does
// not answer nobody knows the newest.
func (c Chain) Newest(ctx context.Context, want Want) (string, error) {
	_, version, err := c.For(want.Name.Scope).newest(ctx, want, &answers{})
	return version, err
}

func (c Chain) newest(ctx context.Context, want Want, all *answers) (Chain, string, error) {
	best := ""
	var has Chain
	for _, s := range c {
		v, err := s.Newest(ctx, want.Name, want.Platform)
		if ctx.Err() != nil {
			return nil, "", context.Cause(ctx)
		}
		if err == nil && v == "" {
			err = &AbsentError{"it has no version of it"}
		}
		if err != nil {
			all.add(s, err)
			continue
		}
		switch {
		case best == "" || store.CompareVersions(v, best) > 0:
			best, has = v, Chain{s}
		case v == best:
			has = append(has, s)
		}
	}
	if best == "" || all.silent {
		return nil, "", all.fault(want)
	}
	return has, best, nil
}

// Token is what a configured token stands for: ${NAME} the variable's value, a
// bare word that names a set variable that one's value, and else itself (ART-60).
// environ holds KEY=VALUE.
func Token(written string, environ []string) string {
	if name, ok := strings.CutPrefix(written, "${"); ok && strings.HasSuffix(name, "}") {
		v, _ := variable(strings.TrimSuffix(name, "}"), environ)
		return v
	}
	if v, ok := variable(written, environ); ok && v != "" {
		return v
	}
	return written
}

// Variable is the last value of a variable in environ, or "".
func Variable(name string, environ []string) string {
	v, _ := variable(name, environ)
	return v
}

func variable(name string, environ []string) (string, bool) {
	for i := len(environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(environ[i], name+"="); ok && name != "" {
			return v, true
		}
	}
	return "", false
}

// CheckInner is E-IO-003 when an archive's own version is not the one asked for
// (ART-63).
func CheckInner(want Want, inner, from string) error {
	if want.Version == "" || want.Version == inner {
		return nil
	}
	return diag.Errorf("E-IO-003", "%s: %s was asked for, and the archive's own manifest says version %s", from, want, diag.Quote(inner)).
		About(diag.Subject{Kind: diag.Artifact, Name: want.String()}).
		Name("name@version", want.String()).Name("reason", "version differs").
		Name("found", inner).Name("expected", want.Version)
}

// Broken is a source that can not be used and says why when it is asked (ART-59).
type Broken struct {
	Name, Where string
	Reason      error
}

// Label is the source's name.
func (b Broken) Label() string { return b.Name }

// Address is what the configuration says.
func (b Broken) Address() string { return b.Where }

// Scope is not known.
func (b Broken) Scope() string { return "" }

// Fetch is the reason.
func (b Broken) Fetch(context.Context, Want, Progress) (Got, error) { return Got{}, b.Reason }

// Newest is the reason.
func (b Broken) Newest(context.Context, names.Full, string) (string, error) { return "", b.Reason }
