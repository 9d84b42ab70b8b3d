package session

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/workfs"
)

// SES-10, SES-11
func TestAddresses(t *testing.T) {
	const (
		oldest = "ses_0193f6a1b2c37d4e8f90a1b2c3d4e5f6"
		middle = "ses_0193f6a1b2c37d4f8f90a1b2c3d4abcd"
		newest = "ses_0193f6a1b2c47d4e8f90a1b2c3d4e5f6"
	)
	sessions := []string{middle, newest, oldest}
	tests := []struct {
		address, want string
		says          string // of the refusal
	}{
		{newest, newest, ""},
		{"@1", newest, ""},
		{"@2", middle, ""},
		{"@3", oldest, ""},
		{"abcd", middle, ""},
		{"ABCD", middle, ""},
		{"4abcd", middle, ""},
		{strings.ToUpper(middle), middle, ""},
		{"e5f6", "", "several sessions match: " + newest + ", " + oldest},
		{"bcd", "", "at least its last 4 characters"},
		{"", "", "it is empty"},
		{"@", "", "the rank of a session"},
		{"@0", "", "the rank of a session"},
		{"@-1", "", "the rank of a session"},
		{"@+1", "", "the rank of a session"},
		{"@x", "", "the rank of a session"},
		{"@4", "", "there are 3 sessions"},
		{"ffff", "", "no session is called so"},
		{"x" + newest, "", "no session is called so"},
	}
	for _, tc := range tests {
		a, err := ParseAddress(tc.address)
		var got string
		if err == nil {
			got, err = a.Find(sessions)
		}
		if tc.says == "" && (err != nil || got != tc.want) {
			t.Errorf("%q: %q, %v; want %q", tc.address, got, err, tc.want)
		}
		if tc.says != "" && (diag.CodeOf(err) != "E-TRC-002" || !strings.Contains(err.Error(), tc.says)) {
			t.Errorf("%q: %q, %s %v; want E-TRC-002 with %q", tc.address, got, diag.CodeOf(err), err, tc.says)
		}
	}
	if !slices.Equal(sessions, []string{middle, newest, oldest}) {
		t.Error("Find changed its argument")
	}
}

// SES-10
func TestPathAddresses(t *testing.T) {
	for _, text := range []string{"./x", "/a/b", "trace.jsonl", "old.jsonl", "@1/x"} {
		a, err := ParseAddress(text)
		if err != nil {
			t.Fatal(err)
		}
		if p, ok := a.Path(); !ok || p != text || a.String() != text {
			t.Errorf("%q is no path", text)
		}
	}
	a, err := ParseAddress("@1")
	if _, isPath := a.Path(); err != nil || isPath {
		t.Error("@1 is a path")
	}
}

// SES-12, SES-32
func TestMirror(t *testing.T) {
	long := "/" + strings.Repeat("x", 256)
	deep := strings.Repeat("/"+strings.Repeat("x", 200), 21)
	for root, want := range map[string]string{
		"/p/workdir": "records/p/workdir",
		"/":          "records",
		"/a b/ü":     "records/a b/ü",
		"p/workdir":  "",
		"/p/../q":    "",
		"/p/":        "",
		long:         "",
		deep:         "",
	} {
		got, err := Mirror(root)
		if want != "" && (err != nil || got != want) {
			t.Errorf("%.40q: %q, %v", root, got, err)
		}
		if want == "" && diag.CodeOf(err) != "E-IO-003" {
			t.Errorf("%.40q: %q, %v; want E-IO-003", root, got, err)
		}
	}
}

func testHome(t *testing.T) workfs.Home {
	t.Helper()
	home, err := workfs.FindHome([]string{"MURMUR_HOME=" + t.TempDir() + "/murmur"})
	if err != nil {
		t.Fatal(err)
	}
	return home
}

func TestRecorded(t *testing.T) {
	home := testHome(t)
	if got, err := Recorded(home, "/p/workdir"); err != nil || len(got) != 0 {
		t.Fatalf("%v, %v", got, err)
	}
	if _, err := os.Lstat(home.Path()); err == nil {
		t.Error("looking made the murmur home")
	}
	const a, b = "ses_0193f6a1b2c37d4e8f90a1b2c3d4e5f6", "ses_0193f6a1b2c47d4e8f90a1b2c3d4e5f6"
	for _, name := range []string{a, b, "ses_other", "deeper"} {
		r, err := home.Open("records/p/workdir/"+name, workfs.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
	}
	want := []Record{{b, home.Join("records/p/workdir/" + b)}, {a, home.Join("records/p/workdir/" + a)}}
	for _, root := range []string{"/p/workdir", "/p"} {
		if got, err := Recorded(home, root); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", root, got, err)
		}
	}
}
