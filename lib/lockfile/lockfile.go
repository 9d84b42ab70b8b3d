// Package lockfile reads, changes and writes murmur.lock, the list of what a
// project resolved: one pin for each artifact, with version, hashes and who
// wrote it (ART section 8).
//
// What a change does to a lock is decided by pure functions over Lock; Load,
// Write and Update touch the disk. A Lock that was read is valid. Its bytes
// depend on its entries alone. Package lockfile never migrates older files,
// never reorders entries, and never looks at an artifact.
package lockfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/names"
)

// FileName is the name of the lock, beside the manifest (ART-75).
const FileName = "murmur.lock"

// Version is the one lock_version this build reads and writes (ART-76).
const Version = 3

// Lock is the content of murmur.lock. The zero value is an empty lock.
type Lock struct {
	Entries []Entry // in file order (ART-77)
}

// Entry is one pin.
type Entry struct {
	Name    names.Full
	Version string
	SHA256  Hashes
	Origin  Origin
	OwnerID string // immutable identity of the source's owner, "" when not known
}

// Ref is <scope>/<name>@<version>.
func (e Entry) Ref() string { return e.Name.String() + "@" + e.Version }

// Hashes holds one hash that is the same everywhere, or one for each platform;
// exactly one of the two is set (ART-85). Hashes are 64 lower-case hex digits.
type Hashes struct {
	Any       string
	Platforms map[string]string
}

// For returns the hash pinned for a platform, and whether there is one. A
// populated map is answered from alone (ART-86).
func (h Hashes) For(platform string) (string, bool) {
	if len(h.Platforms) > 0 {
		s, ok := h.Platforms[platform]
		return s, ok
	}
	return h.Any, h.Any != ""
}

// Tags returns the platforms that have hashes, sorted.
func (h Hashes) Tags() []string { return slices.Sorted(maps.Keys(h.Platforms)) }

// String lists the hashes for a message.
func (h Hashes) String() string {
	if len(h.Platforms) == 0 {
		return h.Any
	}
	var parts []string
	for _, t := range h.Tags() {
		parts = append(parts, t+"="+h.Platforms[t])
	}
	return strings.Join(parts, " ")
}

// Origin says who wrote a pin: the operator, or the session that pulled it.
type Origin struct {
	Session string // "" is the operator
}

// Operator is the origin of what a person installed or pinned.
var Operator = Origin{}

// IsRuntime reports whether a session pulled it.
func (o Origin) IsRuntime() bool { return o.Session != "" }

// Word is the value of the origin key: operator or runtime.
func (o Origin) Word() string {
	if o.IsRuntime() {
		return "runtime"
	}
	return "operator"
}

// Find returns the entry of a full name.
func (l Lock) Find(name names.Full) (Entry, bool) {
	if i := l.index(name); i >= 0 {
		return l.Entries[i], true
	}
	return Entry{}, false
}

func (l Lock) index(name names.Full) int {
	return slices.IndexFunc(l.Entries, func(e Entry) bool { return e.Name == name })
}

// Before is what a pin replaced.
type Before struct {
	Existed bool
	Origin  Origin // of the entry that was there
}

// Adopted reports whether an operator's pin took over a session's (ART-104).
func (b Before) Adopted(in Entry) bool {
	return b.Existed && b.Origin.IsRuntime() && !in.Origin.IsRuntime()
}

// Pin returns l with in created or merged into the entry of its name, and every
// other entry as it was (ART-93 to ART-95). A new entry goes where order has it
// among the entries that are there, and last when order does not name it (ART-77).
// It does not look for conflicts.
func (l Lock) Pin(in Entry, order []names.Full) (Lock, Before) {
	out := Lock{Entries: slices.Clone(l.Entries)}
	i := l.index(in.Name)
	if i < 0 {
		out.Entries = slices.Insert(out.Entries, l.place(in.Name, order), in)
		return out, Before{}
	}
	old := l.Entries[i]
	out.Entries[i] = merge(old, in)
	return out, Before{Existed: true, Origin: old.Origin}
}

// Holds reports whether pinning in would change nothing.
func (l Lock) Holds(in Entry) bool {
	i := l.index(in.Name)
	return i >= 0 && merge(l.Entries[i], in).equal(l.Entries[i])
}

func (e Entry) equal(o Entry) bool {
	return e.Name == o.Name && e.Version == o.Version && e.Origin == o.Origin && e.OwnerID == o.OwnerID &&
		e.SHA256.Any == o.SHA256.Any && maps.Equal(e.SHA256.Platforms, o.SHA256.Platforms)
}

