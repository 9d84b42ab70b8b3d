// Package verify says what a records directory proves: for each sealed stream
// whether its lines are the ones that were sealed (TRC section 8.4), whether
// the stored bodies are the ones the trace names, and whether the trace keeps
// its own invariants. It needs the directory and a public key and nothing else
// (TRC-120).
package verify

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mur-capsules/mur/lib/ids"
	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/workfs"
)

// Verdict is what a stream or a record comes to.
type Verdict string

// The verdicts, from best to worst; Absent counts for nothing beside others
// (TRC-117).
const (
	Absent       Verdict = "absent"
	Verified     Verdict = "verified"
	Unverifiable Verdict = "unverifiable"
	Unsealed     Verdict = "unsealed"
	Changed      Verdict = "changed"
)

var rank = map[Verdict]int{Absent: 0, Verified: 1, Unverifiable: 2, Unsealed: 3, Changed: 4}

// ExitStatus is the exit status of a record's verdict (TRC-182).
func (v Verdict) ExitStatus() int {
	return map[Verdict]int{Verified: 0, Changed: 1, Unsealed: 3, Unverifiable: 4, Absent: 5}[v]
}

func worst(vs ...Verdict) Verdict {
	out := Absent
	for _, v := range vs {
		if rank[v] > rank[out] {
			out = v
		}
	}
	return out
}

// Stream is one stream of a record (TRC-181). Lines and offsets count from the
// start of the file, lines from 1.
type Stream struct {
	Stream       string  `json:"stream"`
	Verdict      Verdict `json:"verdict"`
	Lines        int64   `json:"lines"`
	SealedLines  *int64  `json:"sealed_lines"`
	Head         *string `json:"head"`
	KeyID        *string `json:"key_id"`
	FirstBadLine *int64  `json:"first_bad_line"`
	FirstBadByte *int64  `json:"first_bad_offset"`
	TornLines    []int64 `json:"torn_lines"`
	TornOffsets  []int64 `json:"torn_offsets"`
	Reason       *string `json:"reason"`
}

// Result is what `verify` prints.
type Result struct {
	Schema     string      `json:"schema"`
	SessionID  string      `json:"session_id"`
	RecordsDir string      `json:"records_dir"`
	KeyID      *string     `json:"key_id"`
	Verdict    Verdict     `json:"verdict"`
	Streams    []Stream    `json:"streams"`
	Blobs      *Blobs      `json:"blobs"`
	Invariants []Invariant `json:"invariants"`
}

// Options of a verification.
type Options struct {
	Key        trace.PublicKey // nil for none
	Blobs      bool
	Invariants bool
}

// Record verifies the streams of a records directory, or of the directory of a
// conversation record.
func Record(dir string, opt Options) (Result, error) {
	res := Result{Schema: "murmur.trace-verify/1", RecordsDir: dir}
	if opt.Key != nil {
		res.KeyID = new(opt.Key.ID())
	}
	if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
		if err == nil {
			err = &fs.PathError{Op: "open", Path: dir, Err: errors.New("not a directory")}
		}
		return res, workfs.Fault(err, "cannot verify "+dir)
	}
	v := verifier{dir: dir, key: opt.Key}
	if id := filepath.Base(dir); ids.Check(ids.Session, id) == nil {
		v.session = id
	}
	streams := []string{trace.FileName, trace.EvalStream, trace.CompletionStream}
	if v.exists(trace.ConversationStream) && !v.exists(trace.FileName) {
		streams = []string{trace.ConversationStream}
	}
	var verdicts []Verdict
	for _, name := range streams {
		s, err := v.stream(name)
		if err != nil {
			return res, err
		}
		res.Streams = append(res.Streams, s)
		verdicts = append(verdicts, s.Verdict)
	}
	res.SessionID = v.session
	if opt.Blobs {
		b, err := v.blobs()
		if err != nil {
			return res, err
		}
		res.Blobs = &b
		if len(b.Bad) > 0 {
			verdicts = append(verdicts, Changed)
		}
	}
	if opt.Invariants {
		var err error
		if res.Invariants, err = v.invariants(); err != nil {
			return res, err
		}
	}
	res.Verdict = worst(verdicts...)
	return res, nil
}

