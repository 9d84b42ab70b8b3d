package artifact

import (
	"errors"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/names"
)

// ART-9, ART-12, ART-13
func TestParseRequest(t *testing.T) {
	for _, c := range []struct {
		in   string
		form Form
		says string // for refusals
	}{
		{"ana/tool-x@1.2.3", ByVersion, ""},
		{"local/x@v1+build.5", ByVersion, ""},
		{"ana/tool-x", Newest, ""},
		{"github:ana/tools@v1.0", GitHubRelease, ""},
		{"./x", ByPath, ""},
		{"../x", ByPath, ""},
		{"/x", ByPath, ""},
		{".", ByPath, ""},
		{"x.mur.zip", ByPath, ""},
		{"a@b@c.mur.zip", ByPath, ""},
		{"", 0, "no name"},
		{"tool-x", 0, "local/tool-x"},
		{"tool-x@1.0.0", 0, "local/tool-x"},
		{"Tool_X", 0, "no artifact name"},
		{"ana/tool-x@1@2", 0, "two @"},
		{"ana/tool-x@", 0, "is empty"},
		{"@1.0.0", 0, "no name"},
		{"ana/@1.0.0", 0, "is empty"},
		{"/x@1@2.mur.zip", ByPath, ""},
		{"a/b/c@1", 0, "no artifact name"},
		{"builtin/x@1", 0, "product's own"},
		{"ana/x@latest", 0, "reserved"},
		{"ana/x@LaTest", 0, "reserved"},
		{"ana/x@../1", 0, "version"},
		{"ana/x@.1", 0, "dot"},
		{"ana/x@^1.0", 0, "range"},
		{"github:ana@v1", 0, "lacks a part"},
		{"github:ana/tools", 0, "lacks a part"},
		{"github:ana/tools@", 0, "lacks a part"},
		{"github:ana/tools@a@b", 0, "two @"},
		{"github:a/b/c@d", 0, "too many parts"},
		{"x.zip", 0, "no artifact name"},
		{"./a\x00b", 0, "NUL"},
	} {
		req, err := ParseRequest(c.in)
		if c.says != "" {
			if diag.CodeOf(err) != "E-IO-003" || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%q: %v, want %q", c.in, err, c.says)
			}
			continue
		}
		if err != nil || req.Form != c.form {
			t.Errorf("%q: form %d, %v", c.in, req.Form, err)
		}
	}
	// The two messages are different, and the bare one is recognizable.
	if _, err := ParseRequest("tool-x"); !errors.Is(err, names.ErrBare) {
		t.Errorf("bare: %v", err)
	}
}

func FuzzReference(f *testing.F) {
	for _, s := range []string{"ana/x@1.0", "ana/x", "github:a/b@c", "./x.mur.zip", "x@@", "builtin/x@1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		req, err := ParseRequest(s)
		if err != nil {
			if diag.CodeOf(err) != "E-IO-003" {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		switch req.Form {
		case ByVersion:
			if req.Ref.String() != s {
				t.Fatalf("%q reads as %q", s, req.Ref)
			}
			if strings.ContainsAny(req.Ref.Version, "/\\\x00") || strings.HasPrefix(req.Ref.Version, ".") {
				t.Fatalf("%q: version %q is no path segment", s, req.Ref.Version)
			}
		case Newest:
			if req.Ref.Full.String() != s {
				t.Fatalf("%q reads as %q", s, req.Ref.Full)
			}
		case ByPath:
			if req.Path != s {
				t.Fatalf("%q reads as path %q", s, req.Path)
			}
		}
	})
}

// ART-7, ART-50
func TestPlatformsAndFileNames(t *testing.T) {
	for in, want := range map[[2]string]string{
		{"linux", "amd64"}: "linux-x86_64", {"linux", "arm64"}: "linux-aarch64",
		{"darwin", "amd64"}: "darwin-x86_64", {"darwin", "arm64"}: "darwin-aarch64",
		{"linux", "riscv64"}: "unknown", {"windows", "amd64"}: "unknown", {"freebsd", "arm64"}: "unknown",
	} {
		if got := Platform(in[0], in[1]); got != want {
			t.Errorf("%v: %s, want %s", in, got, want)
		}
	}
	if CheckPlatform("linux-x86_64") != nil || CheckPlatform("unknown") == nil || CheckPlatform("linux-amd64") == nil {
		t.Error("CheckPlatform")
	}
	if got := FileName("x", "1.0", ""); got != "x-1.0.mur.zip" {
		t.Error(got)
	}
	if got := FileName("x", "1.0", "linux-x86_64"); got != "x-1.0-linux-x86_64.mur.zip" {
		t.Error(got)
	}
}
