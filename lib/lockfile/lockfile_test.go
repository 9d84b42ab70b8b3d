package lockfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/names"
)

var (
	hashA = strings.Repeat("a", 64)
	hashB = strings.Repeat("b", 64)
	hashC = strings.Repeat("c", 64)
)

func entry(name, version, any string) Entry {
	return Entry{Name: names.Full{Scope: "local", Name: name}, Version: version, SHA256: Hashes{Any: any}}
}

func native(name, version string, tags ...string) Entry {
	e := entry(name, version, "")
	e.SHA256.Platforms = map[string]string{}
	for i := 0; i < len(tags); i += 2 {
		e.SHA256.Platforms[tags[i]] = tags[i+1]
	}
	return e
}

func runtimeOf(e Entry, session string) Entry { e.Origin.Session = session; return e }

const golden = `lock_version: 3
artifacts:
  - name: ana/tool-x
    resolved_version: 1.2.3
    sha256:
      any: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
    origin: operator
  - name: local/late-skill
    resolved_version: "1.10"
    sha256:
      any: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
    origin: runtime
    session: ses_1
    owner_id: "42"
  - name: local/native
    resolved_version: v2
    sha256:
      platforms:
        darwin-aarch64: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
        linux-x86_64: cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc
    origin: operator
`

func goldenLock() Lock {
	late := runtimeOf(entry("late-skill", "1.10", hashB), "ses_1")
	late.OwnerID = "42"
	first := entry("tool-x", "1.2.3", hashA)
	first.Name.Scope = "ana"
	return Lock{Entries: []Entry{first, late, native("native", "v2", "linux-x86_64", hashC, "darwin-aarch64", hashB)}}
}

// ART-75 to ART-85: the bytes, both ways.
func TestFormat(t *testing.T) {
	data, err := goldenLock().Marshal()
	if err != nil || string(data) != golden {
		t.Errorf("%v, got:\n%s", err, data)
	}
	l, err := Parse("/p/murmur.lock", []byte(golden))
	if err != nil || !reflect.DeepEqual(l, goldenLock()) {
		t.Errorf("%v, got %+v", err, l)
	}
	data, err = Lock{}.Marshal()
	if err != nil || string(data) != "lock_version: 3\nartifacts: []\n" {
		t.Errorf("%v, got:\n%s", err, data)
	}
	for _, s := range []string{"lock_version: 3\nartifacts: []\n", "lock_version: 3\n", "lock_version: 3\nartifacts:\n"} {
		if l, err := Parse("x", []byte(s)); err != nil || len(l.Entries) != 0 {
			t.Errorf("%q: %v", s, err)
		}
	}
	// ART-82, ART-88: no origin is the operator; unknown keys are dropped.
	l, err = Parse("x", []byte("lock_version: 3\nnew: 1\nartifacts:\n  - {name: a/b, resolved_version: '1', sha256: {any: "+hashA+", sub: 1}, later: [x]}\n"))
	if err != nil || l.Entries[0].Origin != Operator {
		t.Fatalf("%v %+v", err, l)
	}
	data, _ = l.Marshal()
	if strings.Contains(string(data), "later") || strings.Contains(string(data), "new") || !strings.Contains(string(data), "origin: operator") {
		t.Errorf("%s", data)
	}
}

