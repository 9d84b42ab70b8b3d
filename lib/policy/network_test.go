package policy

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/diag"
)

// MAN-102, CON-209, CON-210
func TestParseRule(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want Rule
		text string
	}{
		{"example.com", Rule{"", "example.com", 0}, "example.com"},
		{" Example.COM. ", Rule{"", "example.com", 0}, "example.com"},
		{"example.com:8443", Rule{"", "example.com", 8443}, "example.com:8443"},
		{"https://example.com", Rule{"https", "example.com", 443}, "https://example.com"},
		{"https://example.com:443", Rule{"https", "example.com", 443}, "https://example.com"},
		{"HTTP://example.com", Rule{"http", "example.com", 80}, "http://example.com"},
		{"http://example.com:443", Rule{"http", "example.com", 443}, "http://example.com:443"},
		{"10.0.0.1", Rule{"", "10.0.0.1", 0}, "10.0.0.1"},
		{"[::1]", Rule{"", "::1", 0}, "[::1]"},
		{"[0:0:0::1]:80", Rule{"", "::1", 80}, "[::1]:80"},
		{"https://[2001:DB8::1]", Rule{"https", "2001:db8::1", 443}, "https://[2001:db8::1]"},
		{"[::ffff:10.0.0.1]", Rule{"", "10.0.0.1", 0}, "10.0.0.1"},
		{"localhost", Rule{"", "localhost", 0}, "localhost"},
		{"_srv.example.com", Rule{"", "_srv.example.com", 0}, "_srv.example.com"},
		{"xn--bcher-kva.example", Rule{"", "xn--bcher-kva.example", 0}, "xn--bcher-kva.example"},
		{"3com.com", Rule{"", "3com.com", 0}, "3com.com"},
	} {
		got, err := ParseRule(tt.in)
		if err != nil || got != tt.want || got.String() != tt.text {
			t.Errorf("%q: %+v %q %v", tt.in, got, got, err)
		}
		if again, err := ParseRule(got.String()); err != nil || again != got {
			t.Errorf("%q does not read back: %+v %v", got, again, err)
		}
	}
	for in, want := range map[string]string{
		"":                          "it is empty",
		"  ":                        "it is empty",
		"ftp://x":                   `its scheme is "ftp"`,
		"://x":                      `its scheme is ""`,
		"https://":                  "it has no host",
		"https://:443":              "it has no host",
		"https://x/":                "it has a path",
		"x/y":                       "it has a path",
		"https://x?q":               "it has a query",
		"https://x#f":               "it has a fragment",
		"me:pw@x":                   "it has a user name before @",
		"https://me@x":              "it has a user name before @",
		"*.example.com":             "it has a wildcard",
		"*":                         "it has a wildcard",
		"x:":                        `its port is ""`,
		"x:0":                       `its port is "0"`,
		"x:65536":                   `its port is "65536"`,
		"x:+80":                     `its port is "+80"`,
		"x:http":                    `its port is "http"`,
		"::1":                       "more than one colon",
		"[::1":                      "[ without ]",
		"[::1]80":                   "text follows the ]",
		"[::1%eth0]":                "is no IPv6 address",
		"[10.0.0.1]":                "is no IPv6 address",
		"a b":                       "is no host name",
		"a..b":                      "is no host name",
		"-a.example":                "is no host name",
		"bücher.example":            "is no host name",
		"%65xample.com":             "is no host name",
		"127.1":                     "neither a host name nor an IPv4 address",
		"0x7f.0.0.0x1":              "neither a host name nor an IPv4 address",
		"2130706433":                "neither a host name nor an IPv4 address",
		"1.2.3.256":                 "neither a host name nor an IPv4 address",
		strings.Repeat("a.", 127):   "", // 253 characters once the dot is dropped
		strings.Repeat("a.", 128):   "more than 253",
		strings.Repeat("a", 64):     "is no host name",
		"example.com\n":             "",
		"example.com\x00":           "is no host name",
		"https://example.com:443:1": "more than one colon",
	} {
		_, err := ParseRule(in)
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", in, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %q", in, err, want)
		}
	}
}

