package artifact

import (
	"strconv"
	"strings"
)

// CeilingVariable moves the ceiling of one entry (ART-42).
const CeilingVariable = "MURMUR_MAX_ARTIFACT_DECOMPRESSED_BYTES"

// DefaultCeiling is the most bytes one entry may decompress to.
const DefaultCeiling = 524288000

// MaxEntries is the most entries an archive may have (own choice, ART-193).
const MaxEntries = 10000

// Limits bound the reading of an archive.
type Limits struct {
	// EntryBytes is the most bytes one entry may decompress to; 0 is nothing at
	// all.
	EntryBytes uint64
}

// LimitsOf reads the limits from KEY=VALUE strings: the default, or the value of
// CeilingVariable when it parses as an unsigned integer.
func LimitsOf(environ []string) Limits {
	l := Limits{EntryBytes: DefaultCeiling}
	for _, kv := range environ {
		if v, ok := strings.CutPrefix(kv, CeilingVariable+"="); ok {
			l.EntryBytes = DefaultCeiling
			if n, err := strconv.ParseUint(v, 10, 64); err == nil {
				l.EntryBytes = n
			}
		}
	}
	return l
}

// ArchiveBytes is the most bytes a whole archive may have: twice the ceiling of
// an entry (ART-66), and never more than a 32-bit archive can hold.
func (l Limits) ArchiveBytes() int64 {
	const most = 1<<32 - 1
	if l.EntryBytes > most/2 {
		return most
	}
	return max(int64(2*l.EntryBytes), 1<<20)
}
