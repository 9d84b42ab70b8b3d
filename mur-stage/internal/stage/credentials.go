package stage

import (
	"fmt"

	"github.com/mur-capsules/mur/lib/config"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/session"
)

// resolveCredentials proves that every credential a gateway refers to exists and
// describes the gateways, without a value (step 27).
func (s *staging) resolveCredentials() error {
	s.gateways = []session.Gateway{}
	for i := range s.artifacts {
		a := &s.artifacts[i]
		g := a.entry.Gateway
		if g == nil {
			continue
		}
		auth, err := a.manifest.UpstreamAuth(a.ref())
		if err != nil {
			return err
		}
		if g.Literal != nil && s.pkg != nil {
			key := fmt.Sprintf("artifacts[%d].gateway.api_key", a.entry.Index)
			return unbuiltFault(key, "a literal key in a packaged capsule can not be read again").About(s.capsule.Subject(key))
		}
		ref, warning, err := credential(a.entry, s.file, s.config, s.environ)
		if err != nil {
			return err
		}
		if warning != nil {
			s.warn(*warning)
		}
		metered := s.agent() && a.entry.Name.String() == s.capsule.Inference.Driver.Artifact
		if !metered {
			s.warn(unmetered(a.entry))
		}
		for _, r := range s.policy.NetworkAllow {
			if r.Allows(g.Scheme, g.Host, g.Port) {
				s.warn(throughGateway(a.entry, r.String()))
			}
		}
		a.gateway = ptr(len(s.gateways))
		s.gateways = append(s.gateways, session.Gateway{
			Artifact: a.entry.Name.String(), Endpoint: g.Endpoint,
			Auth: session.GatewayAuth{Header: auth.Header, Value: auth.Value}, Credential: ref, Metered: metered,
		})
	}
	return nil
}

// credential says where the key of an entry's gateway is found (MAN-94 to
// MAN-96), nil for a keyless one. A name is looked up in the global config
// first, then in the environment.
func credential(e manifest.Entry, file string, c config.Config, environ []string) (*session.CredentialRef, *diag.Warning, error) {
	g, key := e.Gateway, fmt.Sprintf("artifacts[%d].gateway.api_key", e.Index)
	switch {
	case g.Keyless:
		return nil, nil, nil
	case g.Literal != nil:
		w := readOnce(e, key, "a literal in the manifest")
		return &session.CredentialRef{Name: "api_key", Source: session.FromManifest, File: file, Pointer: g.Pointer}, &w, nil
	}
	if c.HasCredential(g.Reference) {
		return &session.CredentialRef{Name: g.Reference, Source: session.FromConfig, Rereadable: true, File: c.GlobalFile}, nil, nil
	}
	if v, ok := lookupEnv(environ, g.Reference); ok && v != "" {
		w := readOnce(e, key, "the variable "+g.Reference)
		return &session.CredentialRef{Name: g.Reference, Source: session.FromEnvironment}, &w, nil
	}
	return nil, nil, diag.Errorf("E-MAN-003", "%s (%s): the credential %s is found nowhere: neither credentials.%s in %s nor the variable %s",
		key, e.Name, g.Reference, g.Reference, c.GlobalFile, g.Reference).
		Hint("add credentials.%s to %s", g.Reference, c.GlobalFile).
		In("check").About(diag.Subject{Kind: diag.ManifestKey, Name: key, File: file}).
		Name("artifact", e.Name.String()).Name("key", key).Name("credential", g.Reference).Name("config", c.GlobalFile)
}

func readOnce(e manifest.Entry, key, what string) diag.Warning {
	w := diag.Warningf("W-SEC-027", "credential",
		"%s (%s): the key is %s, read once, so a key that is changed later is not seen; credentials in config.yaml are read again", key, e.Name, what)
	w.Phase, w.Names = "check", map[string]any{"artifact": e.Name.String(), "source": what}
	return w
}

func unmetered(e manifest.Entry) diag.Warning {
	w := diag.Warningf("W-SEC-030", "gateway", "%s: what it asks %s for counts against no spend ceiling", at(e, "gateway"), e.Gateway.Host)
	w.Phase, w.Names = "check", map[string]any{"artifact": e.Name.String(), "host": e.Gateway.Host}
	return w
}

func throughGateway(e manifest.Entry, rule string) diag.Warning {
	w := diag.Warningf("W-SEC-025", "gateway",
		"capabilities.network.allow has the entry %s, which is the upstream of the gateway of %s; a request that goes there directly carries no key", diag.Quote(rule), e.Name)
	w.Phase, w.Names = "check", map[string]any{"artifact": e.Name.String(), "entry": rule}
	return w
}
