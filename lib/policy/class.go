package policy

import (
	"fmt"
	"strings"
)

// Class is a containment class. Classes are ordered: a < b means that a
// promises less than b (MAN-145). The zero value, Unstated, is the absence of a
// requirement and is never the class of a session.
type Class uint8

// The containment classes, weakest first.
const (
	Unstated Class = iota
	Unconfined
	Advisory
	Scoped
	Sealed
)

var classNames = [...]string{"", "unconfined", "advisory", "scoped", "sealed"}

// ClassNames lists the words a manifest, a config file or a flag may use,
// weakest first.
func ClassNames() []string { return append([]string(nil), classNames[1:]...) }

// String returns the class's word on the wire, "" for Unstated.
func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return fmt.Sprintf("class(%d)", uint8(c))
}

// ParseClass reads a class word. Text is trimmed and blank text is Unstated;
// words are case-sensitive (MAN-24, MAN-25, MAN-145).
func ParseClass(s string) (Class, error) {
	s = strings.TrimSpace(s)
	for i, name := range classNames {
		if s == name {
			return Class(i), nil
		}
	}
	return Unstated, fmt.Errorf("no containment class is called %q; there are %s", s, strings.Join(classNames[1:], ", "))
}

// MarshalText writes the class's word.
func (c Class) MarshalText() ([]byte, error) {
	if int(c) >= len(classNames) {
		return nil, fmt.Errorf("containment class %d does not exist", uint8(c))
	}
	return []byte(classNames[c]), nil
}

// UnmarshalText reads a class's word.
func (c *Class) UnmarshalText(text []byte) error {
	v, err := ParseClass(string(text))
	if err == nil {
		*c = v
	}
	return err
}

// Vote is what one source asks for as a floor; it is an element of
// containment.declared_by in the staged-session document (CON-26).
type Vote struct {
	Source string `json:"source"` // one of the From constants
	Class  Class  `json:"class"`
}

// The sources of a floor (CON-23).
const (
	FromManifest      = "manifest"
	FromGlobalConfig  = "global-config"
	FromProjectConfig = "project-config"
	FromFlag          = "flag"
)

// Sources lists the sources of a floor.
func Sources() []string {
	return []string{FromManifest, FromGlobalConfig, FromProjectConfig, FromFlag}
}

// DefaultFloor is the floor when no source speaks (MAN-146).
const DefaultFloor = Advisory

// Floor combines the sources: the strongest wins, an unstated one takes no
// part, order does not matter, and silence of all is DefaultFloor. The votes
// returned are those that spoke, in the order given, never nil.
func Floor(votes ...Vote) (Class, []Vote) {
	floor, spoke := Unstated, []Vote{}
	for _, v := range votes {
		if v.Class == Unstated {
			continue
		}
		spoke = append(spoke, v)
		floor = max(floor, v.Class)
	}
	if floor == Unstated {
		floor = DefaultFloor
	}
	return floor, spoke
}
