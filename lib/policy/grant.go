package policy

import (
	"fmt"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/names"
)

// Role is the part an artifact plays in a capsule.
type Role string

// The roles.
const (
	Tool   Role = "tool"
	Driver Role = "driver"
	Hook   Role = "hook"
	Skill  Role = "skill"
)

// Grant is what one artifact holds after its entry's capabilities block is laid
// over its role's baseline: the member `grant` of artifacts[] in the
// staged-session document. A nil *Grant is the ceiling for a tool or driver and
// denial of everything for a hook.
type Grant struct {
	// FilesystemScope is the folder mounted as ".", relative to the work folder;
	// nil mounts nothing, which only a hook's grant does.
	FilesystemScope *string `json:"filesystem_scope"`
	NetworkAllow    Rules   `json:"network_allow"`
	// StateDir is filled by mur-stage with the absolute directory of StateStore.
	StateDir         *string `json:"state_dir"`
	Records          bool    `json:"records"`
	ConversationRead bool    `json:"conversation_read"`
	TaskIORead       bool    `json:"task_io_read"`

	// StateStore is the name of the store, empty without one (MAN-78).
	StateStore string `json:"-"`
}

// Entry is an artifact entry as narrowing sees it.
type Entry struct {
	Index        int
	Name         string // full name
	Role         Role
	Native       bool // payload kind, known once the artifact is resolved
	Capabilities *Capabilities
}

// At is the place of a key below the entry.
func (e Entry) At(key string) Place {
	return Place{Key: fmt.Sprintf("artifacts[%d].%s", e.Index, key), Artifact: e.Name}
}

// Narrow derives an entry's grant (MAN-61 to MAN-81). It refuses with
// E-CAP-001, E-CAP-002 and E-CAP-009. The warnings say which blocks do nothing
// (W-SEC-006, W-SEC-008) and which network entries the ceiling does not cover
// (W-SEC-007). Blocks that a role may not have at all were refused by the
// manifest's parser and are not looked at. mur-stage calls it, with the
// capsule's name as the default store.
func Narrow(ceiling Policy, capsule string, e Entry) (*Grant, []diag.Warning, error) {
	if e.Capabilities == nil {
		return nil, nil, nil
	}
	if e.Native {
		return nil, []diag.Warning{nativeWarning(e)}, nil
	}
	var warnings []diag.Warning
	if w, ok := InertWarning(e); ok {
		warnings = append(warnings, w)
	}
	c := e.Capabilities
	g := &Grant{NetworkAllow: Rules{}}
	if e.Role != Hook {
		g.NetworkAllow = ceiling.NetworkAllow
		whole := "."
		g.FilesystemScope = &whole
		if ceiling.FilesystemScope != nil {
			g.FilesystemScope = ceiling.FilesystemScope
		}
	}
	granted := false
	if c.Network != nil && c.Network.Allow != nil {
		granted = true
		declared, err := ParseRules(e.At("capabilities.network.allow"), c.Network.Allow)
		if err != nil {
			return nil, nil, err
		}
		g.NetworkAllow = declared
		if e.Role != Hook {
			var dropped Rules
			g.NetworkAllow, dropped = ceiling.NetworkAllow.Narrow(declared)
			if len(dropped) > 0 {
				warnings = append(warnings, droppedWarning(e, dropped))
			}
		}
	}
	if c.Filesystem != nil && c.Filesystem.Scope != "" {
		granted = true
		at := e.At("capabilities.filesystem.scope")
		scope, err := CheckScope(at, c.Filesystem.Scope)
		if err == nil && e.Role != Hook && ceiling.FilesystemScope != nil {
			var outside error
			if scope, outside = narrowScope(*ceiling.FilesystemScope, scope); outside != nil {
				err = refuse("E-CAP-002", at, "scope", c.Filesystem.Scope, outside)
			}
		}
		if err != nil {
			return nil, nil, err
		}
		g.FilesystemScope = &scope
	}
	if c.Filesystem != nil && c.Filesystem.Records != nil && *c.Filesystem.Records {
		granted, g.Records = true, true
	}
	if c.State != nil {
		granted = true
		var err error
		if g.StateStore, err = StoreName(e, capsule); err != nil {
			return nil, nil, err
		}
	}
	if c.Conversation != nil {
		granted, g.ConversationRead = true, c.Conversation.Read
	}
	if c.TaskIO != nil {
		granted, g.TaskIORead = true, c.TaskIO.Read
	}
	if !granted {
		g = nil
	}
	return g, warnings, nil
}