// place is where a new entry goes: after the nearest of those before it in order,
// else before the nearest of those after it, else last.
func (l Lock) place(name names.Full, order []names.Full) int {
	at := slices.Index(order, name)
	for j := at - 1; j >= 0; j-- {
		if i := l.index(order[j]); i >= 0 {
			return i + 1
		}
	}
	if at >= 0 {
		for _, after := range order[at+1:] {
			if i := l.index(after); i >= 0 {
				return i
			}
		}
	}
	return len(l.Entries)
}

func merge(old, in Entry) Entry {
	out := old
	out.Version = in.Version
	out.SHA256 = in.SHA256
	if old.Version == in.Version && len(old.SHA256.Platforms) > 0 && len(in.SHA256.Platforms) > 0 {
		out.SHA256 = Hashes{Platforms: maps.Clone(old.SHA256.Platforms)}
		maps.Copy(out.SHA256.Platforms, in.SHA256.Platforms)
	}
	if !in.Origin.IsRuntime() {
		out.Origin = Operator
	}
	if in.OwnerID != "" {
		out.OwnerID = in.OwnerID
	}
	return out
}

// Unpin returns l without the entry of name, and whether there was one (ART-97).
func (l Lock) Unpin(name names.Full) (Lock, bool) {
	i := l.index(name)
	if i < 0 {
		return l, false
	}
	return Lock{Entries: slices.Delete(slices.Clone(l.Entries), i, i+1)}, true
}

// Conflict is how something resolved contradicts a pin (ART-96).
type Conflict struct {
	Entry            Entry  // the pin
	In               Entry  // what was resolved
	What             string // version, hash shape, hash, hash for <tag>, owner
	Pinned, Resolved string
}

// Error names the entry and both values; what a caller puts before it says which
// command met it.
func (c *Conflict) Error() string {
	s := fmt.Sprintf("murmur.lock conflict for %s: the pin has %s %s, what was resolved has %s", c.Entry.Name, c.What, c.Pinned, c.Resolved)
	if c.What == "version" {
		s += fmt.Sprintf(" (pinned hash %s, resolved hash %s)", c.Entry.SHA256, c.In.SHA256)
	}
	return s
}

// Diagnostic is the conflict as E-REG-005 with the hint of ART-105.
func (c *Conflict) Diagnostic() *diag.Error {
	return diag.Errorf("E-REG-005", "%w", c).
		Hint("if the change is meant: mur-lock unpin %s, then install again, or mur-lock pin --update %s", c.Entry.Name, c.In.Ref()).
		About(diag.Subject{Kind: diag.LockEntry, Name: c.Entry.Name.String()}).
		Name("entry", c.Entry.Name.String()).
		Name("pinned version", c.Entry.Version).Name("pinned hash", c.Entry.SHA256.String()).
		Name("resolved version", c.In.Version).Name("resolved hash", c.In.SHA256.String())
}

// Conflicts compares what was resolved with the pin of its name and returns nil
// when there is none or they agree. A tag the pin lacks is no conflict.
func (l Lock) Conflicts(in Entry) *Conflict {
	pin, ok := l.Find(in.Name)
	if !ok {
		return nil
	}
	conflict := func(what, pinned, resolved string) *Conflict {
		return &Conflict{Entry: pin, In: in, What: what, Pinned: pinned, Resolved: resolved}
	}
	switch {
	case pin.Version != in.Version:
		return conflict("version", pin.Version, in.Version)
	case (pin.SHA256.Any != "") != (in.SHA256.Any != ""):
		return conflict("hash shape", shape(pin.SHA256), shape(in.SHA256))
	case pin.SHA256.Any != in.SHA256.Any:
		return conflict("hash", pin.SHA256.Any, in.SHA256.Any)
	}
	for _, tag := range in.SHA256.Tags() {
		if have, ok := pin.SHA256.Platforms[tag]; ok && have != in.SHA256.Platforms[tag] {
			return conflict("hash for "+tag, have, in.SHA256.Platforms[tag])
		}
	}
	if pin.OwnerID != "" && in.OwnerID != "" && pin.OwnerID != in.OwnerID {
		return conflict("owner", pin.OwnerID, in.OwnerID)
	}
	return nil
}

func shape(h Hashes) string {
	if h.Any != "" {
		return "one hash for any platform"
	}
	return "hashes by platform"
}
