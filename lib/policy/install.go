package policy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mur-capsules/mur/lib/names"
)

// InstallEntry admits artifacts to a pull: `*`, `<scope>/*`,
// `<scope>/<prefix>*` or an exact full name (MAN-150).
type InstallEntry string

// InstallForms names the accepted forms for messages.
const InstallForms = "*, <scope>/*, <scope>/<prefix>* and <scope>/<name>"

// ParseInstallEntry checks an entry (MAN-152). The error is the reason; the
// caller adds list, entry and InstallForms.
func ParseInstallEntry(s string) (InstallEntry, error) {
	if s == "*" {
		return "*", nil
	}
	prefix, open := strings.CutSuffix(s, "*")
	if !open {
		if _, err := names.ParseFull(s); err != nil {
			return "", err
		}
		return InstallEntry(s), nil
	}
	scope, name, ok := strings.Cut(prefix, "/")
	if !ok {
		return "", errors.New("it has a * but no scope before it")
	}
	if err := names.CheckScope(scope); err != nil {
		return "", fmt.Errorf("its scope %w", err)
	}
	if scope == names.Builtin {
		return "", errors.New("the scope " + names.Builtin + " is the product's own")
	}
	switch {
	case len(name) > names.MaxName:
		return "", fmt.Errorf("its prefix has more than %d characters", names.MaxName)
	case strings.HasPrefix(name, "-"):
		return "", errors.New("its prefix begins with -")
	case strings.Contains(name, "*"):
		return "", errors.New("it has more than one *")
	case strings.IndexFunc(name, func(r rune) bool { return !names.Char(r) }) >= 0:
		return "", errors.New("its prefix holds a character other than a-z, 0-9 and -")
	}
	return InstallEntry(s), nil
}

// Matches tells whether the entry admits a full name. An invalid name is
// admitted by nothing, * included (MAN-153).
func (e InstallEntry) Matches(full string) bool {
	if _, err := names.ParseFull(full); err != nil {
		return false
	}
	if prefix, open := strings.CutSuffix(string(e), "*"); open {
		return strings.HasPrefix(full, prefix)
	}
	return string(e) == full
}

// Covers tells whether every name child admits is admitted by e (MAN-153).
func (e InstallEntry) Covers(child InstallEntry) bool {
	prefix, open := strings.CutSuffix(string(e), "*")
	if !open {
		return e == child
	}
	return strings.HasPrefix(strings.TrimSuffix(string(child), "*"), prefix)
}
