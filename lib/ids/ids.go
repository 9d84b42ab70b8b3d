// Package ids mints and reads the identifiers of mur: a prefix, an underscore
// and the 32 lowercase hex digits of a UUIDv7 without dashes (SES-1).
//
// Ids of one prefix minted by one process sort bytewise in the order they were
// minted, within a millisecond and across a clock that steps back (SES-2, RFC
// 9562 section 6.2). An id is never derived from content and never rebuilt
// (SES-3): there is no way to make one but New. The package holds no state
// that outlives the process and does no I/O but reading the system's random
// numbers.
package ids

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Prefix says what kind of thing an id names.
type Prefix string

// The prefixes of SES section 1.
const (
	Session    Prefix = "ses" // a session; minted by mur-stage
	Task       Prefix = "tsk" // a task; minted by mur-launch
	Context    Prefix = "ctx" // a conversation; a client may supply its own id instead
	Message    Prefix = "msg" // one message of a conversation
	Event      Prefix = "evt" // one line of a trace; minted as the line is written
	Work       Prefix = "wrk" // a command that went on in the background
	Delegation Prefix = "dlg" // one delegation to a child capsule
	Request    Prefix = "req" // one wait for input
	MemberCall Prefix = "mcl" // one call of a formation member
	Formation  Prefix = "frm" // a formation
	Deployment Prefix = "dep" // a deployment
)

// Len is the length in bytes of every id with a prefix.
const Len = 3 + 1 + 32

var known = map[Prefix]bool{
	Session: true, Task: true, Context: true, Message: true, Event: true, Work: true,
	Delegation: true, Request: true, MemberCall: true, Formation: true, Deployment: true,
}

// New mints an id. It is safe for concurrent use and panics only for a prefix
// that is not one of the constants.
func New(p Prefix) string {
	return string(Append(make([]byte, 0, Len), p))
}

// Append mints an id as New does and appends it to dst.
func Append(dst []byte, p Prefix) []byte {
	if !known[p] {
		panic(fmt.Sprintf("ids: no such prefix: %q", string(p)))
	}
	// NewV7 fails only when the system has no random numbers, and then the
	// Go runtime has already ended the process.
	u := uuid.Must(uuid.NewV7())
	dst = append(dst, p...)
	dst = append(dst, '_')
	return hex.AppendEncode(dst, u[:])
}

// NewHarnessSession mints the id of a harness conversation: a hyphenated
// UUIDv7 without a prefix, since harnesses expect a UUID (SES-7).
func NewHarnessSession() string {
	return uuid.Must(uuid.NewV7()).String()
}

// Parse splits an id into its prefix and UUID. It refuses everything New could
// not have returned: an unknown prefix, a wrong length, upper case, dashes, a
// UUID of another version or variant.
func Parse(id string) (Prefix, [16]byte, error) {
	var u [16]byte
	p, digits, ok := strings.Cut(id, "_")
	if !ok || !known[Prefix(p)] {
		return "", u, fmt.Errorf("not an id: %q has no known prefix", clip(id))
	}
	if len(digits) != 32 || strings.ToLower(digits) != digits {
		return "", u, fmt.Errorf("not an id: %q lacks 32 lowercase hex digits after %s_", clip(id), p)
	}
	if _, err := hex.Decode(u[:], []byte(digits)); err != nil {
		return "", u, fmt.Errorf("not an id: %q lacks 32 lowercase hex digits after %s_", clip(id), p)
	}
	if u[6]>>4 != 7 || u[8]>>6 != 0b10 {
		return "", u, fmt.Errorf("not an id: %q holds no UUIDv7", clip(id))
	}
	return Prefix(p), u, nil
}

// Check returns nil when id is an id with the prefix want, else an error that
// says why it is not.
func Check(want Prefix, id string) error {
	p, _, err := Parse(id)
	if err != nil {
		return err
	}
	if p != want {
		return fmt.Errorf("not a %s_ id: %q", want, clip(id))
	}
	return nil
}

// Time returns when an id was minted, in whole milliseconds. Under a clock that
// stepped back, or very many ids in one millisecond, it may lie a little after
// the clock's own time.
func Time(id string) (time.Time, error) {
	_, u, err := Parse(id)
	if err != nil {
		return time.Time{}, err
	}
	var ms [8]byte
	copy(ms[2:], u[:6])
	return time.UnixMilli(int64(binary.BigEndian.Uint64(ms[:]))), nil
}

// clip keeps a hostile string from flooding an error message.
func clip(s string) string {
	if len(s) > 64 {
		return s[:64] + "..."
	}
	return s
}
