package manifest

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"sync"

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

var doorCredentialName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`) })

func (d *decoder) network(top *block) Network {
	b := top.Sub("network", networkKeys)
	n := Network{InternalPort: int(b.WholeOr("internal_port", 0, 1, 65535))}
	a := b.Sub("authentication", authenticationKeys)
	if a == nil {
		return n
	}
	n.Authentication = &Authentication{}
	if a.Node("scheme") == nil {
		a.Missing("scheme")
	}
	a.Word("scheme", "bearer")
	for _, p := range a.Free("credentials") {
		switch {
		case !doorCredentialName().MatchString(p.Key):
			d.FaultAt(p.Item.Path, "%s is no credential name: a small letter, then up to 31 of a-z, 0-9, _ and -", diag.Quote(p.Key)).Name("credential", p.Key)
		case p.Key == "operator":
			d.FaultAt(p.Item.Path, "operator is the credential that every capsule has already").Name("credential", p.Key)
		}
		c := d.Open(p.Item.Node, p.Item.Path, doorCredentialKeys)
		if c == nil {
			continue
		}
		scopes := c.Words("scopes", Scopes()...)
		if len(scopes) == 0 && d.OK() {
			c.Refuse("scopes", "a credential needs at least one scope").Name("credential", p.Key)
		}
		n.Authentication.Credentials = append(n.Authentication.Credentials, DoorCredential{Name: p.Key, Scopes: scopes})
	}
	return n
}

// DefaultExportBytes is exports.files.max_bytes when it is not declared.
const DefaultExportBytes = 10 << 20

func (d *decoder) exports(top *block) Exports {
	var e Exports
	b := top.Sub("exports", exportsKeys)
	if f := b.Sub("files", exportFilesKeys); f != nil {
		e.Files = &FileExport{Root: exportRoot(f)}
		if f.Node("mode") == nil {
			f.Missing("mode")
		}
		f.Word("mode", "read-only")
		e.Files.MaxBytes = f.Size("max_bytes", DefaultExportBytes)
	}
	if f := b.Sub("peer_files", exportPeerKeys); f != nil {
		e.PeerFiles = &PeerExport{
			Root:       exportRoot(f),
			MaxBytes:   f.Size("max_bytes", DefaultExportBytes),
			MaxTTLSecs: f.Duration("max_ttl", "smh"),
		}
	}
	if t := b.Sub("peer_tasks", peerTasksKeys); t != nil {
		e.PeerAccept = t.NeedFlag("accept")
	}
	return e
}

// exportRoot reads a relative path below the work folder (MAN-227).
func exportRoot(b *block) string {
	root := b.Required("root")
	if root == "" {
		return ""
	}
	if err := relativePath(root); err != nil {
		b.Refuse("root", "the folder %s %w", diag.Quote(root), err).Name("root", root)
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
	b := top.Sub("control", controlKeys)
	out := Control{
		Settings:      b.Words("settings", SetMaxTokens, SetDriver),
		Secrets:       b.Texts("secrets"),
		AgentSettings: b.Words("agent_settings", SetDriver),
	}
	if !d.OK() || b == nil {
		return out
	}
	in := c.Inference
	if in == nil && len(out.Settings)+len(out.Secrets)+len(out.AgentSettings) > 0 {
		d.FaultAt(b.Path, "a capsule without an inference block has nothing to control")
		return out
	}
	for _, l := range []struct {
		key   string
		words []string
	}{{"settings", out.Settings}, {"agent_settings", out.AgentSettings}} {
		switch {
		case len(l.words) == 0:
		case in.Transport != HTTP:
			b.Refuse(l.key, "only transport: http can be set while it runs")
		case slices.Contains(l.words, SetDriver) && len(in.Alternates) == 0:
			b.Refuse(l.key, "%s needs a second choice", SetDriver).Hint("declare inference.alternates")
		}
	}
	for i, name := range out.Secrets {
		at := fmt.Sprintf("%s[%d]", b.At("secrets"), i)
		switch {
		case !IsCredentialName(name):
			d.FaultAt(at, "%s is no credential name: A-Z, 0-9 and _, no digit first", diag.Quote(name))
		case slices.Contains(out.Secrets[:i], name):
			d.FaultAt(at, "%s stands twice", name)
		case !c.refersTo(name):
			d.FaultAt(at, "no artifact's gateway.api_key is ${%s}", name)
		case in.Transport == HTTP && c.primaryUses(name):
			d.FaultAt(at, "${%s} is the key of the driver %s, which needs it before a controller can give it", name, in.Driver.Artifact)
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
