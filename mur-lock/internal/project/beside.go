package project

import (
	"errors"
	"io/fs"

	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/lib/workfs"
)

// maxBeside bounds the file of an archive's attestations in bytes.
const maxBeside = 32 << 20

// Beside reads what is signed about the archive at path, from the file beside it
// (ART-215). None is no error.
func Beside(path string) ([][]byte, error) {
	data, err := workfs.ReadFile(path+store.SignatureSuffix, maxBeside)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, workfs.Fault(err, "cannot read the signatures beside the archive")
	}
	return store.Envelopes(data), nil
}