type verifier struct {
	dir     string
	session string // of the record: its directory's name, else its first line's
	key     trace.PublicKey
}

func (v *verifier) path(rel string) string { return filepath.Join(v.dir, filepath.FromSlash(rel)) }

func (v *verifier) exists(rel string) bool {
	_, err := os.Lstat(v.path(rel))
	return err == nil
}

// open opens a file of the record, nil when it is not there.
func (v *verifier) open(rel string) (*os.File, error) {
	f, err := os.Open(v.path(rel))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, workfs.Fault(err, "cannot verify "+v.path(rel))
	}
	return f, nil
}

// sealLimit bounds a seal: 64 hex digits a line of a list.
const sealLimit = 256 << 20

// stream gives one stream its verdict, by the checks of TRC-118.
func (v *verifier) stream(name string) (Stream, error) {
	s := Stream{Stream: name, TornLines: []int64{}, TornOffsets: []int64{}}
	text, sealErr := workfs.ReadFile(v.path(name+trace.SealSuffix), sealLimit)
	sealed := !errors.Is(sealErr, fs.ErrNotExist)
	f, err := v.open(name)
	if err != nil {
		return s, err
	}
	if f == nil {
		s.Verdict = Absent
		if sealed {
			s.bad(0, -1, "the stream is gone and its seal is not")
		}
		return s, nil
	}
	defer f.Close()
	var seal trace.Seal
	if sealed && sealErr == nil {
		seal, sealErr = trace.ParseSeal(text)
	}
	if sealed && sealErr == nil {
		s.SealedLines, s.KeyID = &seal.Lines, &seal.KeyID
	}
	var have content
	if name == trace.FileName {
		have, err = v.inline(f, &s, seal.Lines)
	} else {
		have, err = list(f, &s, name == trace.CompletionStream, seal)
	}
	if err != nil {
		return s, err
	}
	v.judge(&s, have, sealed, sealErr, seal)
	return s, nil
}

// content is what a stream's lines come to.
type content struct {
	broken  string // why the chain does not hold, "" when it does
	line    int64
	offset  int64
	chained bool
	sealed  string // the head after as many lines as the seal covers
}

// judge applies the checks in their order. A chain that does not hold is found
// whoever sealed it.
func (v *verifier) judge(s *Stream, have content, sealed bool, sealErr error, seal trace.Seal) {
	switch {
	case have.broken != "":
		s.bad(have.line, have.offset, have.broken)
	case !sealed && !have.chained && s.Lines > 0 && s.Stream == trace.FileName:
		s.say(Unverifiable, "it was written before lines were chained")
	case !sealed:
		s.say(Unsealed, "there is no seal")
	case sealErr != nil:
		s.bad(0, -1, "the seal can not be read: "+sealErr.Error())
	case v.key == nil:
		s.say(Unverifiable, "there is no public key to check the seal with")
	case seal.KeyID != v.key.ID():
		s.say(Unverifiable, fmt.Sprintf("it was sealed with the key %s, not with %s", clip(seal.KeyID), v.key.ID()))
	case !seal.Verify(v.key):
		s.bad(0, -1, "the seal's signature is not valid")
	case seal.Stream != s.Stream:
		s.bad(0, -1, "the seal is that of another stream: "+clip(seal.Stream))
	case v.session != "" && seal.SessionID != v.session && s.Stream != trace.ConversationStream:
		s.bad(0, -1, "the seal is that of another session: "+clip(seal.SessionID))
	case s.Lines < seal.Lines:
		s.bad(s.Lines+1, have.offset, fmt.Sprintf("%d lines were sealed and %d are there", seal.Lines, s.Lines))
	case have.sealed != seal.Head:
		s.bad(max(seal.Lines, 1), have.offset, "the last sealed line is not the one that was sealed")
	case s.Lines > seal.Lines || len(s.TornLines) > 0 && s.TornLines[len(s.TornLines)-1] > seal.Lines:
		s.say(Unsealed, fmt.Sprintf("lines were added after the %d that were sealed", seal.Lines))
	default:
		s.Verdict = Verified
	}
}