// MAN-102, DIA-45
func TestParseRules(t *testing.T) {
	got, err := ParseRules(Place{Key: "k"}, []string{"a.example", "https://b.example", "A.example."})
	if err != nil || !reflect.DeepEqual(got, Rules{{"", "a.example", 0}, {"https", "b.example", 443}}) {
		t.Errorf("%v %v", got, err)
	}
	if got, err := ParseRules(Place{}, nil); err != nil || got == nil || len(got) != 0 {
		t.Errorf("%v %v", got, err)
	}
	_, err = ParseRules(Place{Key: "artifacts[1].capabilities.network.allow", Artifact: "ana/x"}, []string{"a.example", "b/c"})
	if diag.CodeOf(err) != "E-CAP-001" ||
		err.Error() != `artifacts[1].capabilities.network.allow[1] (ana/x): the entry "b/c" is refused: it has a path; an entry names a host, never what lies below it` {
		t.Errorf("%v", err)
	}
	e := err.(*diag.Error)
	if e.Names["entry"] != "b/c" || e.Names["artifact"] != "ana/x" || e.Names["reason"] == "" || e.Subject.Name != "artifacts[1].capabilities.network.allow[1]" {
		t.Errorf("%+v", e)
	}
}

// MAN-102, CON-211, CON-212
func TestAllows(t *testing.T) {
	rules := Rules{{"", "any.example", 0}, {"", "port.example", 8080}, {"https", "web.example", 443}, {"http", "odd.example", 443}, {"", "::1", 0}, {"", "10.0.0.1", 0}}
	for _, tt := range []struct {
		scheme, host string
		port         int
		guest        bool
		command      bool
	}{
		{"http", "any.example", 0, true, true},
		{"https", "any.example", 443, true, true},
		{"https", "ANY.example.", 9999, true, false},
		{"http", "port.example", 8080, true, true},
		{"https", "port.example", 8080, true, true},
		{"http", "port.example", 80, false, false},
		{"https", "web.example", 443, true, true},
		{"https", "web.example", 0, true, true},
		{"http", "web.example", 443, false, true},
		{"http", "web.example", 80, false, false},
		{"https", "web.example", 8443, false, false},
		{"https", "odd.example", 443, false, true},
		{"http", "odd.example", 443, true, true},
		{"https", "sub.any.example", 443, false, false},
		{"https", "any.example.evil.example", 443, false, false},
		{"https", "any", 443, false, false},
		{"http", "[::1]", 80, true, true},
		{"http", "::1", 80, true, true},
		{"http", "0:0::1", 80, true, true},
		{"http", "[::ffff:10.0.0.1]", 80, true, true},
		{"http", "10.0.0.1", 80, true, true},
		{"http", "10.0.0.2", 80, false, false},
		{"http", "", 80, false, false},
		{"http", "any.example/x", 80, false, false},
	} {
		if got := rules.Allows(tt.scheme, tt.host, tt.port); got != tt.guest {
			t.Errorf("guest %s://%s:%d: %v", tt.scheme, tt.host, tt.port, got)
		}
		port := tt.port
		if port == 0 {
			port = map[string]int{"http": 80, "https": 443}[tt.scheme]
		}
		if got := rules.AllowsCommand(tt.host, port); got != tt.command {
			t.Errorf("command %s:%d: %v", tt.host, port, got)
		}
	}
	if (Rules{}).Allows("https", "any.example", 443) || Rules(nil).AllowsCommand("any.example", 443) {
		t.Error("an empty list allows")
	}
	if (Rules{{"", "a", 0}}).Allows("gopher", "a", 0) {
		t.Error("no port is a port")
	}
}

