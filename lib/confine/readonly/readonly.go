// Package readonly looks at what a call says before it is made and names a path of
// capabilities.filesystem.read_only that it would write (CON section 15). It is a
// check of words, not a boundary: it does not see through variables, command
// substitution, eval, or what a program does by itself (CON-256). It starts
// nothing and reads no file.
//
// mur-shell asks it about commands and native tools, mur-launch about guests'
// inputs.
package readonly

import (
	"path"
	"strings"
)

// Hit is a protected path that a call names: the path as it was written, the entry
// of read_only it falls under, and the word or key that carried it (CON-244).
type Hit struct{ Path, Entry, Via string }

// Checker knows the protected paths of one work folder. It is safe for concurrent
// use.
type Checker struct {
	work    string
	entries []entry
	real    func(string) string
}

type entry struct {
	name  string
	paths []string // lexical and canonical
}

// New makes a checker for entries relative to the absolute work folder. real
// canonicalises the deepest existing ancestor of an absolute path (CON-242).
func New(work string, entries []string, real func(string) string) *Checker {
	c := &Checker{work: work, real: real}
	for _, e := range entries {
		if e = strings.TrimSpace(e); e != "" {
			c.entries = append(c.entries, entry{name: e, paths: c.forms(e)})
		}
	}
	return c
}

// Idle tells whether nothing is protected: then nothing needs to be asked
// (CON-254).
func (c *Checker) Idle() bool { return len(c.entries) == 0 }

// forms are the absolute paths a word stands for: as written and as the file
// system has it.
func (c *Checker) forms(word string) []string {
	if !path.IsAbs(word) {
		word = path.Join(c.work, word)
	}
	lexical := path.Clean(word)
	if real := c.real(lexical); real != lexical {
		return []string{lexical, real}
	}
	return []string{lexical}
}

// match finds the entry that a written path equals or lies below; above also finds
// one that lies below the path, for what takes whole trees away (CON-243).
func (c *Checker) match(word, via string, above bool) *Hit {
	if word == "" {
		return nil
	}
	for _, p := range c.forms(word) {
		for _, e := range c.entries {
			for _, protected := range e.paths {
				if below(p, protected) || above && below(protected, p) {
					return &Hit{Path: word, Entry: e.name, Via: via}
				}
			}
		}
	}
	return nil
}

// below tells whether p is dir or lies beneath it, by components.
func below(p, dir string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
}