// ART-8, ART-9, ART-76, ART-78 to ART-88
func TestInvalidLocks(t *testing.T) {
	one := func(fields string) string {
		return "lock_version: 3\nartifacts:\n  - name: local/x\n    resolved_version: 1.0.0\n" + fields
	}
	any := "    sha256: {any: " + hashA + "}\n"
	for name, c := range map[string]struct{ text, says, entry string }{
		"empty":               {"", "lock_version is missing", ""},
		"no version":          {"artifacts: []\n", "lock_version is missing", ""},
		"older":               {"lock_version: 2\nartifacts: []\n", `"2"`, ""},
		"newer":               {"lock_version: 4\n", `"4"`, ""},
		"version as text":     {"lock_version: '3'\n", "lock_version is", ""},
		"not YAML":            {"lock_version: 3\n\t- x", "can not be read", ""},
		"a list":              {"- 1\n", "can not be read", ""},
		"two documents":       {"lock_version: 3\n---\nlock_version: 3\n", "more than one document", ""},
		"artifacts is text":   {"lock_version: 3\nartifacts: hello\n", "can not be read", ""},
		"doubled key":         {"lock_version: 3\nartifacts: []\nartifacts: []\n", "can not be read", ""},
		"blank name":          {"lock_version: 3\nartifacts:\n  - name: ''\n", "name", "artifacts[0]"},
		"bare name":           {"lock_version: 3\nartifacts:\n  - name: x\n", "local/x", `"x"`},
		"builtin":             {"lock_version: 3\nartifacts:\n  - name: builtin/x\n", "product's own", "builtin/x"},
		"blank version":       {strings.Replace(one(any), "1.0.0", "'  '", 1), "resolved_version", "local/x"},
		"no version in entry": {"lock_version: 3\nartifacts:\n  - name: local/x\n" + any, "resolved_version", "local/x"},
		"reserved version":    {strings.Replace(one(any), "1.0.0", "latest", 1), "reserved", "local/x"},
		"path version":        {strings.Replace(one(any), "1.0.0", "../x", 1), "resolved_version", "local/x"},
		"name twice":          {one(any) + "  - name: local/x\n    resolved_version: 2.0.0\n" + any, "used twice", "local/x"},
		"no hash":             {one(""), "has no hash", "local/x"},
		"empty hash":          {one("    sha256: {any: ''}\n"), "has no hash", "local/x"},
		"short hash":          {one("    sha256: {any: abc}\n"), "64 lower-case hex", "local/x"},
		"upper-case hash":     {one("    sha256: {any: " + strings.ToUpper(hashA) + "}\n"), "64 lower-case hex", "local/x"},
		"both hashes":         {one("    sha256: {any: " + hashA + ", platforms: {linux-x86_64: " + hashA + "}}\n"), "both any and platforms", "local/x"},
		"any and empty map":   {one("    sha256: {any: " + hashA + ", platforms: {}}\n"), "both any and platforms", "local/x"},
		"empty map":           {one("    sha256: {platforms: {}}\n"), "has no hash", "local/x"},
		"empty tag":           {one("    sha256: {platforms: {'': " + hashA + "}}\n"), "empty tag", "local/x"},
		"empty tag's hash":    {one("    sha256: {platforms: {linux-x86_64: ''}}\n"), "64 lower-case hex", "local/x"},
		"runtime, no session": {one(any + "    origin: runtime\n"), "session is missing", "local/x"},
		"runtime, blank":      {one(any + "    origin: runtime\n    session: ' '\n"), "session is missing", "local/x"},
		"operator, session":   {one(any + "    origin: operator\n    session: ses_1\n"), "session is set", "local/x"},
		"session alone":       {one(any + "    session: ses_1\n"), "session is set", "local/x"},
		"unknown origin":      {one(any + "    origin: nobody\n"), `"nobody"`, "local/x"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("/p/murmur.lock", []byte(c.text))
			if diag.CodeOf(err) != "E-RUN-003" || !strings.Contains(err.Error(), c.says) ||
				!strings.Contains(err.Error(), "/p/murmur.lock") || !strings.Contains(err.Error(), c.entry) {
				t.Errorf("got %v, want %q about %q", err, c.says, c.entry)
			}
			var e *diag.Error
			errors.As(err, &e)
			if strings.Contains(c.says, "lock_version") && (len(e.Hints) != 1 || !strings.Contains(e.Hints[0], "delete")) {
				t.Errorf("hints %q", e.Hints)
			}
		})
	}
}

