// Package config reads what the host's operator decides once for every capsule:
// config.yaml in the murmur home and in a project, and the .env file of a
// project (docs/spec/manifest.md section 15).
//
// It promises that a project can only tighten what the global file says about
// containment and spend, and can not touch credentials, host paths or the bounds
// of delegation; and that the value of a credential is in no message and no
// encoding of a Config. It writes nothing.
//
// mur-stage, mur-lock and mur-doctor Load a Config; mur-launch reads single
// credentials with ReadCredential and the .env file again.
package config

import (
	"errors"
	"io/fs"
	"math"
	"path/filepath"
	"slices"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/workfs"
)

// FileName is the name of both files; the project's is in .murmur beneath the
// working directory and nowhere else (MAN-277).
const FileName = "config.yaml"

// Defaults of the bounds of delegation (MAN-310).
const (
	DefaultMaxDepth      = 3
	DefaultMaxConcurrent = 4
)

// Config is the effective configuration: both files merged (MAN-278 to MAN-284,
// MAN-309, MAN-310). Nil pointers set no ceiling.
type Config struct {
	// GlobalFile and ProjectFile are where the files are looked for; either may
	// be missing. They are equal when the project's folder is the murmur home.
	GlobalFile, ProjectFile string

	// GlobalContainment and ProjectContainment are two votes for the floor
	// (policy.Floor); a project's can raise it and never lower it.
	GlobalContainment, ProjectContainment policy.Class

	MachineTokensPerDay *int64
	TreeTokens          *int64
	MaxDepth            int64 // 0 refuses every delegation
	MaxConcurrent       int64 // 0 refuses every delegation
	HostPaths           []string
	Registry            Registry
	Trust               Trust

	credentials map[string]manifest.Secret // none is empty
}

// The words of Trust.Require, each demanding what those before it do.
const (
	RequireNone    = "none"
	RequireBundles = "bundles"
	RequireAll     = "all" // bundles, and artifacts of stores
)

// Trust says whose signatures count and what must have one (MAN-316, MAN-317).
type Trust struct {
	Require string   // none, bundles or all
	Keys    []string // files of public keys, absolute
}

// Artifacts reports whether artifacts of stores must be signed.
func (t Trust) Artifacts() bool { return t.Require == RequireAll }

// Bundles reports whether bundles must be signed.
func (t Trust) Bundles() bool { return t.Require == RequireBundles || t.Require == RequireAll }

var requireWords = []string{RequireNone, RequireBundles, RequireAll}

// stronger is the word that demands more.
func stronger(a, b string) string {
	if slices.Index(requireWords, b) > slices.Index(requireWords, a) {
		return b
	}
	return a
}

// Registry says where artifacts come from.
type Registry struct {
	Default  string
	IndexURL string
	Sources  []Source
}

// Source is one place to fetch artifacts from. It is kept as written: a wrong
// type or repository is the source's own fault to answer with (ART-59). Token is
// a name or a literal (ART-60).
type Source struct {
	Name, Type, Repo string
	Token            manifest.Secret
	HasToken         bool
}

// HasCredential tells whether the global file has a value for a name.
func (c Config) HasCredential(name string) bool {
	_, ok := c.credentials[name]
	return ok
}

// CredentialNames are the names the global file has values for, sorted.
func (c Config) CredentialNames() []string {
	var out []string
	for name := range c.credentials {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Load reads and merges the global file of home and the project file of dir, the
// working directory. A missing file is an empty one; one that can not be read or
// understood is E-IO-002 or E-IO-003. The warnings are plain: unknown keys, and
// keys a project may not set.
func Load(home workfs.Home, dir string) (Config, []diag.Warning, error) {
	c := Config{GlobalFile: home.Join(FileName), ProjectFile: filepath.Join(dir, ".murmur", FileName)}
	global, warnings, err := readFile(c.GlobalFile)
	if err != nil {
		return Config{}, nil, err
	}
	var project file
	if c.ProjectFile != c.GlobalFile {
		var more []diag.Warning
		if project, more, err = readFile(c.ProjectFile); err != nil {
			return Config{}, nil, err
		}
		warnings = append(warnings, more...)
	}
	merged, more := merge(c, global, project)
	return merged, append(warnings, more...), nil
}

func readFile(path string) (file, []diag.Warning, error) {
	data, err := workfs.ReadFile(path, manifest.MaxBytes+1)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return file{}, nil, nil
	case err != nil:
		return file{}, nil, workfs.Fault(err, "cannot read the configuration")
	}
	return parse(path, data)
}

// merge lays the project's file over the global one.
func merge(c Config, global, project file) (Config, []diag.Warning) {
	c.GlobalContainment, c.ProjectContainment = global.containment, project.containment
	c.MachineTokensPerDay = lowest(global.machineTokens, project.machineTokens)
	c.TreeTokens = lowest(global.treeTokens, project.treeTokens)
	c.MaxDepth, c.MaxConcurrent = DefaultMaxDepth, DefaultMaxConcurrent
	if global.maxDepth != nil {
		c.MaxDepth = *global.maxDepth
	}
	if global.maxConcurrent != nil {
		c.MaxConcurrent = *global.maxConcurrent
	}
	c.HostPaths = append([]string{}, global.hostPaths...)
	c.credentials = map[string]manifest.Secret{}
	for _, k := range global.credentials {
		c.credentials[k.name] = k.value
	}
	c.Registry = Registry{Default: global.registry.Default, IndexURL: global.registry.IndexURL}
	if project.registry.Default != "" {
		c.Registry.Default = project.registry.Default
	}
	if project.registry.IndexURL != "" {
		c.Registry.IndexURL = project.registry.IndexURL
	}
	c.Registry.Sources = append([]Source{}, global.registry.Sources...)
	for _, s := range project.registry.Sources {
		if i := slices.IndexFunc(c.Registry.Sources, func(o Source) bool { return o.Name == s.Name }); i >= 0 {
			c.Registry.Sources[i] = s
		} else {
			c.Registry.Sources = append(c.Registry.Sources, s)
		}
	}
	c.Trust.Require = stronger(stronger(RequireNone, global.trust.Require), project.trust.Require)
	for _, k := range global.trust.Keys {
		if !filepath.IsAbs(k) {
			k = filepath.Join(filepath.Dir(c.GlobalFile), k)
		}
		c.Trust.Keys = append(c.Trust.Keys, k)
	}
	return c, ignored(project)
}

// ignored are the warnings about what only the global file may set.
func ignored(project file) []diag.Warning {
	var out []diag.Warning
	add := func(key string) {
		w := diag.Warningf("", "config", "%s: %s is ignored; only the global configuration may set it", project.path, key)
		s := diag.Subject{Kind: diag.ConfigKey, Name: key, File: project.path}
		w.Phase, w.Subject = "check", &s
		out = append(out, w)
	}
	for _, k := range project.credentials {
		add("credentials." + k.name)
	}
	if project.hostPaths != nil {
		add("host_paths")
	}
	if project.trust.Keys != nil {
		add("trust.keys")
	}
	if project.maxDepth != nil {
		add("spawn.max_depth")
	}
	if project.maxConcurrent != nil {
		add("spawn.max_concurrent")
	}
	return out
}

func lowest(a, b *int64) *int64 {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

// maxTokens bounds a declared number of tokens.
const maxTokens = math.MaxInt64
