package manifest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/policy"
)

// Warnings are what a valid manifest lets one say without looking at the host
// or an artifact, capsule-wide ones first: W-SEC-009, 011, 014, 016, 017, 024,
// 025, 027 (literal keys) and 030. Life is the resolved lifecycle, floor the
// effective one. mur-stage prints them at step 22 of session.md section 3.2,
// mur-doctor with its project checks, in the same words (DIA-11).
func (c *Capsule) Warnings(life Lifecycle, floor policy.Class) []diag.Warning {
	var out []diag.Warning
	if caps := c.Capabilities; caps != nil {
		if caps.State != nil {
			out = append(out, c.about("capabilities.state", diag.Warningf("W-SEC-014", "manifest",
				"capabilities.state grants nothing to a whole capsule; declare it on the artifact that keeps state")))
		}
		if caps.Conversation != nil {
			out = append(out, c.about("capabilities.conversation", diag.Warningf("W-SEC-016", "manifest",
				"capabilities.conversation grants nothing to a whole capsule; declare it on the hook that reads the conversation")))
		}
		out = append(out, c.filesystemWarnings(caps, floor)...)
		out = append(out, c.interpreterWarnings(caps)...)
		if caps.Env != nil {
			for _, w := range policy.CredentialWarnings(caps.Env.Allow, c.envRules(), life.AfterTask == AfterSleep) {
				out = append(out, c.about(w.Subject.Name, w))
			}
		}
	}
	return append(out, c.gatewayWarnings()...)
}

// about places a warning at a key.
func (c *Capsule) about(key string, w diag.Warning) diag.Warning {
	s := c.Subject(key)
	w.Phase, w.Subject = "check", &s
	if w.Names == nil {
		w.Names = map[string]any{"key": key}
	}
	return w
}

// filesystemWarnings are W-SEC-011 and W-SEC-017 (MAN-108, MAN-110).
func (c *Capsule) filesystemWarnings(caps *policy.Capabilities, floor policy.Class) []diag.Warning {
	var out []diag.Warning
	f := caps.Filesystem
	if f == nil {
		return nil
	}
	if f.WorkdirExec != nil && *f.WorkdirExec {
		class := min(floor, policy.Advisory)
		w := diag.Warningf("W-SEC-011", "filesystem",
			"capabilities.filesystem.workdir_exec lets what a command writes be executed, so that shell.allow is advisory and the class at most %s", class)
		w.Names = map[string]any{"key": "capabilities.filesystem.workdir_exec", "class": class.String()}
		out = append(out, c.about("capabilities.filesystem.workdir_exec", w))
	}
	if caps.Shell == nil || !slices.ContainsFunc(f.ReadOnly, func(s string) bool { return s != "" }) {
		return out
	}
	for _, program := range unique(caps.Shell.Allow) {
		if slices.Contains(policy.Interpreters(), program) {
			w := diag.Warningf("W-SEC-017", "filesystem",
				"capabilities.filesystem.read_only is advisory for %s: what its scripts write is not seen", program)
			w.Names = map[string]any{"program": program}
			out = append(out, c.about("capabilities.filesystem.read_only", w))
		}
	}
	return out
}

// interpreterWarnings are W-SEC-009, one for each grant (MAN-120).
func (c *Capsule) interpreterWarnings(caps *policy.Capabilities) []diag.Warning {
	var out []diag.Warning
	if caps.Shell == nil {
		return nil
	}
	for i, g := range caps.Shell.InterpreterRuntime {
		var dirs []string
		for _, d := range g.Dirs {
			word := "not listed"
			if d.ListDir {
				word = "listed"
			}
			dirs = append(dirs, fmt.Sprintf("%s (%s)", d.Path, word))
		}
		w := diag.Warningf("W-SEC-009", "shell", "capabilities.shell.interpreter_runtime ties the capsule to this host: %s uses %s",
			g.Binary, strings.Join(dirs, ", "))
		w.Names = map[string]any{"binary": g.Binary, "directories": strings.Join(dirs, ", ")}
		out = append(out, c.about(fmt.Sprintf("capabilities.shell.interpreter_runtime[%d]", i), w))
	}
	return out
}

