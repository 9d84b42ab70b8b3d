package artifact

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/manifest"
)

// Unix file types in an entry's mode.
const (
	typeMask = 0o170000
	typeFile = 0o100000
	typeDir  = 0o040000
	typeLink = 0o120000
)

// Archive is an opened archive. Its entries are named as asked for: \ reads as
// /, and a leading / is stripped. It keeps the bytes it was opened with and is
// safe for concurrent use.
type Archive struct {
	limits  Limits
	entries []*entry
	byName  map[string]*entry
}

type entry struct {
	rawEntry
	plain  string // name without leading /, with \ as /
	unsafe string // why it must not be used, or ""
	rooted bool   // it was written with a leading /
	dir    bool
}

// Open reads the structure of an archive and refuses one that is damaged,
// encrypted, holds links or special files, two entries of one name, two skill
// texts, entries that overlap, or whose headers contradict its directory. No
// entry is decompressed. Entries with a ..  component, or an absolute or
// drive-prefixed one, are treated as absent by everything but Read, for which
// they are a fault (ART-41). The error says what is wrong in words that follow
// the archive's name; the caller adds code and name (ART-46).
func Open(data []byte, limits Limits) (*Archive, error) {
	raw, err := parseZip(data)
	if err != nil {
		return nil, err
	}
	a := &Archive{limits: limits, byName: make(map[string]*entry, len(raw))}
	for _, r := range raw {
		e, err := classify(r)
		if err != nil {
			return nil, err
		}
		if a.byName[e.plain] != nil {
			return nil, fmt.Errorf("it has two entries named %s", diag.Quote(e.plain))
		}
		a.byName[e.plain] = e
		a.entries = append(a.entries, e)
	}
	if skills := skillTexts(a.Names()); len(skills) > 1 {
		return nil, fmt.Errorf("it has two skill texts: %s", strings.Join(skills, ", "))
	}
	return a, nil
}

