package trace

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

	"github.com/mur-capsules/mur/lib/workfs"
)

// Streams of a records directory that are sealed.
const (
	EvalStream       = "hooks/eval.jsonl"
	CompletionStream = "completion.json"
	// ConversationStream is the name in the seal of a conversation record,
	// which lies outside the records directory.
	ConversationStream = "conversation.jsonl"
)

// SealSuffix makes the name of a stream's seal.
const SealSuffix = ".seal"

const (
	sealFormat    = "murmur.seal/1"
	sealAlgorithm = "ed25519"
)

// The ways a stream is chained (TRC-110).
const (
	InlineChain = "inline" // each line carries prev_hash
	ListChain   = "list"   // the seal lists the lines' hashes
)

// Seal is the signed statement of a chain's head (TRC-112).
type Seal struct {
	Format       string           `json:"format"`
	Stream       string           `json:"stream"` // relative to the records directory
	Chain        string           `json:"chain"`
	SessionID    string           `json:"session_id"`
	Lines        int64            `json:"lines"`
	LineHashes   []string         `json:"line_hashes,omitempty"`
	Head         string           `json:"head"`
	SealedAt     int64            `json:"sealed_at"` // Unix milliseconds
	KeyID        string           `json:"key_id"`
	Algorithm    string           `json:"algorithm"`
	Signature    string           `json:"signature"` // hex
	Conversation *ConversationRef `json:"conversation,omitempty"`
}

// ConversationRef names the conversation record a session appended to.
type ConversationRef struct {
	Record    string `json:"record"`
	ContextID string `json:"context_id"`
	Path      string `json:"path"`
	Lines     int64  `json:"lines"`
}

// signed is what the signature covers (TRC-113).
func (s Seal) signed() []byte {
	return fmt.Appendf(nil, "%s\n%s\n%s\n%d\n%s\n", s.Format, s.Stream, s.SessionID, s.Lines, s.Head)
}

func (k Key) sign(s Seal) Seal {
	s.Format, s.Algorithm, s.KeyID = sealFormat, sealAlgorithm, k.Public().ID()
	s.Signature = hex.EncodeToString(ed25519.Sign(k.private, s.signed()))
	return s
}

// Verify reports whether the signature is p's over what the seal states.
func (s Seal) Verify(p PublicKey) bool {
	sig, err := hex.DecodeString(s.Signature)
	return err == nil && s.Format == sealFormat && ed25519.Verify(ed25519.PublicKey(p), s.signed(), sig)
}

// ParseSeal reads the content of a seal file. Members it does not know are
// ignored; they are not signed.
func ParseSeal(text []byte) (Seal, error) {
	var s Seal
	dec := json.NewDecoder(bytes.NewReader(text))
	if err := dec.Decode(&s); err != nil {
		return s, fmt.Errorf("the seal is no JSON object: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return s, fmt.Errorf("the seal has something after its object")
	}
	switch {
	case s.Format != sealFormat:
		return s, fmt.Errorf("the seal's format is %q, not %q", cut(s.Format, 64), sealFormat)
	case s.Algorithm != sealAlgorithm:
		return s, fmt.Errorf("the seal's algorithm is %q, not %q", cut(s.Algorithm, 64), sealAlgorithm)
	case s.Chain != InlineChain && s.Chain != ListChain:
		return s, fmt.Errorf("the seal's chain is %q", cut(s.Chain, 64))
	case s.Lines < 0:
		return s, fmt.Errorf("the seal covers %d lines", s.Lines)
	}
	return s, nil
}

// Seal seals the trace as it is, under the session id of its lines, and writes
// trace.jsonl.seal. A torn last line gets its newline first. conv may be nil.
// That a seal can not be written never changes how a session ended (TRC-115);
// the caller logs the error.
func (l *Log) Seal(k Key, conv *ConversationRef) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	unlock, err := l.lockFile()
	if err != nil {
		return err
	}
	defer unlock()
	l.stale = true // what another process wrote counts, so look at the file itself
	if err := l.settleTail(); err != nil {
		return err
	}
	lines, err := countLines(io.NewSectionReader(l.read, 0, l.end.size))
	if err != nil {
		return err
	}
	if err := l.sync(); err != nil {
		return fmt.Errorf("the trace can not be synced: %w", err)
	}
	return writeSeal(l.records, FileName, k.sign(Seal{
		Stream: FileName, Chain: InlineChain, SessionID: l.opt.SessionID, Lines: lines,
		Head: l.end.prev, SealedAt: l.opt.Now().UnixMilli(), Conversation: conv,
	}))
}

// SealList seals a stream that keeps its own bytes, beneath root at rel, under
// the name stream, and writes the seal beside it (TRC-110). completion.json is
// one line, whatever newlines it holds (TRC-111).
func SealList(root *workfs.Root, rel, stream, sessionID string, k Key, sealedAt int64) error {
	f, err := root.Open(rel)
	if err != nil {
		return fmt.Errorf("%s can not be sealed: %w", stream, err)
	}
	defer f.Close()
	hashes, err := ListHashes(f, stream == CompletionStream)
	if err != nil {
		return fmt.Errorf("%s can not be sealed: %w", stream, err)
	}
	return writeSeal(root, rel, k.sign(Seal{
		Stream: stream, Chain: ListChain, SessionID: sessionID, Lines: int64(len(hashes)), LineHashes: hashes,
		Head: Fold(hashes), SealedAt: sealedAt,
	}))
}

func writeSeal(root *workfs.Root, rel string, s Seal) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := root.WriteFileMode(rel+SealSuffix, append(text, '\n'), workfs.PrivateFile); err != nil {
		return fmt.Errorf("the seal of %s can not be written: %w", s.Stream, err)
	}
	return nil
}

// Fold is the head of a list chain: h0 is Genesis, hi the hash of h(i-1), a
// newline and line hash i (TRC-110).
func Fold(lineHashes []string) string {
	h := Genesis
	for _, l := range lineHashes {
		h = hexSum([]byte(h + "\n" + l))
	}
	return h
}

// ListHashes returns the hashes of a stream's lines without their newlines; a
// last line without one counts. With whole the stream is one line, or none
// when it is empty.
func ListHashes(r io.Reader, whole bool) ([]string, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, nil
	}
	if whole {
		return []string{hexSum(data)}, nil
	}
	var out []string
	for line := range bytes.SplitSeq(bytes.TrimSuffix(data, []byte("\n")), []byte("\n")) {
		out = append(out, hexSum(line))
	}
	return out, nil
}

func countLines(r io.Reader) (int64, error) {
	buf := make([]byte, 256<<10)
	var n int64
	for {
		k, err := r.Read(buf)
		n += int64(bytes.Count(buf[:k], []byte("\n")))
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return 0, fmt.Errorf("the trace can not be read: %w", err)
		}
	}
}