// gatewayWarnings are W-SEC-025, W-SEC-027 for literal keys, and W-SEC-030.
func (c *Capsule) gatewayWarnings() []diag.Warning {
	var out []diag.Warning
	if caps := c.Capabilities; caps != nil && caps.Network != nil {
		out = append(out, c.upstreamEntries("capabilities.network.allow", caps.Network.Allow)...)
	}
	for i := range c.Artifacts {
		e := &c.Artifacts[i]
		if e.Capabilities != nil && e.Capabilities.Network != nil {
			out = append(out, c.upstreamEntries(fmt.Sprintf("artifacts[%d].capabilities.network.allow", i), e.Capabilities.Network.Allow)...)
		}
	}
	for i := range c.Artifacts {
		if e := &c.Artifacts[i]; e.Gateway != nil && e.Gateway.Literal != nil {
			out = append(out, c.KeyWarning(e))
		}
	}
	for i := range c.Artifacts {
		e := &c.Artifacts[i]
		if e.Gateway == nil || c.metered(e) {
			continue
		}
		w := diag.Warningf("W-SEC-030", "gateway", "artifacts[%d] (%s) reaches %s through a gateway that no spend ceiling counts", i, e.Name, e.Gateway.Host)
		w.Names = map[string]any{"artifact": e.Name.String(), "host": e.Gateway.Host}
		out = append(out, c.about(fmt.Sprintf("artifacts[%d].gateway", i), w))
	}
	return out
}

// metered tells whether a gateway belongs to a driver choice, whose calls the
// meter counts.
func (c *Capsule) metered(e *Entry) bool {
	in := c.Inference
	if in == nil || e.Role != policy.Driver {
		return false
	}
	name := e.Name.String()
	return in.Driver.Artifact == name || slices.ContainsFunc(in.Alternates, func(a Alternate) bool { return a.Driver.Artifact == name })
}

// upstreamEntries are W-SEC-025: allow entries that reach a gateway's upstream
// past the gateway. Entries that can not be read are E-CAP-001's business.
func (c *Capsule) upstreamEntries(key string, entries []string) []diag.Warning {
	var out []diag.Warning
	for i, entry := range entries {
		rule, err := policy.ParseRule(entry)
		if err != nil {
			continue
		}
		var artifacts []string
		for j := range c.Artifacts {
			if g := c.Artifacts[j].Gateway; g != nil && rule.Covers(g.rule()) {
				artifacts = append(artifacts, c.Artifacts[j].Name.String())
			}
		}
		if artifacts == nil {
			continue
		}
		at := fmt.Sprintf("%s[%d]", key, i)
		w := diag.Warningf("W-SEC-025", "network", "%s: the entry %s reaches the upstream of %s past its gateway and meter; the gateway needs no entry",
			at, diag.Quote(rule.String()), strings.Join(artifacts, ", "))
		w.Names = map[string]any{"entry": rule.String(), "artifact": strings.Join(artifacts, ", ")}
		out = append(out, c.about(at, w))
	}
	return out
}

// KeyWarning is W-SEC-027 for a key that is fixed for the session: a literal, or
// one that came from the environment (MAN-95). For a reference the caller says
// by calling it that the environment had the value.
func (c *Capsule) KeyWarning(e *Entry) diag.Warning {
	source, entry := "written into the manifest", "NAME"
	if ref := e.Gateway.Reference; ref != "" {
		source, entry = "taken from the environment variable "+ref, ref
	}
	w := diag.Warningf("W-SEC-027", "gateway",
		"the key of artifacts[%d] (%s) is %s, so it is read once and a rotated one is not seen; keep it as credentials.%s in config.yaml",
		e.Index, e.Name, source, entry)
	w.Names = map[string]any{"artifact": e.Name.String(), "source": source, "entry": "credentials." + entry}
	return c.about(fmt.Sprintf("artifacts[%d].gateway", e.Index), w)
}

// ConfigWarning is W-SEC-015 for an entry with config whose artifact turned out
// to be native (MAN-85).
func (c *Capsule) ConfigWarning(e *Entry) diag.Warning {
	w := diag.Warningf("W-SEC-015", "artifact", "artifacts[%d].config (%s) delivers nothing: the artifact is native", e.Index, e.Name)
	w.Names = map[string]any{"artifact": e.Name.String()}
	return c.about(fmt.Sprintf("artifacts[%d].config", e.Index), w)
}

// unique drops repeats.
func unique(in []string) []string {
	var out []string
	for _, s := range in {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
