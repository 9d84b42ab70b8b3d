package policy

import (
	"errors"
	"path"
	"strings"
)

// CheckScope checks a filesystem scope and returns it cleaned, "." for the
// whole work folder. A scope is relative, and no prefix of it may climb above
// the work folder; anything else is E-CAP-002 (MAN-107). It judges the text
// alone: links below the folder are the business of who opens it.
func CheckScope(at Place, scope string) (string, error) {
	clean, err := inside(strings.TrimSpace(scope))
	if err != nil {
		return "", refuse("E-CAP-002", at, "scope", scope, err)
	}
	return clean, nil
}

// CheckReadOnly trims read-only entries, drops blank ones and cleans the rest;
// one that is not inside the work folder is E-CAP-012 (MAN-109). The result is
// never nil.
func CheckReadOnly(at Place, entries []string) ([]string, error) {
	out := []string{}
	for i, entry := range entries {
		if strings.TrimSpace(entry) == "" {
			continue
		}
		clean, err := inside(strings.TrimSpace(entry))
		if err != nil {
			return nil, refuse("E-CAP-012", at.Index(i), "entry", entry, err)
		}
		out = append(out, clean)
	}
	return out, nil
}

// inside cleans a path that has to stay below the folder it is relative to.
func inside(p string) (string, error) {
	switch {
	case p == "":
		return "", errors.New("it is empty")
	case strings.HasPrefix(p, "/"):
		return "", errors.New("it is absolute; a path relative to the work folder is needed")
	case strings.Contains(p, "\x00"):
		return "", errors.New("it holds a NUL character")
	}
	depth := 0
	for _, part := range strings.Split(p, "/") {
		switch part {
		case "", ".":
		case "..":
			if depth--; depth < 0 {
				return "", errors.New("it climbs with .. above the work folder")
			}
		default:
			depth++
		}
	}
	return path.Clean(p), nil
}

// Within tells whether the cleaned relative path p is scope or lies below it,
// compared component by component.
func Within(scope, p string) bool {
	return scope == "." || p == scope || strings.HasPrefix(p, scope+"/")
}

// narrowScope intersects an artifact's scope with the ceiling's (MAN-63): the
// deeper of the two where one holds the other, else an error.
func narrowScope(ceiling, scope string) (string, error) {
	switch {
	case Within(ceiling, scope):
		return scope, nil
	case Within(scope, ceiling):
		return ceiling, nil
	}
	return "", errors.New("it lies outside capabilities.filesystem.scope, which is " + ceiling)
}
