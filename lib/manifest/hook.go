package manifest

import (
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/internal/strictyaml"
)

// Contract is a hook's behaviour, from its own manifest alone (MAN-251 to
// MAN-253).
type Contract struct {
	Binding       string // empty: every session event but on-stage
	ExecutionMode string // Blocking or async
	CommitPolicy  string
}

// The words of the contract that decide something beyond their own row.
const (
	OnStage  = "on-stage"
	OnShell  = "on-shell"
	OnCall   = "on-tool-call"
	Blocking = "blocking"
	Async    = "async"
	NoPolicy = "none"
	Deny     = "deny"
)

// Bindings are the words of binding (MAN-251).
func Bindings() []string {
	return []string{OnStage, "on-session-start", "on-task-start", "on-inference", OnCall, OnShell, "on-compaction", "on-task-end", "on-session-end"}
}

// honoured is the one policy beside none that a binding honours, "" where there
// is none (MAN-254 to MAN-260).
var honoured = map[string]string{
	OnStage:         "write-manifests",
	"on-task-start": "seed-context",
	"on-compaction": "replace-context",
	"on-task-end":   "reopen-task",
	OnCall:          Deny,
	OnShell:         Deny,
}

var policyWords = []string{NoPolicy, "write-manifests", "replace-context", "reopen-task", "seed-context", Deny}

// Contract reads and checks the hook contract; hook is its name@version for
// messages. Every fault, a value that is no string included, is E-MAN-003
// (MAN-262 to MAN-265). mur-lock calls it when packing, mur-stage before the
// component is compiled; for artifacts of another role it means nothing.
func (a *Artifact) Contract(hook string) (Contract, error) {
	var c Contract
	for _, f := range []struct {
		key   string
		to    *string
		def   string
		words []string
	}{
		{"binding", &c.Binding, "", Bindings()},
		{"execution_mode", &c.ExecutionMode, Blocking, []string{Blocking, Async}},
		{"commit_policy", &c.CommitPolicy, NoPolicy, policyWords},
	} {
		*f.to = f.def
		n := a.top.Node(f.key)
		if n == nil {
			continue
		}
		if k := strictyaml.KindOf(n); k != "string" {
			return Contract{}, a.contractFault(hook, f.key, "%s: expected string, found %s", f.key, k)
		}
		if *f.to = strictyaml.Resolve(n).Value; !slices.Contains(f.words, *f.to) {
			return Contract{}, a.contractFault(hook, f.key, "%s: the value %s is not one of %s", f.key, diag.Quote(*f.to), strings.Join(f.words, ", "))
		}
	}
	if key, problem := c.conflict(); problem != "" {
		one := "none"
		if h := honoured[c.Binding]; h != "" {
			one = h
		} else if c.Binding == "" {
			one = "any but deny"
		}
		binding := c.Binding
		if binding == "" {
			binding = "absent"
		}
		return Contract{}, a.contractFault(hook, key, "%s (binding %s, execution_mode %s, commit_policy %s; the policy this binding honours besides none: %s)",
			problem, binding, c.ExecutionMode, c.CommitPolicy, one).
			Name("binding", binding).Name("policy", c.CommitPolicy).Name("honoured", one)
	}
	return c, nil
}

// conflict finds what does not go together, and the key to change.
func (c Contract) conflict() (key, problem string) {
	switch {
	case c.ExecutionMode == Async && c.Binding == OnStage:
		return "execution_mode", "a hook on on-stage is blocking"
	case c.CommitPolicy == NoPolicy:
		return "", ""
	case c.ExecutionMode == Async:
		return "execution_mode", "an async hook commits nothing"
	case c.CommitPolicy == Deny && c.Binding != OnShell && c.Binding != OnCall:
		return "commit_policy", "deny needs binding: on-shell or on-tool-call"
	case c.Binding != "" && honoured[c.Binding] != c.CommitPolicy:
		return "commit_policy", "the binding does not honour the policy"
	}
	return "", ""
}

func (a *Artifact) contractFault(hook, key, format string, args ...any) *diag.Error {
	return diag.Errorf("E-MAN-003", "hook %s: "+format, append([]any{hook}, args...)...).
		About(a.Subject(key)).Name("hook", hook).Name("path", key)
}
