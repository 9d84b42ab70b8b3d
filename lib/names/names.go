// Package names knows the forms of the names that people write into manifests,
// locks and flags: bare and full artifact names, versions, and names that
// become one path segment.
//
// Every check returns nil or an error that says which rule is broken, in words
// that fit after the name of the key; the caller adds code and place. The
// package knows nothing of where such a name comes from and looks at no file.
// Every command uses it.
package names

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
)

// Limits of ART-1, ART-2 and ART-5, in characters.
const (
	MaxName    = 100
	MaxScope   = 39
	MaxVersion = 100
)

// Scopes with a meaning of their own (ART-4).
const (
	Local   = "local"   // packed or run on this host
	Builtin = "builtin" // the product's own drivers; refused by ParseFull
)

// Full is a full artifact name, <scope>/<name> (ART-3).
type Full struct{ Scope, Name string }

// String joins the two parts.
func (f Full) String() string { return f.Scope + "/" + f.Name }

// ErrBare is wrapped by ParseFull's error for a valid bare name, whose message
// offers local/<name> (ART-9).
var ErrBare = errors.New("bare name")

type bareError struct{ name string }

func (e *bareError) Error() string {
	return fmt.Sprintf("%s is a bare name; a full name is needed, such as %s/%s", diag.Quote(e.name), Local, e.name)
}

func (e *bareError) Unwrap() error { return ErrBare }

// ParseFull reads a full name. The scope builtin is refused like a malformed
// name (ART-4).
func ParseFull(s string) (Full, error) {
	scope, name, ok := strings.Cut(s, "/")
	if !ok {
		if CheckBare(s) == nil {
			return Full{}, &bareError{s}
		}
		return Full{}, fmt.Errorf("%s is no artifact name: a full name is <scope>/<name>", diag.Quote(s))
	}
	if err := CheckScope(scope); err != nil {
		return Full{}, fmt.Errorf("%s is no artifact name: its scope %w", diag.Quote(s), err)
	}
	if err := CheckBare(name); err != nil {
		return Full{}, fmt.Errorf("%s is no artifact name: its name %w", diag.Quote(s), err)
	}
	if scope == Builtin {
		return Full{}, fmt.Errorf("%s is no artifact name: the scope %s is the product's own", diag.Quote(s), Builtin)
	}
	return Full{scope, name}, nil
}

// CheckBare checks the part after the slash (ART-1).
func CheckBare(s string) error { return check(s, MaxName) }

// CheckScope checks the part before the slash (ART-2).
func CheckScope(s string) error { return check(s, MaxScope) }

func check(s string, most int) error {
	switch {
	case s == "":
		return errors.New("is empty")
	case len(s) > most:
		return fmt.Errorf("has %d characters, more than %d", len([]rune(s)), most)
	case strings.Trim(s, "-") != s:
		return errors.New("begins or ends with -")
	}
	if i := strings.IndexFunc(s, func(r rune) bool { return !Char(r) }); i >= 0 {
		return fmt.Errorf("holds %s; only a-z, 0-9 and - may stand there", diag.Quote(string([]rune(s[i:])[0])))
	}
	return nil
}

// Char tells whether r may stand in an artifact name (ART-1).
func Char(r rune) bool { return r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' }

// ReservedVersions are the words that are no version (ART-6).
func ReservedVersions() []string { return []string{"latest", "stable", "edge"} }

// Reserved tells whether s is one of ReservedVersions in any case.
func Reserved(s string) bool {
	for _, w := range ReservedVersions() {
		if strings.EqualFold(s, w) {
			return true
		}
	}
	return false
}

// CheckVersion checks one exact version: one path segment, not reserved
// (ART-5, ART-6), and not written as a range (MAN-43).
func CheckVersion(s string) error {
	switch {
	case s == "":
		return errors.New("is empty")
	case len([]rune(s)) > MaxVersion:
		return fmt.Errorf("has %d characters, more than %d", len([]rune(s)), MaxVersion)
	case strings.HasPrefix(s, "."):
		return errors.New("begins with a dot")
	case strings.ContainsAny(s, `/\`), strings.Contains(s, ".."):
		return errors.New(`holds /, .. or \`)
	case strings.IndexFunc(s, control) >= 0:
		return errors.New("holds a control character")
	case strings.ContainsAny(s, "^~*<>=|, "):
		return errors.New("is a range; one exact version is needed")
	case Reserved(s):
		return fmt.Errorf("is a reserved word; %s name no version", strings.Join(ReservedVersions(), ", "))
	}
	return nil
}

func control(r rune) bool { return r < 0x20 || 0x7f <= r && r < 0xa0 }

// CheckSegment checks a name that becomes one path segment (SES-8).
func CheckSegment(s string) error {
	switch {
	case s == "":
		return errors.New("is empty")
	case strings.HasPrefix(s, "."):
		return errors.New("begins with a dot")
	case strings.ContainsAny(s, "/\\\x00"):
		return errors.New(`holds /, \ or NUL`)
	}
	return nil
}