// MAN-75, CON-213
func TestCovers(t *testing.T) {
	parse := func(s string) Rule {
		r, err := ParseRule(s)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, tt := range []struct {
		ceiling, narrow string
		want            bool
	}{
		{"a.example", "a.example", true},
		{"a.example", "a.example:80", true},
		{"a.example", "https://a.example", true},
		{"https://a.example", "https://a.example:443", true},
		{"https://a.example", "a.example", false},
		{"https://a.example", "a.example:443", false},
		{"https://a.example", "http://a.example:443", false},
		{"https://a.example", "https://a.example:8443", false},
		{"a.example:443", "https://a.example", true},
		{"a.example:443", "a.example", false},
		{"a.example", "b.example", false},
		{"a.example", "x.a.example", false},
		{"[::1]", "[::1]:80", true},
	} {
		if got := parse(tt.ceiling).Covers(parse(tt.narrow)); got != tt.want {
			t.Errorf("%s covers %s: %v", tt.ceiling, tt.narrow, got)
		}
	}
}

// MAN-74: what is kept never allows more than the ceiling, whatever is asked.
func TestNarrowNeverWidens(t *testing.T) {
	var all Rules
	for _, scheme := range []string{"", "http", "https"} {
		for _, host := range []string{"a", "b"} {
			for _, port := range []int{0, 80, 443, 8080} {
				if scheme == "" || port != 0 {
					all = append(all, Rule{scheme, host, port})
				}
			}
		}
	}
	for _, ceiling := range all {
		kept, dropped := Rules{ceiling}.Narrow(all)
		if len(kept)+len(dropped) != len(all) {
			t.Fatalf("%s: entries are lost", ceiling)
		}
		for _, scheme := range []string{"http", "https"} {
			for _, host := range []string{"a", "b"} {
				for _, port := range []int{80, 443, 8080, 1} {
					if kept.Allows(scheme, host, port) && !ceiling.Allows(scheme, host, port) {
						t.Errorf("%s: %v allows %s://%s:%d", ceiling, kept, scheme, host, port)
					}
				}
			}
		}
	}
}

// DIA-201
func TestRefusal(t *testing.T) {
	for _, tt := range []struct {
		scheme, host string
		port         int
		want         string
	}{
		{"https", "A.example", 0, "https://a.example"}, {"https", "a.example", 8443, "https://a.example:8443"},
		{"http", "[::1]", 80, "http://[::1]"}, {"", "a.example", 53, "a.example:53"}, {"http", "a b", 80, "a b"},
	} {
		got := Missing(tt.scheme, tt.host, tt.port)
		if got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
		if r, err := ParseRule(got); err == nil && tt.scheme != "" && !r.Allows(tt.scheme, tt.host, tt.port) {
			t.Errorf("the missing rule %s does not allow it", got)
		}
	}
	want := `network policy: https://a.example is not allowed; capabilities.network.allow has no entry "https://a.example"`
	if got := Refusal("capabilities.network.allow", "https", "a.example", 443); got != want {
		t.Errorf("got %s", got)
	}
}

func TestRulesAsJSON(t *testing.T) {
	in := Rules{{"https", "a.example", 443}, {"", "::1", 80}}
	b, err := json.Marshal(in)
	if err != nil || string(b) != `["https://a.example","[::1]:80"]` {
		t.Fatalf("%s %v", b, err)
	}
	var out Rules
	if err := json.Unmarshal(b, &out); err != nil || !reflect.DeepEqual(in, out) {
		t.Errorf("%v %v", out, err)
	}
	if err := json.Unmarshal([]byte(`["*.example"]`), &out); err == nil {
		t.Error("a wildcard is read")
	}
}

// FuzzParseRule: an entry that is read prints as one that means the same, and
// covers itself.
func FuzzParseRule(f *testing.F) {
	for _, s := range []string{"example.com", "https://[::1]:8", "http://a:80", "127.1", "x@y", "[::ffff:1.2.3.4]", "a.:1", "https://x/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRule(s)
		if err != nil {
			return
		}
		again, err := ParseRule(r.String())
		if err != nil || again != r || !r.Covers(again) {
			t.Fatalf("%q reads as %+v and back as %+v, %v", s, r, again, err)
		}
		port := r.Port
		if port == 0 {
			port = 443
		}
		scheme := r.Scheme
		if scheme == "" {
			scheme = "https"
		}
		if !r.Allows(scheme, r.Host, port) {
			t.Fatalf("%q does not allow its own host", s)
		}
	})
}