func classify(r rawEntry) (*entry, error) {
	e := &entry{rawEntry: r}
	switch r.mode & typeMask {
	case 0, typeFile:
	case typeDir:
		e.dir = true
	case typeLink:
		return nil, fmt.Errorf("entry %s is a link", diag.Quote(r.name))
	default:
		return nil, fmt.Errorf("entry %s is a special file", diag.Quote(r.name))
	}
	name := strings.ReplaceAll(r.name, `\`, "/")
	if strings.HasSuffix(name, "/") {
		e.dir = true
	}
	if e.dir && r.size != 0 {
		return nil, fmt.Errorf("entry %s is a directory with contents", diag.Quote(r.name))
	}
	stripped := strings.TrimLeft(name, "/")
	e.rooted = stripped != name
	e.plain = strings.TrimSuffix(stripped, "/")
	e.unsafe = whyUnsafe(e.plain)
	return e, nil
}

// whyUnsafe says why a name, its leading and trailing / gone, must not become a
// path.
func whyUnsafe(plain string) string {
	for _, c := range strings.Split(plain, "/") {
		switch {
		case c == "..":
			return "it has a .. component"
		case c == "":
			return "it has an empty component"
		case c == ".":
			return "it has a . component"
		case len(c) >= 2 && c[1] == ':' && (c[0]|0x20 >= 'a' && c[0]|0x20 <= 'z'):
			return "it has a drive prefix"
		}
	}
	return ""
}

// Names returns the names of the files that may be used, sorted, without
// directories and unsafe entries.
func (a *Archive) Names() []string {
	var names []string
	for _, e := range a.entries {
		if !e.dir && e.unsafe == "" {
			names = append(names, e.plain)
		}
	}
	slices.Sort(names)
	return names
}

// rootNames returns the names in the archive's root: one component, and written
// without a leading / (ART-19).
func (a *Archive) rootNames() []string {
	var names []string
	for _, name := range a.Names() {
		if !strings.Contains(name, "/") && !a.byName[name].rooted {
			names = append(names, name)
		}
	}
	return names
}

// Has reports whether the file name is there and may be used.
func (a *Archive) Has(name string) bool {
	e := a.byName[name]
	return e != nil && !e.dir && e.unsafe == ""
}

// Executable reports whether the file name has an executable mode.
func (a *Archive) Executable(name string) bool {
	return a.Has(name) && a.byName[name].mode&0o111 != 0
}

// ErrNoEntry is wrapped by the error of reading an entry that is not there.
var ErrNoEntry = errors.New("no such entry")

// Read returns the bytes of the file name. It stops at the ceiling, whatever
// size the entry declares, and checks size and checksum at the end.
func (a *Archive) Read(name string) ([]byte, error) {
	plain := strings.TrimLeft(strings.ReplaceAll(name, `\`, "/"), "/")
	e := a.byName[plain]
	if why := whyUnsafe(plain); why != "" {
		return nil, fmt.Errorf("entry %s is unsafe: %s", diag.Quote(name), why)
	}
	if e == nil || e.dir {
		return nil, fmt.Errorf("entry %s: %w", diag.Quote(name), ErrNoEntry)
	}
	data, err := e.read(a.limits.EntryBytes, tooLarge(a.limits.EntryBytes))
	if err != nil {
		return nil, fmt.Errorf("entry %s %w", diag.Quote(name), err)
	}
	return data, nil
}

// read decompresses an entry; over is the error of one with more bytes than the
// ceiling.
func (e *entry) read(ceiling uint64, over error) ([]byte, error) {
	src, done := e.open()
	defer done()
	var buf bytes.Buffer
	// The declared size only spares copying while the buffer grows; deflate makes
	// at most 1032 bytes of one.
	buf.Grow(int(min(e.size, ceiling, 1032*uint64(len(e.data)))) + bytes.MinRead)
	if ceiling < 1<<62 {
		src = io.LimitReader(src, int64(ceiling)+1)
	}
	if _, err := buf.ReadFrom(src); err != nil {
		return nil, fmt.Errorf("is damaged: %w", err)
	}
	switch {
	case uint64(buf.Len()) > ceiling:
		return nil, over
	case uint64(buf.Len()) != e.size:
		return nil, fmt.Errorf("has %d bytes and declares %d", buf.Len(), e.size)
	case crc32.ChecksumIEEE(buf.Bytes()) != e.crc:
		return nil, errors.New("does not have its checksum")
	}
	return buf.Bytes(), nil
}

func tooLarge(ceiling uint64) error {
	return fmt.Errorf("is larger than the ceiling of %d bytes (%s)", ceiling, CeilingVariable)
}

// open returns what the entry decompresses to; done releases it.
func (e *entry) open() (src io.Reader, done func()) {
	src = bytes.NewReader(e.data)
	if e.method != methodDeflate {
		return src, func() {}
	}
	fr := flate.NewReader(src)
	return fr, func() { fr.Close() }
}

// Text returns the file name as text, which must be UTF-8 (ART-43).
func (a *Archive) Text(name string) (string, error) {
	data, err := a.Read(name)
	if err != nil {
		return "", err
	}
	if !utf8.Valid(data) {
		return "", fmt.Errorf("entry %s is not UTF-8 text", diag.Quote(name))
	}
	return string(data), nil
}

// Manifest returns the bytes of the archive's murmur.yaml. Of one that is longer
// than a manifest may be (MAN-17) no more is decompressed.
func (a *Archive) Manifest() ([]byte, error) {
	if !a.Has(ManifestName) {
		return nil, fmt.Errorf("entry %s: %w", diag.Quote(ManifestName), ErrNoEntry)
	}
	ceiling, over := a.limits.EntryBytes, tooLarge(a.limits.EntryBytes)
	if ceiling > manifest.MaxBytes {
		ceiling, over = manifest.MaxBytes, fmt.Errorf("is larger than the %d bytes a manifest may have", manifest.MaxBytes)
	}
	data, err := a.byName[ManifestName].read(ceiling, over)
	if err != nil {
		return nil, fmt.Errorf("entry %s %w", diag.Quote(ManifestName), err)
	}
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("entry %s is not UTF-8 text", diag.Quote(ManifestName))
	}
	return data, nil
}

// Fault gives the error of a reader its code and name: E-IO-003 naming
// name@version, or whatever else the archive is known by (ART-46). An error that
// has a code keeps it.
func Fault(what string, err error) error {
	if err == nil || diag.CodeOf(err) != "" {
		return err
	}
	return diag.Errorf("E-IO-003", "the archive of %s can not be used: %w", what, err).
		About(diag.Subject{Kind: diag.Artifact, Name: what}).
		Name("name@version", what).Name("reason", err.Error())
}
