package trace

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/workfs"
)

func testHome(t *testing.T) workfs.Home {
	t.Helper()
	home, err := workfs.FindHome([]string{"MURMUR_HOME=" + filepath.Join(t.TempDir(), "home")})
	if err != nil {
		t.Fatal(err)
	}
	return home
}

// TRC-103, TRC-104, TRC-106: the key is made once, whoever asks first, with its
// modes and its public half.
func TestKeyIsMadeOnce(t *testing.T) {
	home := testHome(t)
	keys := make([]Key, 8)
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			k, err := LoadKey(home)
			if err != nil {
				t.Error(err)
			}
			keys[i] = k
		})
	}
	wg.Wait()
	for _, k := range keys {
		if !bytes.Equal(k.private, keys[0].private) {
			t.Fatal("two keys")
		}
	}
	for name, mode := range map[string]os.FileMode{"": 0o700, KeyFile: 0o600, PublicFile: 0o644} {
		fi, err := os.Stat(filepath.Join(home.Path(), KeyDir, name))
		if err != nil || fi.Mode().Perm() != mode {
			t.Errorf("%q: %v, %v", name, fi, err)
		}
	}
	entries, err := os.ReadDir(filepath.Join(home.Path(), KeyDir))
	if err != nil || len(entries) != 2 {
		t.Errorf("temporaries are left: %v %v", entries, err)
	}
	text, err := os.ReadFile(filepath.Join(home.Path(), KeyDir, PublicFile))
	if err != nil {
		t.Fatal(err)
	}
	pub, err := ParsePublicKey(text)
	if err != nil || pub.ID() != keys[0].Public().ID() || len(pub.ID()) != 16 || pub.ID() != LineHash(pub)[:16] {
		t.Fatalf("%q %v", pub.ID(), err)
	}
	if seed, _ := os.ReadFile(filepath.Join(home.Path(), KeyDir, KeyFile)); len(strings.TrimSpace(string(seed))) != 64 {
		t.Fatal("the seed is not 64 hex digits")
	}
}

// TRC-104: what is no key of this host is refused and left alone.
func TestKeyRefusals(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"readable by others": func(p string) error { return os.Chmod(p, 0o640) },
		"a link": func(p string) error {
			if err := os.Rename(p, p+".real"); err != nil {
				return err
			}
			return os.Symlink(p+".real", p)
		},
		"a directory": func(p string) error {
			if err := os.Remove(p); err != nil {
				return err
			}
			return os.Mkdir(p, 0o700)
		},
		"short":    func(p string) error { return os.WriteFile(p, []byte("00ff\n"), 0o600) },
		"capitals": func(p string) error { return os.WriteFile(p, []byte(strings.Repeat("FF", 32)), 0o600) },
	} {
		home := testHome(t)
		if _, err := LoadKey(home); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(home.Path(), KeyDir, KeyFile)
		if err := spoil(path); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadKey(home); diag.CodeOf(err) != "E-IO-003" || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TRC-112, TRC-113, TRC-114: a seal states the chain, its signature covers what
// it must and nothing else verifies it.
func TestSeal(t *testing.T) {
	s := newSession(t, Meta)
	s.start(nil)
	s.write(SessionEnd{ExitStatus: "ok"})
	key, err := LoadKey(testHome(t))
	if err != nil {
		t.Fatal(err)
	}
	conv := &ConversationRef{Record: "demo", ContextID: "ctx_1", Path: "/x/conversation.jsonl", Lines: 4}
	if err := s.log.Seal(key, conv); err != nil {
		t.Fatal(err)
	}
	read := func() Seal {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(s.dir, FileName+SealSuffix))
		if err != nil {
			t.Fatal(err)
		}
		seal, err := ParseSeal(text)
		if err != nil {
			t.Fatal(err)
		}
		return seal
	}
	seal := read()
	c := check(t, s.dir)
	if seal.Lines != 2 || seal.Head != c.Head || seal.SessionID != s.log.opt.SessionID || seal.Chain != InlineChain || seal.Stream != FileName ||
		*seal.Conversation != *conv || seal.KeyID != key.Public().ID() || seal.SealedAt != 1764500000000 || !seal.Verify(key.Public()) {
		t.Fatalf("%+v", seal)
	}
	if fi, err := os.Stat(filepath.Join(s.dir, FileName+SealSuffix)); err != nil || fi.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v", fi, err)
	}
	for name, change := range map[string]func(*Seal){
		"stream": func(s *Seal) { s.Stream = EvalStream }, "session": func(s *Seal) { s.SessionID = "ses_x" },
		"lines": func(s *Seal) { s.Lines++ }, "head": func(s *Seal) { s.Head = Genesis },
		"format": func(s *Seal) { s.Format = "murmur.seal/2" }, "signature": func(s *Seal) { s.Signature = strings.Repeat("0", 128) },
		"no hex": func(s *Seal) { s.Signature = "x" },
	} {
		changed := seal
		change(&changed)
		if changed.Verify(key.Public()) {
			t.Errorf("%s is not signed", name)
		}
	}
	other, err := LoadKey(testHome(t))
	if err != nil {
		t.Fatal(err)
	}
	if seal.Verify(other.Public()) {
		t.Error("another host's key verifies it")
	}
	s.log.Appender().Append(ResourceRead{Outcome: "ok"}) // after session_end
	if err := s.log.Seal(key, nil); err != nil || read().Lines != 3 || read().Head != check(t, s.dir).Head {
		t.Fatalf("%v %+v", err, read())
	}
}

