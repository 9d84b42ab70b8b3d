package trace

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
)

// ChainCheck is what a walk along an inline chain found.
type ChainCheck struct {
	Lines int64  // whole and malformed ones; not a last one without newline
	Head  string // what the next line would have to carry
	// Chained says that some line carries prev_hash: a trace written before
	// chains existed has none.
	Chained bool
	// Breaks counts the links that do not hold. FirstBreak is the number of the
	// first line whose prev_hash is not the hash of what stands before it, at
	// byte FirstBreakAt; Before is where the line before it begins.
	Breaks, FirstBreak     int64
	FirstBreakAt, BeforeAt int64
	LastAt                 int64 // where the last line begins
	// Bad are the malformed lines, which the chain covers (TRC-109), and the
	// torn one at the end.
	Bad []BadLine
	// Sealed is the head after the line that was asked for, "" when the file
	// has fewer lines.
	Sealed string
	// Sessions are the session ids met, in order.
	Sessions []string
}

// BadLine is a line that is no link of the chain.
type BadLine struct {
	Number int64 `json:"line"`
	Offset int64 `json:"offset"` // of its first byte
	Bytes  int64 `json:"bytes"`
	Torn   bool  `json:"torn"` // the last one, without its newline
}

// CheckChain walks an inline chain from its first line to its last and goes on
// past links that do not hold. sealedLines is the number of lines a seal
// covers, 0 for none. The error is one of reading.
func CheckChain(r io.Reader, sealedLines int64) (ChainCheck, error) {
	c := ChainCheck{Head: Genesis}
	if sealedLines == 0 {
		c.Sealed = Genesis
	}
	rd := NewReader(r)
	span := spanHash{sha256.New(), true}
	var before int64
	session := ""
	for rd.Next() {
		raw := rd.Line.Raw()
		if rd.State == Torn {
			c.Bad = append(c.Bad, BadLine{rd.Number, rd.Offset, int64(len(raw)), true})
			break
		}
		c.Lines++
		prev, isLink := "", false
		if rd.State == Whole {
			prev, isLink = linkOf(raw)
		}
		if isLink {
			c.Chained = true
			if prev != c.Head {
				if c.Breaks++; c.Breaks == 1 {
					c.FirstBreak, c.FirstBreakAt, c.BeforeAt = rd.Number, rd.Offset, before
				}
			}
			span.begin(raw)
		} else {
			if rd.State == Malformed {
				c.Bad = append(c.Bad, BadLine{rd.Number, rd.Offset, int64(len(raw)), false})
			}
			span.more(raw)
		}
		if id := rd.Line.Get("session_id").Str(); rd.State == Whole && id != session {
			session = string([]byte(id))
			c.Sessions = append(c.Sessions, session)
		}
		c.Head = span.sum()
		before, c.LastAt = rd.Offset, rd.Offset
		if c.Lines == sealedLines {
			c.Sealed = c.Head
		}
	}
	return c, rd.Err()
}

// spanHash hashes a link and the lines after it that are none.
type spanHash struct {
	h     hash.Hash
	empty bool
}

func (s *spanHash) begin(line []byte) {
	s.h.Reset()
	s.h.Write(line)
	s.empty = false
}

func (s *spanHash) more(line []byte) {
	if !s.empty {
		s.h.Write([]byte{'\n'})
	}
	s.h.Write(line)
	s.empty = false
}

func (s *spanHash) sum() string {
	var b [sha256.Size]byte
	return hex.EncodeToString(s.h.Sum(b[:0]))
}

// String says what the first break is.
func (c ChainCheck) String() string {
	if c.Breaks == 0 {
		return "the chain is intact"
	}
	return fmt.Sprintf("line %d (byte %d) does not follow line %d (byte %d): one of them was changed, or a line between them was removed or moved",
		c.FirstBreak, c.FirstBreakAt, c.FirstBreak-1, c.BeforeAt)
}
