package trace

import (
	"errors"
	"fmt"
	"io/fs"
)

// BlobDir is the directory of stored bodies in a records directory.
const BlobDir = "blobs"

// StoreBlob stores a body under its hash, blobs/<sha256>, and returns the hash.
// An existing blob is never rewritten; a new one appears whole or not at all
// (TRC-73). The bytes are the body's, verbatim (TRC-74).
func (l *Log) StoreBlob(body []byte) (string, error) {
	sum := hexSum(body)
	rel := BlobDir + "/" + sum
	e, err := l.records.Stat(rel)
	if err == nil && e.IsRegular() {
		return sum, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("a body can not be stored: %w", err)
	}
	if err := l.records.WriteFile(rel, body); err != nil {
		return "", fmt.Errorf("a body can not be stored: %w", err)
	}
	return sum, nil
}