// TRC-85, TRC-114: a resume's reseal covers a torn tail and keeps the file's
// own session id.
func TestResealAfterATornTail(t *testing.T) {
	s := newSession(t, Meta)
	s.start(nil)
	path := filepath.Join(s.dir, FileName)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"event_type":"ta`); err != nil {
		t.Fatal(err)
	}
	f.Close()
	key, err := LoadKey(testHome(t))
	if err != nil {
		t.Fatal(err)
	}
	l := reopen(t, s.dir)
	if err := l.Seal(key, nil); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(path + SealSuffix)
	seal, err := ParseSeal(text)
	c := check(t, s.dir)
	if err != nil || seal.Lines != 2 || seal.Head != c.Head || seal.SessionID != s.log.opt.SessionID {
		t.Fatalf("%+v %+v %v", seal, c, err)
	}
}

// TRC-110, TRC-111: a stream that keeps its bytes has its chain in the seal.
func TestSealList(t *testing.T) {
	dir := t.TempDir()
	root, err := workfs.OpenRoot(dir, workfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	key, err := LoadKey(testHome(t))
	if err != nil {
		t.Fatal(err)
	}
	for rel, text := range map[string]string{EvalStream: "{\"a\":1}\n{\"b\":2}\n", CompletionStream: "{\n \"outcome\": \"ok\"\n}\n"} {
		if err := root.WriteFile(rel, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := SealList(root, rel, rel, "ses_1", key, 7); err != nil {
			t.Fatal(err)
		}
		data, err := root.ReadFile(rel+SealSuffix, 0)
		if err != nil {
			t.Fatal(err)
		}
		seal, err := ParseSeal(data)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{LineHash([]byte(`{"a":1}`)), LineHash([]byte(`{"b":2}`))}
		head := LineHash([]byte(LineHash([]byte(Genesis+"\n"+want[0])) + "\n" + want[1]))
		if rel == CompletionStream {
			want = []string{LineHash([]byte(text))}
			head = LineHash([]byte(Genesis + "\n" + want[0]))
		}
		if strings.Join(seal.LineHashes, " ") != strings.Join(want, " ") || seal.Head != head || seal.Lines != int64(len(want)) || !seal.Verify(key.Public()) {
			t.Errorf("%s: %+v", rel, seal)
		}
	}
	if err := SealList(root, "hooks/none.jsonl", EvalStream, "ses_1", key, 0); err == nil {
		t.Error("a stream that is not there is sealed")
	}
	if h, err := ListHashes(strings.NewReader(""), false); len(h) != 0 || err != nil || Fold(h) != Genesis {
		t.Error("an empty stream is not genesis")
	}
}

func FuzzParseSeal(f *testing.F) {
	good, _ := json.Marshal(Seal{Format: sealFormat, Algorithm: sealAlgorithm, Chain: InlineChain})
	f.Add(good)
	f.Add([]byte(`{"format":"murmur.seal/1"`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ParseSeal(b)
		if err == nil && (s.Format != sealFormat || s.Lines < 0) {
			t.Fatalf("%+v", s)
		}
	})
}
