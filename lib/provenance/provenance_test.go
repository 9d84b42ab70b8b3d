package provenance

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"

	"github.com/mur-capsules/mur/lib/diag"
)

var subject = Subject{Name: "ana/x@1.0.0", SHA256: strings.Repeat("a1", 32)}

func pair(t testing.TB, name string) *PrivateKey {
	t.Helper()
	base := filepath.Join(t.TempDir(), name)
	id, err := MakePair(base)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ReadPrivate(base + ".key")
	if err != nil {
		t.Fatal(err)
	}
	public, err := ReadPublic(base + ".pub")
	if err != nil || public.ID() != id || key.ID() != id {
		t.Fatalf("%v: %s, %s and %s", err, id, public.ID(), key.ID())
	}
	return key
}

func signed(t testing.TB, key *PrivateKey, s Subject) []byte {
	t.Helper()
	e, err := Sign(context.Background(), key, s)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// ART-213: the format is that of the in-toto attestation framework.
func TestFormat(t *testing.T) {
	var env dsse.Envelope
	key := pair(t, "ana")
	if err := json.Unmarshal(signed(t, key, subject), &env); err != nil {
		t.Fatal(err)
	}
	body, _ := base64.StdEncoding.DecodeString(env.Payload)
	want := `{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"ana/x@1.0.0","digest":{"sha256":"` + subject.SHA256 +
		`"}}],"predicateType":"https://in-toto.io/attestation/release/v0.1","predicate":{"purl":"pkg:generic/ana/x@1.0.0"}}`
	if env.PayloadType != "application/vnd.in-toto+json" || string(body) != want || len(env.Signatures) != 1 || env.Signatures[0].KeyID != key.ID() {
		t.Errorf("%s\n%+v", body, env)
	}
}

// ART-214, ART-216, ART-218: who signed, and what does not count.
func TestSigner(t *testing.T) {
	ctx := context.Background()
	ana, eve := pair(t, "ana"), pair(t, "eve")
	trusted := []*PublicKey{&ana.PublicKey}
	change := func(f func(env *dsse.Envelope)) []byte {
		var env dsse.Envelope
		json.Unmarshal(signed(t, ana, subject), &env)
		f(&env)
		out, _ := json.Marshal(env)
		return out
	}
	resign := func(payloadType, body string) []byte {
		s, _ := dsse.NewEnvelopeSigner(ana)
		env, err := s.SignPayload(ctx, payloadType, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		out, _ := json.Marshal(env)
		return out
	}
	statement := func(old, new string) string {
		var env dsse.Envelope
		json.Unmarshal(signed(t, ana, subject), &env)
		body, _ := base64.StdEncoding.DecodeString(env.Payload)
		return strings.Replace(string(body), old, new, 1)
	}
	eveSig := func() dsse.Signature {
		var env dsse.Envelope
		json.Unmarshal(signed(t, eve, subject), &env)
		return env.Signatures[0]
	}()
	for name, c := range map[string]struct {
		envelope []byte
		signer   bool
		fault    string
	}{
		"good":             {signed(t, ana, subject), true, ""},
		"by somebody else": {signed(t, eve, subject), false, ""},
		"without a key id": {change(func(e *dsse.Envelope) { e.Signatures[0].KeyID = "" }), true, ""},
		"two signatures":   {change(func(e *dsse.Envelope) { e.Signatures = append([]dsse.Signature{eveSig}, e.Signatures...) }), true, ""},
		"eve as ana":       {change(func(e *dsse.Envelope) { e.Signatures[0].Sig = eveSig.Sig }), false, "not of these bytes"},
		"no signature":     {change(func(e *dsse.Envelope) { e.Signatures = nil }), false, ""},
		"another payload": {change(func(e *dsse.Envelope) {
			e.Payload = base64.StdEncoding.EncodeToString([]byte(statement("ana/x", "ana/y")))
		}), false, "not of these bytes"},
		"another type":      {change(func(e *dsse.Envelope) { e.PayloadType = "text/plain" }), false, "not of these bytes"},
		"other bytes":       {signed(t, ana, Subject{subject.Name, strings.Repeat("b2", 32)}), false, "about other bytes"},
		"no statement":      {resign(PayloadType, "[]"), false, "no statement"},
		"a text":            {resign("text/plain", statement("", "")), false, "its payload is"},
		"another statement": {resign(PayloadType, statement("Statement/v1", "Statement/v0")), false, "its statement is a"},
		"another predicate": {resign(PayloadType, statement("release/v0.1", "link/v0.3")), false, "not a release"},
		"no envelope":       {[]byte("hello"), false, ""},
		"an endless one":    {append(signed(t, ana, subject), make([]byte, MaxEnvelope)...), false, ""},
	} {
		id, err := Signer(ctx, c.envelope, trusted, subject)
		if (id == ana.ID()) != c.signer || (err != nil) != (c.fault != "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s: %q, %v", name, id, err)
		}
	}
}

// ART-217: what is demanded, and with which codes it is refused.
func TestCheck(t *testing.T) {
	ctx := context.Background()
	ana, eve := pair(t, "ana"), pair(t, "eve")
	trust := Trust{Artifacts: true, Keys: []*PublicKey{&ana.PublicKey}}
	good, other := signed(t, ana, subject), signed(t, ana, Subject{"x", strings.Repeat("0", 64)})
	for name, c := range map[string]struct {
		demanded  bool
		envelopes [][]byte
		ids       int
		code      diag.Code
	}{
		"signed":                     {true, [][]byte{good}, 1, ""},
		"signed twice":               {true, [][]byte{good, good}, 1, ""},
		"signed among others":        {true, [][]byte{[]byte("x"), other, signed(t, eve, subject), good}, 1, ""},
		"not demanded":               {false, [][]byte{good}, 1, ""},
		"not demanded and not there": {false, [][]byte{other}, 0, ""},
		"nothing":                    {true, nil, 0, "E-REG-102"},
		"somebody else's":            {true, [][]byte{signed(t, eve, subject)}, 0, "E-REG-102"},
		"about something else":       {true, [][]byte{other}, 0, "E-REG-103"},
		"behind too many":            {true, append(make([][]byte, MaxEnvelopes), good), 0, "E-REG-102"},
	} {
		ids, err := trust.Check(ctx, c.demanded, c.envelopes, subject)
		if len(ids) != c.ids || diag.CodeOf(err) != c.code {
			t.Errorf("%s: %v, %v", name, ids, err)
		}
	}
}

// ART-218: keys that can be used and those that can not; no message shows a key.
func TestKeys(t *testing.T) {
	dir := t.TempDir()
	write := func(name, kind string, der []byte, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	p256, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	der, err := x509.MarshalPKCS8PrivateKey(p256)
	key, kerr := ReadPrivate(write("p256.key", "PRIVATE KEY", der, err))
	der, err = x509.MarshalPKIXPublicKey(&p256.PublicKey)
	public, perr := ReadPublic(write("p256.pub", "PUBLIC KEY", der, err))
	if kerr != nil || perr != nil {
		t.Fatal(kerr, perr)
	}
	if id, err := Signer(context.Background(), signed(t, key, subject), []*PublicKey{public}, subject); id != key.ID() || err != nil {
		t.Errorf("P-256: %q, %v", id, err)
	}
	p384, _ := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	der, err = x509.MarshalPKIXPublicKey(&p384.PublicKey)
	big := write("p384.pub", "PUBLIC KEY", der, err)
	old, _ := rsa.GenerateKey(rand.Reader, 2048)
	der, err = x509.MarshalPKIXPublicKey(&old.PublicKey)
	rsaPub := write("rsa.pub", "PUBLIC KEY", der, err)
	for _, path := range []string{big, rsaPub, write("junk.pub", "PUBLIC KEY", []byte("x"), nil), filepath.Join(dir, "p256.key"), filepath.Join(dir, "gone")} {
		if _, err := ReadPublic(path); diag.CodeOf(err) != "E-REG-104" || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{filepath.Join(dir, "p256.pub"), write("junk.key", "PRIVATE KEY", []byte("secret-bytes"), nil), dir} {
		if _, err := ReadPrivate(path); diag.CodeOf(err) != "E-REG-104" || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", path, err)
		}
	}
	wide := filepath.Join(dir, "p256.key")
	os.Chmod(wide, 0o640)
	if _, err := ReadPrivate(wide); diag.CodeOf(err) != "E-REG-104" || !strings.Contains(err.Error(), "0640") {
		t.Errorf("readable by others: %v", err)
	}
}

// Whatever the envelope: nobody has signed it who has not.
func FuzzSigner(f *testing.F) {
	key := pair(f, "ana")
	f.Add(signed(f, key, subject))
	f.Add([]byte(`{"payload":"e30=","payloadType":"application/vnd.in-toto+json","signatures":[{"keyid":"","sig":""}]}`))
	good := signed(f, key, subject)
	other := Subject{"x", strings.Repeat("c", 64)}
	f.Fuzz(func(t *testing.T, data []byte) {
		if id, _ := Signer(context.Background(), data, []*PublicKey{&key.PublicKey}, other); id != "" {
			t.Fatalf("%s signed %s", good, data)
		}
	})
}
