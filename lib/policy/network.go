package policy

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
)

// Rule is one parsed allow entry (MAN-102): a host with an optional scheme and
// port. As text it is the entry in its shortest form: host, host:port,
// scheme://host or scheme://host:port.
type Rule struct {
	Scheme string // http or https; empty means either
	Host   string // lower case, no trailing dot, an address literal without brackets
	Port   int    // 0 means every port; never 0 beside a scheme
}

// Rules is an allow list. An empty list allows nothing.
type Rules []Rule

var defaultPort = map[string]int{"http": 80, "https": 443}

// ParseRule reads an allow entry. The error is the reason E-CAP-001 names.
func ParseRule(entry string) (Rule, error) {
	s := strings.TrimSpace(entry)
	if s == "" {
		return Rule{}, errors.New("it is empty")
	}
	var r Rule
	rest := s
	if scheme, after, ok := strings.Cut(s, "://"); ok {
		r.Scheme = strings.ToLower(scheme)
		if defaultPort[r.Scheme] == 0 {
			return Rule{}, fmt.Errorf("its scheme is %s; only http and https can be allowed", diag.Quote(scheme))
		}
		rest = after
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		part := map[byte]string{'/': "path", '?': "query", '#': "fragment"}[rest[i]]
		return Rule{}, fmt.Errorf("it has a %s; an entry names a host, never what lies below it", part)
	}
	if strings.Contains(rest, "@") {
		return Rule{}, errors.New("it has a user name before @")
	}
	host, port, err := splitHostPort(rest)
	if err != nil {
		return Rule{}, err
	}
	if r.Host, err = NormalizeHost(host); err != nil {
		return Rule{}, err
	}
	r.Port = port
	if port == 0 {
		r.Port = defaultPort[r.Scheme]
	}
	return r, nil
}

