package manifest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/diag"
)

// MAN-276, DIA-140
func TestScanSecrets(t *testing.T) {
	text := head + `artifacts:
  - name: local/x
    gateway: {endpoint: https://x.example, api_key: sk-1}
    config:
      github_Token: ghp_0123456789
      token: ${GH_TOKEN}
      other_token: ${gh_token}
      password: short
      my_secret_name: "123456789"
      tokens: [sk-aaaaaaaaaaaa]
      deep: {client_secret: {value: sk-aaaaaaaa}}
      max_tokens: 8192000000
      SECRET: null
shared: &s {api_key: sk-shared-key}
again: *s
`
	found, err := ScanSecrets("/p/murmur.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range found {
		if w.Code != "W-SEC-004" {
			t.Errorf("%+v", w)
		}
		got = append(got, fmt.Sprintf("%d %s %s", w.Subject.Line, w.Names["field"], w.Names["masked"]))
	}
	want := []string{
		"5 artifacts[0].gateway.api_key …",
		"7 artifacts[0].config.github_Token ghp_…",
		"9 artifacts[0].config.other_token ${gh…",
		"11 artifacts[0].config.my_secret_name 1234…",
		"16 shared.api_key sk-s…",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if _, err := ScanSecrets("m", []byte("a: [")); diag.CodeOf(err) != "E-MAN-002" {
		t.Errorf("%v", err)
	}
	if found, err := ScanSecrets("m", nil); found != nil || err != nil {
		t.Errorf("%v %v", found, err)
	}
}

// keyed is a manifest with one gateway whose api_key is written as given.
func keyed(key string) string {
	return head + "artifacts:\n  - name: local/x # the tool\n    version: 1.0.0\n    gateway:\n      endpoint: https://x.example\n      api_key: " +
		key + "\n\n  # after\n  - {name: local/y, version: 1.0.0}\n"
}

// SES-245, AGT-144
func TestRedact(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"plain", keyed("sk-hush"), keyed(`"[redacted]"`)},
		{"comment", keyed("sk-hush  # mine"), keyed(`"[redacted]"  # mine`)},
		{"inner sharp", keyed("sk#hush"), keyed(`"[redacted]"`)},
		{"double quotes", keyed(`"sk-\"hush\\"`), keyed(`"[redacted]"`)},
		{"single quotes", keyed("'sk-''hush'"), keyed("'[redacted]'")},
		{"literal block", keyed("|\n        sk-hush"), keyed(`"[redacted]"`)},
		{"folded block", keyed(">-\n        sk-\n        hush"), keyed(`"[redacted]"`)},
		{"plain over lines", keyed("sk-one\n        hush"), keyed(`"[redacted]"`)},
		{"tagged", keyed("!!str 5hush"), keyed(`!!str "[redacted]"`)},
		{"anchored", keyed("&k sk-hush"), keyed(`&k "[redacted]"`)},
		{"next line", keyed("\n        sk-hush"), keyed("\n        \"[redacted]\"")},
		{"reference", keyed("${KEY}"), keyed("${KEY}")},
		{"not quite a reference", keyed("${hush}"), keyed(`"[redacted]"`)},
		{"carriage returns", strings.ReplaceAll(keyed("sk-hush"), "\n", "\r\n"), strings.ReplaceAll(keyed(`"[redacted]"`), "\n", "\r\n")},
		{"byte order mark", "\uFEFF" + keyed("sk-hush"), "\uFEFF" + keyed(`"[redacted]"`)},
		{"wide characters before", strings.Replace(keyed("sk-hush"), "the tool", "öß\u2028", 1), strings.Replace(keyed(`"[redacted]"`), "the tool", "öß\u2028", 1)},
		{"flow", head + "artifacts: [{name: local/x, version: 1.0.0, gateway: {api_key: sk-hush, endpoint: https://x.example}}]",
			head + `artifacts: [{name: local/x, version: 1.0.0, gateway: {api_key: "[redacted]", endpoint: https://x.example}}]`},
		{"two", keyed("sk-hush") + "  - {name: local/z, version: 1.0.0, gateway: {endpoint: https://x.example, api_key: 'sk-hush'}}\n",
			keyed(`"[redacted]"`) + "  - {name: local/z, version: 1.0.0, gateway: {endpoint: https://x.example, api_key: '[redacted]'}}\n"},
		{"alias", head + "shared: &k sk-hush\nartifacts:\n  - {name: local/x, version: 1.0.0, gateway: {endpoint: https://x.example, api_key: *k}}\n",
			head + "shared: &k \"[redacted]\"\nartifacts:\n  - {name: local/x, version: 1.0.0, gateway: {endpoint: https://x.example, api_key: *k}}\n"},
		{"no gateway", head, head},
	} {
		if _, _, err := Parse("m", []byte(tt.in), Options{}); err != nil {
			t.Errorf("%s: not a manifest: %v", tt.name, err)
		}
		got, err := Redact([]byte(tt.in))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %v, got\n%q\nwant\n%q", tt.name, err, got, tt.want)
		}
	}
}

// SES-89, AGT-143
func TestLiteral(t *testing.T) {
	data := []byte(keyed("' sk-hush '"))
	c := mustParse(t, string(data))
	s, err := Literal("m", data, c.Artifacts[0].Gateway.Pointer)
	if err != nil || s.Reveal() != "sk-hush" || s.Reveal() != c.Artifacts[0].Gateway.Literal.Reveal() {
		t.Errorf("%q %v", s.Reveal(), err)
	}
	if s, err := Literal("m", []byte("\"a/b~\": {c: x}\n"), "/a~1b~0/c"); err != nil || s.Reveal() != "x" {
		t.Errorf("%v", err)
	}
	for _, p := range []string{"", "x", "/", "/artifacts/7/gateway/api_key", "/artifacts/0/gateway", "/artifacts/00", "/name/x"} {
		if _, err := Literal("m", data, p); diag.CodeOf(err) != "E-MAN-003" {
			t.Errorf("%q: %v", p, err)
		}
	}
	if _, err := Literal("m", []byte("a: ["), "/a"); diag.CodeOf(err) != "E-MAN-002" {
		t.Errorf("%v", err)
	}
}
