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
		ref, err := credential(a.entry, s.file, s.config, s.environ)
		if err != nil {
			return err
		}
		if ref != nil && ref.Source == session.FromEnvironment {
			s.warn(s.capsule.KeyWarning(&a.entry))
		}
		metered := s.agent() && a.entry.Name.String() == s.capsule.Inference.Driver.Artifact
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
func credential(e manifest.Entry, file string, c config.Config, environ []string) (*session.CredentialRef, error) {
	g, key := e.Gateway, fmt.Sprintf("artifacts[%d].gateway.api_key", e.Index)
	switch {
	case g.Keyless:
		return nil, nil
	case g.Literal != nil:
		return &session.CredentialRef{Name: "api_key", Source: session.FromManifest, File: file, Pointer: g.Pointer}, nil
	}
	if c.HasCredential(g.Reference) {
		return &session.CredentialRef{Name: g.Reference, Source: session.FromConfig, Rereadable: true, File: c.GlobalFile}, nil
	}
	if v, ok := lookupEnv(environ, g.Reference); ok && v != "" {
		return &session.CredentialRef{Name: g.Reference, Source: session.FromEnvironment}, nil
	}
	return nil, diag.Errorf("E-MAN-003", "%s (%s): the credential %s is found nowhere: neither credentials.%s in %s nor the variable %s",
		key, e.Name, g.Reference, g.Reference, c.GlobalFile, g.Reference).
		Hint("add credentials.%s to %s", g.Reference, c.GlobalFile).
		In("check").About(diag.Subject{Kind: diag.ManifestKey, Name: key, File: file}).
		Name("artifact", e.Name.String()).Name("key", key).Name("credential", g.Reference).Name("config", c.GlobalFile)
}