func splitHostPort(s string) (host string, port int, err error) {
	host = s
	text, has := "", false
	if strings.HasPrefix(s, "[") {
		end := strings.Index(s, "]")
		if end < 0 {
			return "", 0, errors.New("it has [ without ]")
		}
		host = s[:end+1]
		switch after := s[end+1:]; {
		case after == "":
		case after[0] == ':':
			text, has = after[1:], true
		default:
			return "", 0, errors.New("text follows the ] of its address")
		}
	} else if strings.Count(s, ":") > 1 {
		return "", 0, errors.New("it has more than one colon; an IPv6 address stands in brackets")
	} else if h, p, ok := strings.Cut(s, ":"); ok {
		host, text, has = h, p, true
	}
	if !has {
		return host, 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || text[0] == '+' {
		return "", 0, fmt.Errorf("its port is %s, not a number from 1 to 65535", diag.Quote(text))
	}
	return host, int(n), nil
}

// NormalizeHost returns the one spelling of a host that rules hold and compare:
// lower case without a trailing dot; an IPv6 literal shortened and without
// brackets, an IPv4-mapped one as IPv4 (CON-210).
func NormalizeHost(host string) (string, error) {
	if literal, ok := strings.CutPrefix(host, "["); ok {
		literal, ok = strings.CutSuffix(literal, "]")
		a, err := netip.ParseAddr(literal)
		if !ok || err != nil || !a.Is6() || a.Zone() != "" {
			return "", fmt.Errorf("%s is no IPv6 address", diag.Quote(host))
		}
		return a.Unmap().String(), nil
	}
	if a, err := netip.ParseAddr(host); err == nil && a.Zone() == "" {
		return a.Unmap().String(), nil
	}
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	if name == "" {
		return "", errors.New("it has no host")
	}
	if strings.Contains(name, "*") {
		return "", errors.New("it has a wildcard; every host is named on its own")
	}
	if len(name) > 253 {
		return "", fmt.Errorf("its host has %d characters, more than 253", len(name))
	}
	labels := strings.Split(name, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 || strings.HasPrefix(l, "-") || strings.HasSuffix(l, "-") || strings.IndexFunc(l, notHostChar) >= 0 {
			return "", fmt.Errorf("%s is no host name", diag.Quote(host))
		}
	}
	// A last label that is a number makes resolvers read the whole as an IPv4
	// address in one of its odd spellings (127.1, 0x7f.1).
	if last := labels[len(labels)-1]; isNumber(last) {
		return "", fmt.Errorf("%s is neither a host name nor an IPv4 address in four decimal parts", diag.Quote(host))
	}
	return name, nil
}

func notHostChar(r rune) bool {
	return !(r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z')
}

func isNumber(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// ParseRules reads a whole list; the first entry that cannot be read is
// E-CAP-001. The result is never nil and keeps the order, repeats dropped.
// mur-stage calls it for capsule-wide, per-artifact and peer lists alike.
func ParseRules(at Place, entries []string) (Rules, error) {
	rules := Rules{}
	for i, entry := range entries {
		r, err := ParseRule(entry)
		if err != nil {
			return nil, refuse("E-CAP-001", at.Index(i), "entry", entry, err)
		}
		if !slices.Contains(rules, r) {
			rules = append(rules, r)
		}
	}
	return rules, nil
}

// refuse words a refusal of one declared value: place, value, reason.
func refuse(code diag.Code, at Place, what, value string, reason error) *diag.Error {
	e := diag.Errorf(code, "%s: the %s %s is refused: %w", at, what, diag.Quote(value), reason).
		In("check").About(diag.Subject{Kind: diag.ManifestKey, Name: at.Key}).
		Name(what, value).Name("reason", reason.Error())
	if at.Artifact != "" {
		e.Name("artifact", at.Artifact)
	}
	return e
}

// String is the entry in its shortest form; ParseRule reads it back.
func (r Rule) String() string {
	host := r.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	switch {
	case r.Scheme == "" && r.Port == 0:
		return host
	case r.Scheme == "":
		return host + ":" + strconv.Itoa(r.Port)
	case r.Port == defaultPort[r.Scheme]:
		return r.Scheme + "://" + host
	default:
		return r.Scheme + "://" + host + ":" + strconv.Itoa(r.Port)
	}
}

// MarshalText writes the shortest form.
func (r Rule) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads an entry.
func (r *Rule) UnmarshalText(text []byte) error {
	v, err := ParseRule(string(text))
	if err != nil {
		return fmt.Errorf("network entry %s: %w", diag.Quote(string(text)), err)
	}
	*r = v
	return nil
}

// Allows tells whether a guest's request may go to host and port over scheme
// (http or https). Port is the effective one; 0 means the scheme's default.
// The host is taken as written in the URL, brackets or not.
func (r Rule) Allows(scheme, host string, port int) bool {
	scheme = strings.ToLower(scheme)
	if port == 0 {
		port = defaultPort[scheme]
	}
	h, err := NormalizeHost(host)
	return err == nil && port > 0 && h == r.Host &&
		(r.Scheme == "" || r.Scheme == scheme) && (r.Port == 0 || r.Port == port)
}

// CommandPorts are the ports the rule opens for commands, which name no scheme:
// its own, or 80 and 443 for a bare host (CON-205, CON-211, CON-212).
func (r Rule) CommandPorts() []int {
	if r.Port == 0 {
		return []int{80, 443}
	}
	return []int{r.Port}
}

// Covers tells whether everything narrow allows r allows too: hosts equal, and
// scheme and port equal where r sets them. A bare host is therefore not covered
// by a rule with a scheme (MAN-75).
func (r Rule) Covers(narrow Rule) bool {
	return r.Host == narrow.Host && (r.Scheme == "" || r.Scheme == narrow.Scheme) &&
		(r.Port == 0 || r.Port == narrow.Port)
}

// Allows tells whether some rule allows a guest's request; see Rule.Allows.
// mur-launch asks before a name is resolved and again for the address dialled.
func (rs Rules) Allows(scheme, host string, port int) bool {
	return slices.ContainsFunc(rs, func(r Rule) bool { return r.Allows(scheme, host, port) })
}

// AllowsCommand tells whether a command's connection to host and port is
// allowed; the scheme of a rule only supplies its port (CON-212, CON-215).
func (rs Rules) AllowsCommand(host string, port int) bool {
	h, err := NormalizeHost(host)
	return err == nil && slices.ContainsFunc(rs, func(r Rule) bool {
		return r.Host == h && slices.Contains(r.CommandPorts(), port)
	})
}

// Cover tells whether one rule covers narrow on its own (MAN-75, DEL-502).
func (rs Rules) Cover(narrow Rule) bool {
	return slices.ContainsFunc(rs, func(r Rule) bool { return r.Covers(narrow) })
}

// Narrow returns the rules of declared that rs covers, and those it does not,
// which W-SEC-007 lists (MAN-74). Neither is nil.
func (rs Rules) Narrow(declared Rules) (kept, dropped Rules) {
	kept, dropped = Rules{}, Rules{}
	for _, r := range declared {
		if rs.Cover(r) {
			kept = append(kept, r)
		} else {
			dropped = append(dropped, r)
		}
	}
	return kept, dropped
}

// Missing is the shortest entry that would allow what Allows refused; it is
// named in a refusal. A host that is no host is returned as it is.
func Missing(scheme, host string, port int) string {
	scheme = strings.ToLower(scheme)
	h, err := NormalizeHost(host)
	if err != nil {
		return host
	}
	if port == 0 {
		port = defaultPort[scheme]
	}
	if defaultPort[scheme] == 0 {
		scheme = ""
	}
	return Rule{Scheme: scheme, Host: h, Port: port}.String()
}

// Refusal words a refused request for a guest or the model: it begins with the
// token of DIA-201 and names the address, the manifest key and the missing rule.
func Refusal(key, scheme, host string, port int) string {
	m := Missing(scheme, host, port)
	return fmt.Sprintf("network policy: %s is not allowed; %s has no entry %s", m, key, diag.Quote(m))
}
