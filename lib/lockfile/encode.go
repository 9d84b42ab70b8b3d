package lockfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/names"
)

// The file's own shape. Key order is that of the fields.
type document struct {
	LockVersion int        `yaml:"lock_version"`
	Artifacts   []artifact `yaml:"artifacts"`
}

type artifact struct {
	Name    string  `yaml:"name"`
	Version string  `yaml:"resolved_version"`
	SHA256  hashes  `yaml:"sha256"`
	Origin  *string `yaml:"origin,omitempty"`
	Session *string `yaml:"session,omitempty"`
	OwnerID string  `yaml:"owner_id,omitempty"`
}

type hashes struct {
	Any       *string           `yaml:"any,omitempty"`
	Platforms map[string]string `yaml:"platforms,omitempty"`
}

// Marshal returns the file's bytes.
func (l Lock) Marshal() ([]byte, error) {
	doc := document{LockVersion: Version, Artifacts: []artifact{}}
	for _, e := range l.Entries {
		word := e.Origin.Word()
		a := artifact{Name: e.Name.String(), Version: e.Version, Origin: &word, OwnerID: e.OwnerID}
		if e.SHA256.Any != "" {
			a.SHA256.Any = &e.SHA256.Any
		} else {
			a.SHA256.Platforms = e.SHA256.Platforms
		}
		if e.Origin.IsRuntime() {
			a.Session = &e.Origin.Session
		}
		doc.Artifacts = append(doc.Artifacts, a)
	}
	var buf bytes.Buffer
	enc := yaml.NewEncoder(&buf)
	enc.SetIndent(2)
	if err := enc.Encode(doc); err != nil {
		return nil, err
	}
	return buf.Bytes(), enc.Close()
}

// Parse reads the bytes of a lock; path stands in messages alone. The error is
// E-RUN-003 naming the entry and what is wrong with it (ART-87, ART-88).
func Parse(path string, data []byte) (Lock, error) {
	l, entry, err := parse(data)
	if err == nil {
		return l, nil
	}
	e := diag.Errorf("E-RUN-003", "%s: %w", path, err)
	subject := diag.Subject{Kind: diag.LockEntry, Name: entry, File: path}
	if entry != "" {
		e = diag.Errorf("E-RUN-003", "%s: entry %s: %w", path, entry, err)
	}
	var old *versionError
	if errors.As(err, &old) {
		e.Hint("delete %s and run mur-lock install again; older locks are not migrated", path)
	}
	return Lock{}, e.About(subject).Name("entry", entry).Name("reason", err.Error())
}

type versionError struct{ found string }

func (e *versionError) Error() string {
	return fmt.Sprintf("lock_version is %s; this build reads and writes %d alone", e.found, Version)
}

func parse(data []byte) (l Lock, entry string, err error) {
	var head struct {
		LockVersion yaml.Node `yaml:"lock_version"`
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&head); err != nil {
		return Lock{}, "", notYAML(err)
	}
	var n int
	switch v := &head.LockVersion; {
	case v.Kind == 0:
		return Lock{}, "", &versionError{"missing"}
	case v.Tag != "!!int" || v.Decode(&n) != nil || n != Version:
		return Lock{}, "", &versionError{diag.Quote(v.Value)}
	}
	if err := dec.Decode(new(yaml.Node)); err != io.EOF {
		return Lock{}, "", errors.New("it holds more than one document")
	}
	var doc document
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return Lock{}, "", notYAML(err)
	}
	l.Entries = make([]Entry, 0, len(doc.Artifacts))
	seen := map[names.Full]bool{}
	for i, a := range doc.Artifacts {
		e, err := a.entry()
		if err == nil && seen[e.Name] {
			err = errors.New("its name is used twice")
		}
		if err != nil {
			return Lock{}, a.label(i), err
		}
		seen[e.Name] = true
		l.Entries = append(l.Entries, e)
	}
	return l, "", nil
}

func notYAML(err error) error {
	if err == io.EOF {
		return &versionError{"missing"}
	}
	return fmt.Errorf("it can not be read: %s", strings.ReplaceAll(err.Error(), "\n", " "))
}

func (a artifact) label(i int) string {
	if a.Name == "" {
		return fmt.Sprintf("artifacts[%d]", i)
	}
	return diag.Quote(a.Name)
}

func (a artifact) entry() (Entry, error) {
	full, err := names.ParseFull(a.Name)
	if err != nil {
		return Entry{}, fmt.Errorf("name: %w", err)
	}
	e := Entry{Name: full, Version: a.Version, OwnerID: a.OwnerID}
	if a.SHA256.Any != nil {
		e.SHA256.Any = *a.SHA256.Any
	}
	e.SHA256.Platforms = a.SHA256.Platforms
	word := "operator"
	if a.Origin != nil {
		word = *a.Origin
	}
	switch {
	case word != "operator" && word != "runtime":
		return Entry{}, fmt.Errorf("origin is %s; operator or runtime is expected", diag.Quote(word))
	case word == "runtime" && (a.Session == nil || strings.TrimSpace(*a.Session) == ""):
		return Entry{}, errors.New("origin is runtime and session is missing")
	case word == "operator" && a.Session != nil:
		return Entry{}, errors.New("origin is operator and session is set")
	case word == "runtime":
		e.Origin.Session = *a.Session
	}
	if a.SHA256.Any != nil && a.SHA256.Platforms != nil {
		return Entry{}, errors.New("sha256 has both any and platforms")
	}
	return e, e.validate()
}

// validate checks an entry as far as its Go form allows faults (ART-79 to
// ART-85).
func (e Entry) validate() error {
	if strings.TrimSpace(e.Version) == "" {
		return errors.New("resolved_version is blank")
	}
	if err := names.CheckVersion(e.Version); err != nil {
		return fmt.Errorf("resolved_version %s %w", diag.Quote(e.Version), err)
	}
	h := e.SHA256
	switch {
	case h.Any != "" && len(h.Platforms) > 0:
		return errors.New("sha256 has both any and platforms")
	case h.Any == "" && len(h.Platforms) == 0:
		return errors.New("sha256 has no hash")
	case h.Any != "" && !IsHash(h.Any):
		return fmt.Errorf("sha256.any %s is not 64 lower-case hex digits", diag.Quote(h.Any))
	}
	for _, tag := range h.Tags() {
		if strings.TrimSpace(tag) == "" {
			return errors.New("sha256.platforms has an empty tag")
		}
		if !IsHash(h.Platforms[tag]) {
			return fmt.Errorf("sha256.platforms.%s %s is not 64 lower-case hex digits", tag, diag.Quote(h.Platforms[tag]))
		}
	}
	return nil
}

// IsHash reports whether s is a SHA-256 as it is written everywhere here.
func IsHash(s string) bool {
	if len(s) != 64 {
		return false
	}
	return strings.Trim(s, "0123456789abcdef") == ""
}
