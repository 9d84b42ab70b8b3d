package manifest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/internal/strictyaml"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/policy"
)

var entryKeys = []string{
	"name", "version", "runtime", "source", "local_source", "prompt_payload", "capabilities", "config", "gateway", "on_overflow",
}

// entries reads artifacts[] by index (MAN-41 to MAN-52).
func (d *decoder) entries(top *block) []Entry {
	var out []Entry
	for i, it := range top.List("artifacts") {
		b := d.Open(it.Node, it.Path, entryKeys)
		if b == nil {
			continue
		}
		e := d.entry(b, i)
		d.Artifact = ""
		if e.Name.Name != "" {
			d.collide(b, e, out)
		}
		out = append(out, e)
	}
	return out
}

// entry reads one element, its keys in the order of MAN-32.
func (d *decoder) entry(b *block, index int) Entry {
	e := Entry{Index: index}
	if name := b.Required("name"); name != "" {
		full, err := names.ParseFull(name)
		if err != nil {
			b.Refuse("name", "%w", err).Name("index", index)
		} else {
			e.Name, d.Artifact = full, full.String()
		}
	}
	e.Role = d.role(b)
	skill := e.Role == policy.Skill

	e.LocalSource, e.PromptPayload = skill, skill
	if v := b.Flag("local_source"); v != nil {
		e.LocalSource = *v
	}
	e.Source = b.Trimmed("source")
	if e.Source != "" && !e.LocalSource {
		b.Refuse("source", "a %s is not read from a path unless local_source is true", e.Role).Name("role", string(e.Role))
	}
	if v := b.Flag("prompt_payload"); v != nil {
		e.PromptPayload = *v
	}
	e.Version = d.entryVersion(b, e.Source != "")

	switch {
	case skill && b.Node("capabilities") != nil:
		b.Refuse("capabilities", "a skill is text and holds no capability")
	default:
		e.Capabilities = d.capabilities(b, e.Role)
	}
	switch {
	case !b.Has("config"):
	case skill:
		b.Refuse("config", "a skill is text and takes no configuration")
	default:
		e.Config = &Config{node: b.Keys["config"], entry: index, artifact: d.Artifact, positions: d.Pos}
	}
	e.Gateway = d.gateway(b, e)
	e.OnOverflow = b.WordOr("on_overflow", "drop", "block")
	if b.Node("on_overflow") != nil && e.Role != policy.Hook {
		b.Refuse("on_overflow", "only a hook has a queue that can overflow; this is a %s", e.Role)
	}
	return e
}

// role reads runtime (MAN-44).
func (d *decoder) role(b *block) policy.Role {
	roles := []string{string(policy.Tool), string(policy.Driver), string(policy.Hook), string(policy.Skill)}
	n := b.Node("runtime")
	if n == nil {
		return policy.Tool
	}
	s, ok := d.Text(n, b.At("runtime"))
	if !ok {
		return policy.Tool
	}
	for _, r := range roles {
		if s == r {
			return policy.Role(s)
		}
	}
	f := b.Refuse("runtime", "the value %s is not one of %s", diag.Quote(s), strings.Join(roles, ", ")).Name("value", s)
	if s == string(WASM) || s == string(Native) {
		f.Hint("how an artifact is built is said by implementation in its own manifest")
	}
	return policy.Tool
}

// entryVersion reads version (MAN-43).
func (d *decoder) entryVersion(b *block, local bool) string {
	v := b.Trimmed("version")
	if local {
		if v != "" && v != LocalVersion {
			d.Warn(b.Keys["version"], b.At("version"), "ignored: an entry with source has the version %s", LocalVersion)
		}
		return LocalVersion
	}
	if v == "" {
		if n := b.Node("version"); n == nil || strictyaml.KindOf(n) == "string" {
			b.Missing("version")
		}
		return ""
	}
	if err := names.CheckVersion(v); err != nil {
		b.Refuse("version", "the version %s %w", diag.Quote(v), err).Name("version", v)
	}
	return v
}

// collide refuses a second entry of one full name or one tool name (MAN-52).
func (d *decoder) collide(b *block, e Entry, before []Entry) {
	for _, o := range before {
		if o.Name.Name != e.Name.Name {
			continue
		}
		what := fmt.Sprintf("artifacts[%d] is %s already", o.Index, o.Name)
		if o.Name.Scope != e.Name.Scope {
			what = fmt.Sprintf("%s and artifacts[%d] (%s) are both called %s in a session", e.Name, o.Index, o.Name, e.Name.Name)
		}
		b.Refuse("name", "%s", what).Name("first", o.Index).Name("second", e.Index)
		return
	}
}

// clean reports a relative path inside a folder: not blank, not absolute, no "..".
func relativePath(s string) error {
	switch {
	case strings.TrimSpace(s) == "":
		return errors.New("is blank")
	case strings.HasPrefix(s, "/"):
		return errors.New("is absolute")
	case strings.Contains(s, "\x00"):
		return errors.New("holds a NUL character")
	}
	for _, part := range strings.Split(s, "/") {
		if part == ".." {
			return errors.New(`holds ".."`)
		}
	}
	return nil
}
