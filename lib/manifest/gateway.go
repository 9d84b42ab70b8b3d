package manifest

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/policy"
)

var gatewayKeys = []string{"endpoint", "api_key", "keyless"}

// reference is the one form of api_key that names a credential (MAN-93).
var reference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\$\{([A-Z_][A-Z0-9_]*)\}$`) })

// credentialName is the NAME of a reference, of config.yaml's credentials and of
// control.secrets.
var credentialName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Z_][A-Z0-9_]*$`) })

// IsCredentialName tells whether s can be the NAME of ${NAME} (MAN-93, MAN-280).
func IsCredentialName(s string) bool { return credentialName().MatchString(s) }

// gateway reads an entry's gateway (MAN-87 to MAN-93). Which drivers may have
// one is a check between inference and artifacts.
func (d *decoder) gateway(parent *block, e Entry) *Gateway {
	if parent.Node("gateway") != nil && e.Role == policy.Skill {
		parent.Refuse("gateway", "a skill is text and sends nothing")
		return nil
	}
	b := parent.Sub("gateway", gatewayKeys)
	if b == nil {
		return nil
	}
	g := &Gateway{Pointer: fmt.Sprintf("/artifacts/%d/gateway/api_key", e.Index)}
	g.Endpoint = b.Required("endpoint")
	if g.Endpoint != "" {
		if err := g.readEndpoint(); err != nil {
			b.Refuse("endpoint", "the endpoint %s is refused: %w", diag.Quote(g.shown()), err).
				Name("endpoint", g.shown()).Name("reason", err.Error())
		}
	}
	g.Keyless = b.IsTrue("keyless")
	written := b.Has("api_key")
	if g.Keyless && written {
		b.Refuse("api_key", "api_key beside keyless: true; one of the two has to go")
		return g
	}
	key, typed := b.Text("api_key")
	key = strings.TrimSpace(key)
	if m := reference().FindStringSubmatch(key); m != nil {
		g.Reference = m[1]
	} else if key != "" {
		secret := NewSecret(key)
		g.Literal = &secret
	}
	if key == "" && !g.Keyless && (typed || b.Node("api_key") == nil) {
		d.Fault("E-CAP-018", b.Node("endpoint"), b.Path, "the gateway to %s has neither an api_key nor keyless: true", g.shown()).
			Name("index", e.Index).Name("endpoint", g.shown()).
			Hint("write api_key: ${NAME} and keep the key in config.yaml, or keyless: true for an upstream without one")
	}
	return g
}

// shown is the endpoint as messages may repeat it: without what stands before @,
// which may be a password.
func (g *Gateway) shown() string {
	scheme, rest, ok := strings.Cut(g.Endpoint, "://")
	if !ok {
		scheme, rest = "", g.Endpoint
	} else {
		scheme += "://"
	}
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		rest = rest[at+1:]
	}
	if q := strings.IndexAny(rest, "?#"); q >= 0 {
		rest = rest[:q]
	}
	return scheme + rest
}

// readEndpoint applies MAN-91 and fills the parts. The error is the reason.
func (g *Gateway) readEndpoint() error {
	s := g.Endpoint
	scheme, rest, ok := strings.Cut(s, "://")
	switch scheme = strings.ToLower(scheme); {
	case strings.Contains(s, "${"):
		return errors.New("an endpoint is written out; ${ stands for nothing in it")
	case !ok:
		return errors.New("it has no scheme; https:// is needed")
	case scheme != "https" && scheme != "http":
		return fmt.Errorf("its scheme is %s; only https, and http to this machine, are accepted", diag.Quote(scheme))
	}
	authority, path, _ := strings.Cut(rest, "/")
	if strings.Contains(authority, "@") {
		host := authority[strings.LastIndex(authority, "@")+1:]
		return fmt.Errorf("text stands before @ (the host is %s); a credential belongs into api_key", diag.Quote(host))
	}
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		return errors.New("it has a query or fragment")
	}
	if strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }) >= 0 {
		return errors.New(`it holds a space, a control character or \`)
	}
	if _, err := url.Parse(s); err != nil {
		return errors.New("it is no URL")
	}
	rule, err := policy.ParseRule(scheme + "://" + authority)
	if err != nil {
		return err
	}
	if scheme == "http" && !thisMachine(authority, rule.Host) {
		return errors.New("http is accepted to localhost or a loopback address alone; use https")
	}
	g.Scheme, g.Host, g.Port = scheme, rule.Host, rule.Port
	if path = strings.TrimRight("/"+path, "/"); path != "" {
		g.Path = path
	}
	return nil
}

// thisMachine tells whether a host is localhost or a loopback literal. An
// IPv4-mapped literal is not accepted: it is the usual way to hide a host.
func thisMachine(authority, host string) bool {
	if host == "localhost" {
		return true
	}
	if strings.HasPrefix(authority, "[") && !strings.Contains(host, ":") {
		return false
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}

// rule is the endpoint as an allow rule that names exactly it.
func (g *Gateway) rule() policy.Rule {
	return policy.Rule{Scheme: g.Scheme, Host: g.Host, Port: g.Port}
}
