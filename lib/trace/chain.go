package trace

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
)

// Genesis is the prev_hash of a file's first line (TRC-108).
const Genesis = "0000000000000000000000000000000000000000000000000000000000000000"

// LineHash is the hash of a line: the lowercase hex SHA-256 of its bytes
// without the newline, prev_hash included (TRC-107).
func LineHash(line []byte) string { return hexSum(line) }

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

const (
	prevHashOpen = `,"prev_hash":"`
	prevHashLen  = len(prevHashOpen) + 64 + len(`"}`)
)

// PrevHash returns the prev_hash a line carries as its last key. It returns
// false for a line that can not be a link of the chain: one that lacks it or
// is not a JSON object.
func PrevHash(line []byte) (string, bool) {
	h, ok := linkOf(line)
	return h, ok && json.Valid(line)
}

// linkOf is PrevHash of a line that is known to be a JSON object.
func linkOf(line []byte) (string, bool) {
	if len(line) <= prevHashLen || line[0] != '{' {
		return "", false
	}
	end := line[len(line)-prevHashLen:]
	if !bytes.HasPrefix(end, []byte(prevHashOpen)) || !bytes.HasSuffix(end, []byte(`"}`)) {
		return "", false
	}
	h := end[len(prevHashOpen) : len(end)-2]
	for _, c := range h {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return "", false
		}
	}
	return string(h), true
}

// tail is what a writer must know of a file's end.
type tail struct {
	size int64  // bytes in the file
	prev string // the prev_hash the next line takes
	torn bool   // the last byte is no newline
}

// readTail finds the end of the chain in the first size bytes of f. After a
// line that is no link the next one is bound to the bytes from the start of
// the last link to the end of what follows it, without the final newline, so
// that both are covered (TRC-109); without any link, to the bytes from the
// start of the file.
func readTail(f io.ReaderAt, size int64) (tail, error) {
	t := tail{size: size, prev: Genesis}
	if size == 0 {
		return t, nil
	}
	var lastByte [1]byte
	if _, err := f.ReadAt(lastByte[:], size-1); err != nil {
		return t, fmt.Errorf("the end of the trace can not be read: %w", err)
	}
	t.torn = lastByte[0] != '\n'
	spanEnd := size
	if !t.torn {
		spanEnd--
	}
	for end := spanEnd; ; {
		start, err := lineStart(f, end)
		if err != nil {
			return t, err
		}
		line, err := readSpan(f, start, end)
		if err != nil {
			return t, err
		}
		_, isLink := PrevHash(line)
		if isLink || start == 0 {
			t.prev, err = hashSpan(f, start, spanEnd)
			return t, err
		}
		end = start - 1
	}
}

// lineStart returns the offset after the last newline before end, 0 when there
// is none.
func lineStart(f io.ReaderAt, end int64) (int64, error) {
	buf := make([]byte, 64<<10)
	for end > 0 {
		n := min(int64(len(buf)), end)
		if _, err := f.ReadAt(buf[:n], end-n); err != nil {
			return 0, fmt.Errorf("the end of the trace can not be read: %w", err)
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			return end - n + int64(i) + 1, nil
		}
		end -= n
	}
	return 0, nil
}

func readSpan(f io.ReaderAt, start, end int64) ([]byte, error) {
	b := make([]byte, end-start)
	if _, err := f.ReadAt(b, start); err != nil && (err != io.EOF || len(b) > 0) {
		return nil, fmt.Errorf("the end of the trace can not be read: %w", err)
	}
	return b, nil
}

func hashSpan(f io.ReaderAt, start, end int64) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, start, end-start)); err != nil {
		return "", fmt.Errorf("the end of the trace can not be read: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