// ART-77, ART-93 to ART-95, ART-104
func TestPin(t *testing.T) {
	other := entry("other", "1", hashC)
	for name, c := range map[string]struct {
		old, in, want Entry
		adopted       bool
	}{
		"same":                         {entry("x", "1", hashA), entry("x", "1", hashA), entry("x", "1", hashA), false},
		"another hash":                 {entry("x", "1", hashA), entry("x", "1", hashB), entry("x", "1", hashB), false},
		"another version":              {entry("x", "1", hashA), entry("x", "2", hashB), entry("x", "2", hashB), false},
		"operator over runtime adopts": {runtimeOf(entry("x", "1", hashA), "ses_1"), entry("x", "1", hashA), entry("x", "1", hashA), true},
		"runtime over operator keeps":  {entry("x", "1", hashA), runtimeOf(entry("x", "1", hashA), "ses_2"), entry("x", "1", hashA), false},
		"runtime over runtime keeps":   {runtimeOf(entry("x", "1", hashA), "ses_1"), runtimeOf(entry("x", "1", hashA), "ses_2"), runtimeOf(entry("x", "1", hashA), "ses_1"), false},
		"a tag is added":               {native("x", "1", "linux-x86_64", hashA), native("x", "1", "darwin-aarch64", hashB), native("x", "1", "linux-x86_64", hashA, "darwin-aarch64", hashB), false},
		"a tag is replaced":            {native("x", "1", "linux-x86_64", hashA, "darwin-aarch64", hashB), native("x", "1", "linux-x86_64", hashC), native("x", "1", "linux-x86_64", hashC, "darwin-aarch64", hashB), false},
		"a version drops the tags":     {native("x", "1", "linux-x86_64", hashA), native("x", "2", "darwin-aarch64", hashB), native("x", "2", "darwin-aarch64", hashB), false},
		"any replaces tags":            {native("x", "1", "linux-x86_64", hashA), entry("x", "1", hashB), entry("x", "1", hashB), false},
		"tags replace any":             {entry("x", "1", hashA), native("x", "1", "linux-x86_64", hashB), native("x", "1", "linux-x86_64", hashB), false},
	} {
		t.Run(name, func(t *testing.T) {
			l := Lock{Entries: []Entry{c.old, other}}
			got, before := l.Pin(c.in, nil)
			if same := reflect.DeepEqual(got, l); l.Holds(c.in) != same {
				t.Errorf("holds it: %v, and pinning it again changes nothing: %v", !same, same)
			}
			if !reflect.DeepEqual(got.Entries, []Entry{c.want, other}) {
				t.Errorf("got %+v", got.Entries)
			}
			if !before.Existed || before.Origin != c.old.Origin || before.Adopted(c.in) != c.adopted {
				t.Errorf("before %+v", before)
			}
			if !reflect.DeepEqual(l.Entries, []Entry{c.old, other}) {
				t.Error("the receiver changed")
			}
		})
	}
	got, before := Lock{Entries: []Entry{other}}.Pin(runtimeOf(entry("x", "1", hashA), "ses_1"), nil)
	if before.Existed || !reflect.DeepEqual(got.Entries, []Entry{other, runtimeOf(entry("x", "1", hashA), "ses_1")}) {
		t.Errorf("a new entry: %+v %+v", got, before)
	}
	owned := entry("x", "1", hashA)
	owned.OwnerID = "7"
	if got, _ := (Lock{Entries: []Entry{owned}}).Pin(entry("x", "1", hashA), nil); got.Entries[0].OwnerID != "7" {
		t.Error("a known owner was forgotten")
	}
}

