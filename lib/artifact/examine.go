package artifact

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
)

// Examine reads an archive through, as whoever lets one into a store does
// (ART-221): no name that is unsafe or absolute, no two that differ in case alone,
// no entry beyond the ceiling or with other bytes than its headers promise, and no
// more in all than an archive may have bytes. It keeps nothing, takes little
// memory whatever the archive holds, and looks at ctx before each entry. The error
// names the entry, in words that follow the archive's name.
func (a *Archive) Examine(ctx context.Context) error {
	folded := make(map[string]string, len(a.entries))
	var sum uint64
	for _, e := range a.entries {
		if e.unsafe != "" {
			return fmt.Errorf("entry %s is unsafe: %s", diag.Quote(e.name), e.unsafe)
		}
		if e.rooted {
			return fmt.Errorf("entry %s is unsafe: it is absolute", diag.Quote(e.name))
		}
		key := strings.ToLower(e.plain)
		if other, twin := folded[key]; twin {
			return fmt.Errorf("entries %s and %s differ in case alone", diag.Quote(other), diag.Quote(e.name))
		}
		folded[key] = e.name
		if e.size > a.limits.EntryBytes {
			return fmt.Errorf("entry %s %w", diag.Quote(e.name), tooLarge(a.limits.EntryBytes))
		}
		// The sizes are promises, and what breaks one is refused below.
		if sum += e.size; sum > uint64(a.limits.ArchiveBytes()) {
			return fmt.Errorf("entry %s and those before it have more than %d bytes together", diag.Quote(e.name), a.limits.ArchiveBytes())
		}
	}
	for _, e := range a.entries {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := e.examine(); err != nil {
			return fmt.Errorf("entry %s %w", diag.Quote(e.name), err)
		}
	}
	return nil
}

// examine reads an entry through without keeping it.
func (e *entry) examine() error {
	src, done := e.open()
	defer done()
	sum := crc32.NewIEEE()
	n, err := io.Copy(sum, io.LimitReader(src, int64(e.size)+1)) // a size has 32 bits
	switch {
	case err != nil:
		return fmt.Errorf("is damaged: %w", err)
	case uint64(n) > e.size:
		return fmt.Errorf("has more bytes than the %d it declares", e.size)
	case uint64(n) < e.size:
		return fmt.Errorf("has %d bytes and declares %d", n, e.size)
	case sum.Sum32() != e.crc:
		return errors.New("does not have its checksum")
	}
	return nil
}