// StoreName is the state store an entry opens: its own name for it, else the
// capsule's name; E-CAP-009 when it is not one path segment (MAN-78, MAN-79).
// The entry must declare state.
func StoreName(e Entry, capsule string) (string, error) {
	store := capsule
	if named := e.Capabilities.State.Store; named != nil {
		store = *named
	}
	if err := names.CheckSegment(store); err != nil {
		return "", refuse("E-CAP-009", e.At("capabilities.state.store"), "store", store, fmt.Errorf("it %w", err))
	}
	return store, nil
}

// Inert lists the declared blocks and keys that do nothing on a hook, tool or
// driver (MAN-65, MAN-69, MAN-70), in the order of manifest.md section 5.
func (c *Capabilities) Inert() []string {
	var out []string
	add := func(declared bool, key string) {
		if declared {
			out = append(out, key)
		}
	}
	add(c.Network != nil && c.Network.UnixSockets != nil, "network.unix_sockets")
	add(c.PeerFetch != nil, "peer_fetch")
	if f := c.Filesystem; f != nil {
		add(f.WorkdirExec != nil, "filesystem.workdir_exec")
		add(f.ReadOnly != nil, "filesystem.read_only")
	}
	add(c.Shell != nil, "shell")
	add(c.Env != nil, "env")
	add(c.Limits != nil, "limits")
	add(c.Resources != nil, "resources")
	add(c.Containment != Unstated, "containment")
	add(c.Plan != nil, "plan")
	add(c.Spawn != nil, "spawn")
	return out
}

// InertWarning is W-SEC-006 for a hook and W-SEC-008 for a tool or driver whose
// entry declares what does nothing there; false when it declares no such thing.
func InertWarning(e Entry) (diag.Warning, bool) {
	inert := e.Capabilities.Inert()
	if len(inert) == 0 {
		return diag.Warning{}, false
	}
	code, word := diag.Code("W-SEC-008"), "artifact"
	if e.Role == Hook {
		code, word = "W-SEC-006", "hook"
	}
	list := strings.Join(inert, ", ")
	w := diag.Warningf(code, "artifact", "%s declares what does nothing on a %s: %s",
		e.At("capabilities"), e.Role, list)
	return about(w, e, "capabilities", word, "blocks", list), true
}

func nativeWarning(e Entry) diag.Warning {
	w := diag.Warningf("W-SEC-008", "artifact",
		"%s does nothing: the artifact is native and runs as a host process under the capsule's own policy", e.At("capabilities"))
	return about(w, e, "capabilities", "artifact", "kind", "native")
}

func droppedWarning(e Entry, dropped Rules) diag.Warning {
	var list []string
	for _, r := range dropped {
		list = append(list, r.String())
	}
	text := strings.Join(list, ", ")
	w := diag.Warningf("W-SEC-007", "network",
		"%s asks for what capabilities.network.allow does not cover, which was dropped: %s", e.At("capabilities.network.allow"), text)
	return about(w, e, "capabilities.network.allow", "artifact", "entries", text)
}

func about(w diag.Warning, e Entry, key, word, name, value string) diag.Warning {
	at := e.At(key)
	w.Phase = "check"
	w.Subject = &diag.Subject{Kind: diag.ManifestKey, Name: at.Key}
	w.Names = map[string]any{word: e.Name, name: value}
	return w
}
