package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/diag"
)

// MaxBytes bounds a document. A reader refuses a longer one.
const MaxBytes = 16 << 20

// Read reads the document that r holds to its end. Source says where it came
// from, for messages. Served are the versioned interfaces the caller serves; a
// document staged for another is refused, and nil asks for no such check. Every
// refusal is E-STG-101 and nothing of a refused document is returned.
func Read(r io.Reader, source string, served []string) (*Document, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, unusable(source, "it can not be read: %w", err)
	}
	return Decode(data, source, served)
}

// ReadFile reads the document in the file path. Since the document grants what
// it says, the file must be a regular file, no link, owned by this user and not
// writable by group or others (SES-85).
func ReadFile(path string, served []string) (*Document, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, unusable(path, "its path can not be made absolute: %w", err)
	}
	// O_NONBLOCK: opening a FIFO must not wait for a writer.
	f, err := os.OpenFile(abs, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ELOOP) {
		return nil, unusable(abs, "it is a symbolic link").Hint("name the file it leads to")
	}
	if err != nil {
		return nil, unusable(abs, "it can not be opened: %w", err)
	}
	defer f.Close()
	if err := safeFile(f); err != nil {
		return nil, unusable(abs, "%w", err).Hint("a document grants what it says: keep it to yourself with chmod 600")
	}
	return Read(f, abs, served)
}

func safeFile(f *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return fmt.Errorf("it can not be examined: %w", err)
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return errors.New("it is not a regular file")
	case int(st.Uid) != os.Geteuid():
		return fmt.Errorf("it belongs to uid %d, not to you", st.Uid)
	case st.Mode&0o022 != 0:
		return fmt.Errorf("others may write to it (mode %04o)", st.Mode&0o7777)
	}
	return nil
}

// Decode is Read of data.
func Decode(data []byte, source string, served []string) (*Document, error) {
	if err := head(data, source, Schema); err != nil {
		return nil, err
	}
	d := &Document{}
	if err := decodeStrict(data, d); err != nil {
		return nil, unusable(source, "%w", err)
	}
	for _, raw := range []*json.RawMessage{&d.ParentWorkdirSnapshot, &d.Lineage.Spawner} {
		if string(*raw) == "null" {
			*raw = nil
		}
	}
	if err := d.check(); err != nil {
		return nil, unusable(source, "%w", err)
	}
	if served != nil {
		for _, name := range d.Engine.Interfaces {
			if !slices.Contains(served, name) {
				return nil, unusable(source, "engine.interfaces: %s is not served here; served are %s",
					diag.Quote(name), strings.Join(served, ", ")).Hint("stage the capsule again with this version").Name("field", "engine.interfaces")
			}
		}
	}
	return d, nil
}

// head checks size and schema, so that a document of another major version is
// refused as such and not for its members.
func head(data []byte, source, want string) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return unusable(source, "it is empty").Hint("mur-stage prints the document on standard output when it has not refused")
	}
	if len(data) > MaxBytes {
		return unusable(source, "it is larger than %d bytes", MaxBytes)
	}
	var h struct {
		Schema *string `json:"schema"`
	}
	if err := json.Unmarshal(data, &h); err != nil {
		return unusable(source, "it is not a JSON object: %w", err)
	}
	if h.Schema == nil {
		return unusable(source, "schema is missing; expected %s", want).Name("field", "schema").Name("schemas", want)
	}
	if *h.Schema != want {
		return OtherSchema(source, *h.Schema, want)
	}
	return nil
}

// OtherSchema refuses a document from source whose schema is found, by a reader of
// another.
func OtherSchema(source, found, reads string) *diag.Error {
	return unusable(source, "schema is %s; this version reads %s", diag.Quote(found), reads).
		Hint("stage the capsule again with this version").Name("field", "schema").Name("schemas", reads)
}

func unusable(source, format string, args ...any) *diag.Error {
	e := diag.Errorf("E-STG-101", "the staged session from "+strings.ReplaceAll(source, "%", "%%")+" is refused: "+format, args...)
	return e.Name("source", source)
}

// Encode returns d as one line of JSON and a newline, as mur-stage prints it. It
// fills nil lists and maps of d with empty ones.
func (d *Document) Encode() ([]byte, error) {
	fill(reflect.ValueOf(d).Elem())
	if err := d.check(); err != nil {
		return nil, fmt.Errorf("the document contradicts itself: %w", err)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(d); err != nil {
		return nil, fmt.Errorf("write the staged session: %w", err)
	}
	return b.Bytes(), nil
}
