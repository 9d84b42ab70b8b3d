package policy

import "fmt"

// Place is where a value stands in a manifest: its dotted path with list
// indexes and, inside artifacts, the name of the entry (MAN-33).
type Place struct {
	Key      string // such as artifacts[0].capabilities.filesystem.scope
	Artifact string // full name of the entry, or empty
}

// String is the place as messages name it.
func (p Place) String() string {
	if p.Artifact == "" {
		return p.Key
	}
	return p.Key + " (" + p.Artifact + ")"
}

// Index is the place of element i of a list.
func (p Place) Index(i int) Place {
	p.Key = fmt.Sprintf("%s[%d]", p.Key, i)
	return p
}
