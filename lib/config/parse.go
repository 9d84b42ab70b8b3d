package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/internal/strictyaml"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/policy"
)

// dialect is how faults of config.yaml are reported: one code (MAN-277, MAN-285),
// and no code for unknown keys.
var dialect = strictyaml.Dialect{
	Syntax: "E-IO-003", Value: "E-IO-003",
	Kind: diag.ConfigKey, Topic: "config", Phase: "check",
}

// The keys in declared order. inference and beta belong to other tools (MAN-286).
var (
	topKeys      = []string{"containment", "spend", "spawn", "credentials", "host_paths", "registry", "trust", "inference", "beta"}
	spendKeys    = []string{"machine_tokens_per_day", "tree_tokens"}
	spawnKeys    = []string{"max_depth", "max_concurrent"}
	registryKeys = []string{"default", "index_url", "sources"}
	trustKeys    = []string{"require", "keys"}
	sourceKeys   = []string{"name", "type", "repo", "token"}
)

// file is one config.yaml as written.
type file struct {
	path                      string
	containment               policy.Class
	machineTokens, treeTokens *int64
	maxDepth, maxConcurrent   *int64
	credentials               []credential // empty ones dropped
	hostPaths                 []string
	registry                  Registry
	trust                     Trust
}

type credential struct {
	name  string
	value manifest.Secret
}

// parse reads one file. An empty one is an empty configuration.
func parse(path string, data []byte) (file, []diag.Warning, error) {
	out := file{path: path}
	root, e := strictyaml.Read(path, data, dialect)
	if e != nil {
		return file{}, nil, e
	}
	if root == nil || strictyaml.IsNull(root) {
		return out, nil, nil
	}
	d := strictyaml.New(path, dialect, strictyaml.Options{})
	if strictyaml.KindOf(root) != "mapping" {
		d.Mismatch(root, "<root>", "mapping")
		return file{}, nil, d.Err()
	}
	top := d.Open(root, "", topKeys)
	out.containment = class(top)
	if b := top.Sub("spend", spendKeys); b != nil {
		out.machineTokens = b.Whole("machine_tokens_per_day", 1, maxTokens)
		out.treeTokens = b.Whole("tree_tokens", 1, maxTokens)
	}
	if b := top.Sub("spawn", spawnKeys); b != nil {
		out.maxDepth = b.Whole("max_depth", 0, maxTokens)
		out.maxConcurrent = b.Whole("max_concurrent", 0, maxTokens)
	}
	out.credentials = credentials(d, top)
	out.hostPaths = top.Texts("host_paths")
	out.registry = registry(d, top)
	if b := top.Sub("trust", trustKeys); b != nil {
		out.trust = Trust{Require: b.Word("require", RequireNone, RequireBundles, RequireAll), Keys: b.Texts("keys")}
	}
	warnings, _ := d.Finish()
	if err := d.Err(); err != nil {
		return file{}, warnings, err
	}
	for i := range warnings {
		warnings[i].Message = path + ": " + warnings[i].Message
	}
	return out, warnings, nil
}

func class(top *strictyaml.Block) policy.Class {
	text, ok := top.Text("containment")
	if !ok {
		return policy.Unstated
	}
	c, err := policy.ParseClass(text)
	if err != nil {
		top.Refuse("containment", "the value %s is not one of %s", diag.Quote(strings.TrimSpace(text)), strings.Join(policy.ClassNames(), ", "))
	}
	return c
}

func credentials(d *strictyaml.Decoder, top *strictyaml.Block) []credential {
	var out []credential
	for _, p := range top.Free("credentials") {
		if !manifest.IsCredentialName(p.Key) {
			d.FaultAt(p.Item.Path, "%s is no credential name: A-Z, 0-9 and _, no digit first", diag.Quote(p.Key))
			continue
		}
		if strictyaml.IsNull(p.Item.Node) {
			continue
		}
		if text, ok := d.Text(p.Item.Node, p.Item.Path); ok && strings.TrimSpace(text) != "" {
			out = append(out, credential{p.Key, manifest.NewSecret(strings.TrimSpace(text))})
		}
	}
	return out
}

func registry(d *strictyaml.Decoder, top *strictyaml.Block) Registry {
	b := top.Sub("registry", registryKeys)
	r := Registry{Default: b.Trimmed("default"), IndexURL: b.Trimmed("index_url")}
	for _, it := range b.List("sources") {
		s := d.Open(it.Node, it.Path, sourceKeys)
		if s == nil {
			continue
		}
		src := Source{Name: s.Required("name"), Type: s.Trimmed("type"), Repo: s.Trimmed("repo")}
		if token := s.Trimmed("token"); token != "" {
			src.Token, src.HasToken = manifest.NewSecret(token), true
		}
		for _, o := range r.Sources {
			if src.Name != "" && o.Name == src.Name {
				s.Refuse("name", "a source called %s stands before", diag.Quote(src.Name))
				break
			}
		}
		r.Sources = append(r.Sources, src)
	}
	return r
}

// The reasons of a CredentialError (AGT-146).
const (
	Missing     = "missing"
	Unreadable  = "unreadable"
	Unparseable = "unparseable"
	NoEntry     = "no_entry"
	EmptyEntry  = "empty_entry"
)

// CredentialError says why a credential could not be read from a config file. It
// holds no value.
type CredentialError struct {
	File, Name, Reason string
	Err                error // the cause, nil for NoEntry and EmptyEntry
}

// Error names file, credential and reason.
func (e *CredentialError) Error() string {
	text := fmt.Sprintf("credentials.%s of %s: %s", e.Name, e.File, e.Reason)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *CredentialError) Unwrap() error { return e.Err }

// FindCredential reads one credential out of the bytes of a config file. The
// rest of the file only has to be YAML without doubled keys: a re-read in the
// middle of a session must not fail over an unrelated key. The error is a
// *CredentialError.
func FindCredential(path string, data []byte, name string) (manifest.Secret, error) {
	fail := func(reason string, err error) (manifest.Secret, error) {
		return manifest.Secret{}, &CredentialError{File: path, Name: name, Reason: reason, Err: err}
	}
	root, e := strictyaml.Read(path, data, dialect)
	switch {
	case e != nil:
		return fail(Unparseable, e)
	case root == nil || strictyaml.IsNull(root):
		return fail(NoEntry, nil)
	case strictyaml.KindOf(root) != "mapping":
		return fail(Unparseable, errors.New("the file is no mapping"))
	}
	all := strictyaml.Child(root, "credentials")
	if all == nil || strictyaml.IsNull(all) {
		return fail(NoEntry, nil)
	}
	if strictyaml.KindOf(all) != "mapping" {
		return fail(Unparseable, errors.New("credentials is no mapping"))
	}
	switch n := strictyaml.Child(all, name); {
	case n == nil:
		return fail(NoEntry, nil)
	case strictyaml.IsNull(n):
		return fail(EmptyEntry, nil)
	case strictyaml.KindOf(n) != "string":
		return fail(Unparseable, fmt.Errorf("the value is no string (%s)", strictyaml.KindOf(n)))
	case strings.TrimSpace(n.Value) == "":
		return fail(EmptyEntry, nil)
	default:
		return manifest.NewSecret(strings.TrimSpace(n.Value)), nil
	}
}
