package manifest

import (
	"fmt"
	"path"
	"regexp"
	"slices"

	"github.com/mur-capsules/mur/lib/diag"
)

// The keys of the blocks about the session's own door (sections 6 and 12), each
// list in declared order.
var (
	networkKeys        = []string{"internal_port", "authentication"}
	authenticationKeys = []string{"scheme", "credentials"}
	doorCredentialKeys = []string{"scopes"}
	exportsKeys        = []string{"files", "peer_files", "peer_tasks"}
	exportFilesKeys    = []string{"root", "mode", "max_bytes"}
	exportPeerKeys     = []string{"root", "max_bytes", "max_ttl"}
	peerTasksKeys      = []string{"accept"}
	controlKeys        = []string{"settings", "secrets", "agent_settings"}
)

// Scopes are what a credential of the door may do (MAN-159).
func Scopes() []string {
	return []string{"message/send", "message/stream", "stream/watch", "tasks/get", "tasks/cancel", "session/stop", "resources/files"}
}

var doorCredentialName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

func (d *decoder) network(top *block) Network {
	b := top.sub("network", networkKeys)
	n := Network{InternalPort: int(b.wholeOr("internal_port", 0, 1, 65535))}
	a := b.sub("authentication", authenticationKeys)
	if a == nil {
		return n
	}
	n.Authentication = &Authentication{}
	if a.node("scheme") == nil {
		a.missing("scheme")
	}
	a.word("scheme", "bearer")
	for _, p := range a.free("credentials") {
		switch {
		case !doorCredentialName.MatchString(p.key):
			d.faultAt(p.item.path, "%s is no credential name: a small letter, then up to 31 of a-z, 0-9, _ and -", diag.Quote(p.key)).Name("credential", p.key)
		case p.key == "operator":
			d.faultAt(p.item.path, "operator is the credential that every capsule has already").Name("credential", p.key)
		}
		c := d.open(p.item.node, p.item.path, doorCredentialKeys)
		if c == nil {
			continue
		}
		scopes := c.words("scopes", Scopes()...)
		if len(scopes) == 0 && d.ok() {
			c.refuse("scopes", "a credential needs at least one scope").Name("credential", p.key)
		}
		n.Authentication.Credentials = append(n.Authentication.Credentials, DoorCredential{Name: p.key, Scopes: scopes})
	}
	return n
}

// DefaultExportBytes is exports.files.max_bytes when it is not declared.
const DefaultExportBytes = 10 << 20

func (d *decoder) exports(top *block) Exports {
	var e Exports
	b := top.sub("exports", exportsKeys)
	if f := b.sub("files", exportFilesKeys); f != nil {
		e.Files = &FileExport{Root: f.exportRoot()}
		if f.node("mode") == nil {
			f.missing("mode")
		}
		f.word("mode", "read-only")
		e.Files.MaxBytes = f.size("max_bytes", DefaultExportBytes)
	}
	if f := b.sub("peer_files", exportPeerKeys); f != nil {
		e.PeerFiles = &PeerExport{
			Root:       f.exportRoot(),
			MaxBytes:   f.size("max_bytes", DefaultExportBytes),
			MaxTTLSecs: f.duration("max_ttl", "smh"),
		}
	}
	if t := b.sub("peer_tasks", peerTasksKeys); t != nil {
		e.PeerAccept = t.needFlag("accept")
	}
	return e
}

// exportRoot reads a relative path below the work folder (MAN-227).
func (b *block) exportRoot() string {
	root := b.required("root")
	if root == "" {
		return ""
	}
	if err := relativePath(root); err != nil {
		b.refuse("root", "the folder %s %w", diag.Quote(root), err).Name("root", root)
		return ""
	}
	return path.Clean(root)
}

// Settings of the control block (MAN-233, MAN-308).
const (
	SetMaxTokens = "inference.max_tokens"
	SetDriver    = "inference.driver"
)

// control reads the block and checks it against inference and the gateways
// (MAN-233 to MAN-235, MAN-308).
func (d *decoder) control(top *block, c *Capsule) Control {
	b := top.sub("control", controlKeys)
	out := Control{
		Settings:      b.words("settings", SetMaxTokens, SetDriver),
		Secrets:       b.texts("secrets"),
		AgentSettings: b.words("agent_settings", SetDriver),
	}
	if !d.ok() || b == nil {
		return out
	}
	in := c.Inference
	if in == nil && len(out.Settings)+len(out.Secrets)+len(out.AgentSettings) > 0 {
		d.faultAt(b.path, "a capsule without an inference block has nothing to control")
		return out
	}
	for _, l := range []struct {
		key   string
		words []string
	}{{"settings", out.Settings}, {"agent_settings", out.AgentSettings}} {
		switch {
		case len(l.words) == 0:
		case in.Transport != HTTP:
			b.refuse(l.key, "only transport: http can be set while it runs")
		case slices.Contains(l.words, SetDriver) && len(in.Alternates) == 0:
			b.refuse(l.key, "%s needs a second choice", SetDriver).Hint("declare inference.alternates")
		}
	}
	for i, name := range out.Secrets {
		at := fmt.Sprintf("%s[%d]", b.at("secrets"), i)
		switch {
		case !IsCredentialName(name):
			d.faultAt(at, "%s is no credential name: A-Z, 0-9 and _, no digit first", diag.Quote(name))
		case slices.Contains(out.Secrets[:i], name):
			d.faultAt(at, "%s stands twice", name)
		case !c.refersTo(name):
			d.faultAt(at, "no artifact's gateway.api_key is ${%s}", name)
		case in.Transport == HTTP && c.primaryUses(name):
			d.faultAt(at, "${%s} is the key of the driver %s, which needs it before a controller can give it", name, in.Driver.Artifact)
		}
	}
	return out
}

// refersTo tells whether some artifact refers to a credential.
func (c *Capsule) refersTo(name string) bool {
	return slices.ContainsFunc(c.Artifacts, func(e Entry) bool {
		return e.Gateway != nil && e.Gateway.Reference == name
	})
}

// primaryUses tells whether the primary driver's own gateway refers to a
// credential.
func (c *Capsule) primaryUses(name string) bool {
	e := c.Entry(c.Inference.Driver.Artifact)
	return e != nil && e.Gateway != nil && e.Gateway.Reference == name
}
