//go:build linux && cgo

package probe

import (
	"encoding/json"
	"os"
	"os/exec"
	"reflect"
	"testing"

	"github.com/mur-capsules/mur/lib/confine"
)

// aheadOf is what a process says in which probes were begun before Go started.
type aheadOf struct {
	Begun, Later   bool
	Passed         int // of what was begun, when nothing else is asked
	First, Another confine.Reading
}

// sayAhead is the other half of TestAhead.
func sayAhead() {
	said := aheadOf{Begun: begunAhead()}
	if os.Getenv("MUR_TEST_AHEAD") == "passed" {
		said.Passed = len(takeAhead())
		_ = json.NewEncoder(os.Stdout).Encode(said)
		return
	}
	said.First = WithoutNetwork()
	said.Later = begunAhead()
	said.Another = WithoutNetwork()
	_ = json.NewEncoder(os.Stdout).Encode(said)
}

// begin runs this program as name with one word, its temporary files in dir.
func begin(t *testing.T, name, word, dir, ask string) aheadOf {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Args, cmd.Stderr = []string{name, word}, os.Stderr
	cmd.Env = []string{"MUR_TEST_AHEAD=" + ask, "TMPDIR=" + dir}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var said aheadOf
	if err := json.Unmarshal(out, &said); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return said
}

// What was begun ahead is the same reading, taken once, and leaves nothing
// behind. CON-8, CON-13
func TestAhead(t *testing.T) {
	dir := t.TempDir()
	said := begin(t, "/somewhere/mur-shell", "run", dir, "reading")
	if !said.Begun || said.Later {
		t.Errorf("begun ahead: %v, and again: %v", said.Begun, said.Later)
	}
	if !reflect.DeepEqual(said.First, said.Another) {
		t.Errorf("begun ahead: %+v\nlater: %+v", said.First, said.Another)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if said := begin(t, "mur-shell", "run", "/nowhere", "reading"); !said.Begun || !reflect.DeepEqual(said.First, said.Another) {
		t.Errorf("without a folder for temporary files: %+v", said)
	}
	for _, other := range [][2]string{{"mur-shell", "serve"}, {"mur-doctor", "run"}} {
		if said := begin(t, other[0], other[1], dir, "reading"); said.Begun {
			t.Errorf("%v began probes ahead", other)
		}
	}
}

// Where every mechanism works, all pass when they are tried together, and nothing need
// be tried again. CON-8
func TestAllPassTogether(t *testing.T) {
	r := WithoutNetwork()
	want := 0
	for _, ok := range []bool{r.Landlock.State == confine.LandlockEnforced, r.Seccomp, r.MountNS, r.ProcView == "private", r.Root != nil && r.Root.Blocker == nil} {
		if ok {
			want++
		}
	}
	if said := begin(t, "mur-shell", "run", t.TempDir(), "passed"); said.Passed != want {
		t.Errorf("%d pass together, %d alone", said.Passed, want)
	}
}
