package names

import (
	"errors"
	"strings"
	"testing"
)

// ART-1, ART-2, ART-3, ART-4, ART-9
func TestParseFull(t *testing.T) {
	for _, s := range []string{"local/a", "ana/tool-x", "a-1/0", strings.Repeat("s", 39) + "/" + strings.Repeat("n", 100)} {
		f, err := ParseFull(s)
		if err != nil || f.String() != s {
			t.Errorf("%s: %v %v", s, f, err)
		}
	}
	for s, want := range map[string]string{
		"":                              "is no artifact name: a full name is <scope>/<name>",
		"tool-x":                        `"tool-x" is a bare name; a full name is needed, such as local/tool-x`,
		"Tool":                          "a full name is <scope>/<name>",
		"/x":                            "its scope is empty",
		"x/":                            "its name is empty",
		"a/b/c":                         `its name holds "/"`,
		"-a/b":                          "its scope begins or ends with -",
		"a/b-":                          "its name begins or ends with -",
		"a/B":                           `its name holds "B"`,
		"a/ä":                           `its name holds "ä"`,
		"a/b_c":                         `its name holds "_"`,
		strings.Repeat("s", 40) + "/n":  "its scope has 40 characters, more than 39",
		"s/" + strings.Repeat("n", 101): "its name has 101 characters, more than 100",
		"builtin/claude":                "the scope builtin is the product's own",
	} {
		_, err := ParseFull(s)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", s, err, want)
		}
		if errors.Is(err, ErrBare) != (s == "tool-x") {
			t.Errorf("%q: bare: %v", s, err)
		}
	}
}

// ART-5, ART-6, MAN-43
func TestCheckVersion(t *testing.T) {
	for _, s := range []string{"1.0.0", "1", "2026-01-01", "1.0.0-rc.1+build", "v1", "latest-1", strings.Repeat("1", 100)} {
		if err := CheckVersion(s); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	for _, s := range []string{
		"", ".1", "1/2", `1\2`, "1..2", "1\n", "1\x7f", "^1.0", "~1", "1.*", ">=1", "1 || 2", "latest", "Stable", "EDGE",
		strings.Repeat("1", 101),
	} {
		if CheckVersion(s) == nil {
			t.Errorf("%q passes", s)
		}
	}
	if !Reserved("LATEST") || Reserved("later") {
		t.Error("reserved words")
	}
}

// SES-8
func TestCheckSegment(t *testing.T) {
	for _, s := range []string{"a", "a b", "a..b", "ä", "-", "a.", strings.Repeat("x", 255)} {
		if err := CheckSegment(s); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
	for _, s := range []string{"", ".", "..", ".a", "a/b", `a\b`, "a\x00b"} {
		if CheckSegment(s) == nil {
			t.Errorf("%q passes", s)
		}
	}
}