func (s *Stream) say(v Verdict, reason string) { s.Verdict, s.Reason = v, &reason }

// bad makes the stream changed; line 0 is no line in particular, offset -1 no
// place.
func (s *Stream) bad(line, offset int64, reason string) {
	s.say(Changed, reason)
	if line > 0 {
		s.FirstBadLine = &line
	}
	if line > 0 && offset >= 0 {
		s.FirstBadByte = &offset
	}
}

func clip(s string) string {
	if len(s) > 80 {
		s = s[:80] + "..."
	}
	return fmt.Sprintf("%q", s)
}

// inline walks a chained trace.
func (v *verifier) inline(f io.Reader, s *Stream, sealedLines int64) (content, error) {
	c, err := trace.CheckChain(f, sealedLines)
	if err != nil {
		return content{}, workfs.Fault(err, "cannot verify "+v.path(s.Stream))
	}
	s.Lines, s.Head = c.Lines, &c.Head
	for _, b := range c.Bad {
		s.TornLines = append(s.TornLines, b.Number)
		s.TornOffsets = append(s.TornOffsets, b.Offset)
	}
	if v.session == "" && len(c.Sessions) > 0 {
		v.session = c.Sessions[0]
	}
	have := content{chained: c.Chained, sealed: c.Sealed, offset: c.LastAt}
	for _, id := range c.Sessions {
		if id != v.session && c.Breaks == 0 {
			have.broken, have.line, have.offset = "it holds lines of another session: "+clip(id), 0, -1
		}
	}
	if c.Breaks == 0 {
		return have, nil
	}
	have.broken, have.line, have.offset = c.String(), c.FirstBreak, c.FirstBreakAt
	if c.Breaks == 1 && c.Lines == sealedLines && c.FirstBreak > 1 {
		// No line is missing or added and everything after it holds, so it is
		// the line before that is another.
		have.line, have.offset = c.FirstBreak-1, c.BeforeAt
		have.broken = fmt.Sprintf("line %d (byte %d) is not the line that line %d follows", c.FirstBreak-1, c.BeforeAt, c.FirstBreak)
	}
	return have, nil
}

// list compares a stream that keeps its own bytes with the seal's list.
func list(f io.Reader, s *Stream, whole bool, seal trace.Seal) (content, error) {
	hashes, err := trace.ListHashes(f, whole)
	if err != nil {
		return content{}, workfs.Fault(err, "cannot verify "+s.Stream)
	}
	s.Lines, s.Head = int64(len(hashes)), new(trace.Fold(hashes))
	have := content{chained: true, offset: -1}
	if seal.Chain == trace.ListChain && int64(len(seal.LineHashes)) == seal.Lines {
		for i, want := range seal.LineHashes {
			if i < len(hashes) && hashes[i] != want {
				have.broken, have.line = fmt.Sprintf("line %d is not the one that was sealed", i+1), int64(i+1)
				break
			}
		}
	}
	if n := seal.Lines; n <= s.Lines {
		have.sealed = trace.Fold(hashes[:n])
	}
	return have, nil
}

// Problem is the stream that made a record changed, nil when none did.
func (r Result) Problem() *Stream {
	for i := range r.Streams {
		if r.Streams[i].Verdict == Changed {
			return &r.Streams[i]
		}
	}
	return nil
}

// Tokens is a short list for a message.
func tokens(list []string) string {
	if len(list) > 5 {
		return strings.Join(list[:5], ", ") + fmt.Sprintf(" and %d more", len(list)-5)
	}
	return strings.Join(list, ", ")
}