// ART-77: in whatever order pins are written, those the manifest declares end in
// its order, and none that is there moves.
func TestPinOrder(t *testing.T) {
	order := []names.Full{entry("c", "1", hashA).Name, entry("a", "1", hashA).Name, entry("d", "1", hashA).Name, entry("b", "1", hashA).Name}
	for written, want := range map[string]string{
		"a b c d":     "c a d b",
		"d c b a":     "c a d b",
		"b d a c":     "c a d b",
		"x b a":       "x a b",
		"b x a":       "a b x",
		"a x b":       "a b x",
		"c x d y a":   "c a d x y",
		"x y":         "x y",
		"a x c y d z": "c a d x y z",
	} {
		var l Lock
		for _, name := range strings.Fields(written) {
			l, _ = l.Pin(entry(name, "1", hashA), order)
		}
		var got []string
		for _, e := range l.Entries {
			got = append(got, e.Name.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s, want %s", written, strings.Join(got, " "), want)
		}
	}
	l := Lock{Entries: []Entry{entry("b", "1", hashA), entry("c", "1", hashA)}}
	if l, _ := l.Pin(entry("d", "1", hashA), order); l.Entries[2].Name.Name != "d" || l.Entries[0].Name.Name != "b" {
		t.Errorf("an order of the user's own was changed: %+v", l.Entries)
	}
}

// ART-97
func TestUnpin(t *testing.T) {
	a, b, c := entry("a", "1", hashA), entry("b", "1", hashB), entry("c", "1", hashC)
	l := Lock{Entries: []Entry{a, b, c}}
	got, ok := l.Unpin(b.Name)
	if !ok || !reflect.DeepEqual(got.Entries, []Entry{a, c}) || !reflect.DeepEqual(l.Entries, []Entry{a, b, c}) {
		t.Errorf("%v %+v", ok, got)
	}
	if got, ok := got.Unpin(b.Name); ok || len(got.Entries) != 2 {
		t.Error("removed what is not there")
	}
}

// ART-96, ART-105
func TestConflicts(t *testing.T) {
	owned := func(e Entry, id string) Entry { e.OwnerID = id; return e }
	for name, c := range map[string]struct {
		pin, in Entry
		what    string
	}{
		"equal":            {entry("x", "1", hashA), entry("x", "1", hashA), ""},
		"equal, adopted":   {runtimeOf(entry("x", "1", hashA), "ses_1"), entry("x", "1", hashA), ""},
		"other name":       {entry("y", "1", hashA), entry("x", "2", hashB), ""},
		"version":          {entry("x", "1", hashA), entry("x", "2", hashA), "version"},
		"hash":             {entry("x", "1", hashA), entry("x", "1", hashB), "hash"},
		"shape":            {entry("x", "1", hashA), native("x", "1", "linux-x86_64", hashA), "hash shape"},
		"other shape":      {native("x", "1", "linux-x86_64", hashA), entry("x", "1", hashA), "hash shape"},
		"tag hash":         {native("x", "1", "linux-x86_64", hashA), native("x", "1", "linux-x86_64", hashB), "hash for linux-x86_64"},
		"tag equal":        {native("x", "1", "linux-x86_64", hashA), native("x", "1", "linux-x86_64", hashA), ""},
		"tag it lacks":     {native("x", "1", "linux-x86_64", hashA), native("x", "1", "darwin-aarch64", hashB), ""},
		"owner":            {owned(entry("x", "1", hashA), "7"), owned(entry("x", "1", hashA), "8"), "owner"},
		"owner not known":  {owned(entry("x", "1", hashA), "7"), entry("x", "1", hashA), ""},
		"owner now known":  {entry("x", "1", hashA), owned(entry("x", "1", hashA), "7"), ""},
		"version and hash": {entry("x", "1", hashA), entry("x", "2", hashB), "version"},
	} {
		got := Lock{Entries: []Entry{c.pin}}.Conflicts(c.in)
		if (got == nil) != (c.what == "") || got != nil && got.What != c.what {
			t.Errorf("%s: %v", name, got)
			continue
		}
		if got == nil {
			continue
		}
		d := got.Diagnostic()
		if d.Code != "E-REG-005" || !strings.HasPrefix(got.Error(), "murmur.lock conflict for local/x") || len(d.Hints) == 0 {
			t.Errorf("%s: %v", name, d)
		}
		if c.what == "version" && (!strings.Contains(d.Message, " 1,") || !strings.Contains(d.Message, " 2 ") || !strings.Contains(d.Message, hashA)) {
			t.Errorf("%s names too little: %s", name, d.Message)
		}
	}
}

// ART-86
func TestHashFor(t *testing.T) {
	if s, ok := (Hashes{Any: hashA}).For("anything"); !ok || s != hashA {
		t.Error("any")
	}
	h := Hashes{Any: hashA, Platforms: map[string]string{"linux-x86_64": hashB}}
	if s, ok := h.For("linux-x86_64"); !ok || s != hashB {
		t.Error("tag")
	}
	if s, ok := h.For("darwin-aarch64"); ok {
		t.Errorf("a missing tag was answered with %s", s)
	}
}

func pinIt(e Entry) func(Lock) (Lock, error) {
	return func(l Lock) (Lock, error) { l, _ = l.Pin(e, nil); return l, nil }
}

// ART-87, ART-90, ART-91, ART-92
func TestUpdate(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	path := dir + "/new/murmur.lock"
	if _, found, err := Load(path); found || err != nil {
		t.Errorf("missing: %v %v", found, err)
	}
	if err := Update(ctx, path, pinIt(entry("x", "1", hashA))); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(path); err != nil || fi.Mode() != 0o644 {
		t.Errorf("%v %v", fi, err)
	}
	before, _ := os.ReadFile(path)
	boom := errors.New("boom")
	for name, change := range map[string]func(Lock) (Lock, error){
		"change fails": func(Lock) (Lock, error) { return Lock{}, boom },
		"invalid":      func(l Lock) (Lock, error) { l, _ = l.Pin(entry("y", "latest", hashA), nil); return l, nil },
		"no hash":      func(l Lock) (Lock, error) { l, _ = l.Pin(entry("y", "1", ""), nil); return l, nil },
		"twice": func(l Lock) (Lock, error) {
			return Lock{Entries: append(l.Entries, l.Entries...)}, nil
		},
	} {
		if err := Update(ctx, path, change); err == nil {
			t.Errorf("%s: written", name)
		}
		if after, _ := os.ReadFile(path); string(after) != string(before) {
			t.Errorf("%s: the old file changed", name)
		}
	}
	// Nothing to change: the very file stays.
	old, _ := os.Stat(path)
	if err := Update(ctx, path, pinIt(entry("x", "1", hashA))); err != nil {
		t.Fatal(err)
	}
	if now, _ := os.Stat(path); !os.SameFile(old, now) {
		t.Error("an unchanged lock was rewritten")
	}
	// An invalid lock is never overwritten.
	os.WriteFile(path, []byte("lock_version: 2\n"), 0o644)
	if err := Update(ctx, path, pinIt(entry("x", "1", hashA))); diag.CodeOf(err) != "E-RUN-003" {
		t.Errorf("over an older lock: %v", err)
	}
	// Links are refused.
	os.Remove(path)
	os.Symlink(dir+"/elsewhere", path)
	if err := Update(ctx, path, pinIt(entry("x", "1", hashA))); diag.CodeOf(err) != "E-IO-003" {
		t.Errorf("over a link: %v", err)
	}
	if _, _, err := Load(path); diag.CodeOf(err) != "E-IO-003" {
		t.Errorf("through a link: %v", err)
	}
	if left, _ := filepath.Glob(dir + "/new/.*.tmp"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	os.Remove(path)
	os.Mkdir(path, 0o755)
	if _, found, err := Load(path); found || err == nil {
		t.Errorf("a directory: %v %v", found, err)
	}
}

// ART-91: no entry is lost.
func TestParallelUpdates(t *testing.T) {
	path := t.TempDir() + "/murmur.lock"
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for j := range 5 {
				e := entry(fmt.Sprintf("x%d-%d", i, j), "1", hashA)
				if err := Update(context.Background(), path, pinIt(e)); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	l, found, err := Load(path)
	if err != nil || !found || len(l.Entries) != 40 {
		t.Errorf("%d entries, %v", len(l.Entries), err)
	}
}

// A lock that parses is written in bytes that parse to the same.
func FuzzLock(f *testing.F) {
	f.Add([]byte(golden))
	f.Add([]byte("lock_version: 3\n"))
	f.Add([]byte("lock_version: 3\nartifacts:\n  - {name: a/b, resolved_version: 1.10, sha256: {any: " + hashA + "}, owner_id: ~}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := Parse("murmur.lock", data)
		if err != nil {
			if diag.CodeOf(err) != "E-RUN-003" {
				t.Fatal(err)
			}
			return
		}
		out, err := l.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse("murmur.lock", out)
		if err != nil || !reflect.DeepEqual(l.Entries, again.Entries) {
			t.Fatalf("%v\n%s", err, out)
		}
		if twice, _ := again.Marshal(); string(twice) != string(out) {
			t.Fatal("not deterministic")
		}
	})
}
