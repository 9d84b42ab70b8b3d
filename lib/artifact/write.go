package artifact

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io/fs"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/workfs"
)

// Hash is the hash of an artifact: SHA-256 over the whole archive, in lower-case
// hex (ART-70).
func Hash(archive []byte) string {
	sum := sha256.Sum256(archive)
	return hex.EncodeToString(sum[:])
}

// Build returns the archive's bytes. They depend on the plan alone: the date is
// always 1980-01-01, modes are 0644 or 0755, every entry is deflated and has its
// sizes in its header (ART-25, ART-26). What Build returns, Open accepts.
func (p *Plan) Build(limits Limits) ([]byte, error) {
	var out bytes.Buffer
	zw := zip.NewWriter(&out)
	for i, comp := range deflateAll(p.Files) {
		f, err := p.Files[i], comp.err
		if err == nil {
			err = addFile(zw, f, comp.data)
		}
		if err != nil {
			return nil, diag.Errorf("E-IO-003", "cannot pack %s: %w", diag.Quote(f.Name), err)
		}
	}
	if err := zw.Close(); err != nil {
		return nil, diag.Errorf("E-IO-003", "cannot pack %s: %w", p.Name, err)
	}
	if int64(out.Len()) > limits.ArchiveBytes() {
		return nil, diag.Errorf("E-IO-003", "the archive of %s@%s would have %d bytes, more than %d", p.Name, p.Version, out.Len(), limits.ArchiveBytes())
	}
	if _, err := Open(out.Bytes(), limits); err != nil {
		return nil, Fault(p.Name+"@"+p.Version, err)
	}
	return out.Bytes(), nil
}

type deflated struct {
	data []byte
	err  error
}

// deflateAll compresses files side by side, as many as there are processors.
func deflateAll(files []File) []deflated {
	out := make([]deflated, len(files))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(len(files), runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(files); i = int(next.Add(1)) - 1 {
				out[i].data, out[i].err = deflate(files[i].Data)
			}
		})
	}
	wg.Wait()
	return out
}

func deflate(data []byte) ([]byte, error) {
	var comp bytes.Buffer
	fw, err := flate.NewWriter(&comp, flate.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := fw.Write(data); err != nil {
		return nil, err
	}
	err = fw.Close()
	return comp.Bytes(), err
}

func addFile(zw *zip.Writer, f File, comp []byte) error {
	h := &zip.FileHeader{
		Name: f.Name, Method: zip.Deflate,
		CRC32:              crc32.ChecksumIEEE(f.Data),
		CompressedSize64:   uint64(len(comp)),
		UncompressedSize64: uint64(len(f.Data)),
		// The earliest date a zip file can hold, without a time zone.
		//lint:ignore SA1019 CreateRaw writes this field and not Modified
		ModifiedDate: 1<<5 | 1,
	}
	mode := fs.FileMode(0o644)
	if f.Executable {
		mode = 0o755
	}
	h.SetMode(mode)
	w, err := zw.CreateRaw(h)
	if err != nil {
		return err
	}
	_, err = w.Write(comp)
	return err
}

// WriteArchive writes an archive's bytes to path, all or nothing (ART-25). A
// refused or failed write leaves what was there.
func WriteArchive(path string, data []byte) error {
	err := workfs.ReplaceFile(path, workfs.PublicFile, func(p *workfs.Pending) error {
		_, err := p.Write(data)
		return err
	})
	return workfs.Fault(err, fmt.Sprintf("cannot write the archive %s", path))
}
