package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"unicode/utf8"
)

// Capture is trace.capture: what of requests, inputs and outputs is recorded
// (TRC section 4).
type Capture string

// The capture modes.
const (
	None    Capture = "none"    // no hashes, no inputs, no outputs
	Meta    Capture = "meta"    // hashes and inputs; the default
	Content Capture = "content" // these, outputs and every body
)

// reasonLimit is the most bytes of a failure's text on a line (TRC-23, TRC-27).
const reasonLimit = 2000

// stripped is p without what the capture mode does not store (TRC-71), its
// texts cut to their limits.
func stripped(mode Capture, p Payload) Payload {
	switch e := p.(type) {
	case Inference:
		e.Error = cut(e.Error, reasonLimit)
		if len(e.MessageIDs) == 0 {
			e.MessageIDs, e.MessageSHAs = nil, nil
		}
		if mode == None || e.Origin != "" {
			e.SystemSHA, e.ToolsSHA, e.ResponseSHA, e.MessageSHAs = "", "", "", nil
		}
		return e
	case TaskFailed:
		e.Reason = cut(e.Reason, reasonLimit)
		return e
	case ToolCall:
		if mode == None {
			e.Input = nil
		}
		if mode != Content {
			e.Output = nil
		}
		return e
	case PlanStep:
		if mode == None {
			e.Input = nil
		}
		return e
	}
	return p
}

// cut shortens s to at most limit bytes without splitting a character.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// fill sets the fields of a session_start that follow from others (TRC-17).
func (e *SessionStart) fill(mode Capture, prompt []byte) error {
	e.Capture = mode
	if len(prompt) > 0 {
		e.SystemPromptSHA256 = new(hexSum(prompt))
	}
	var g struct {
		Declared    string  `json:"declared_containment"`
		Achieved    string  `json:"achieved_containment"`
		WorkdirExec bool    `json:"workdir_exec"`
		UsernsGrant *string `json:"userns_grant"`
	}
	if err := json.Unmarshal(e.EffectiveGrants, &g); err != nil {
		return fmt.Errorf("the scope report can not be read: %w", err)
	}
	if g.Declared == "" || g.Achieved == "" {
		return fmt.Errorf("the scope report names no containment class")
	}
	e.ContainmentDeclared, e.ContainmentAchieved = g.Declared, g.Achieved
	e.WorkdirExec, e.UsernsGrant = g.WorkdirExec, g.UsernsGrant
	return nil
}

// Bodies are the bytes of one agent turn as handed to and got from the driver.
type Bodies struct {
	System   []byte   // the request's system text, runtime block included
	Tools    []byte   // the serialised tool array
	Messages [][]byte // each message as serialised into the request, one per message id
	Response []byte   // the raw response body; nil when none came
}

// record sets e's hashes from the bodies and under capture content stores them.
func (b *Bodies) record(l *Log, e *Inference) error {
	if b == nil || l.opt.Capture == None {
		return nil
	}
	if len(b.Messages) != len(e.MessageIDs) {
		return fmt.Errorf("%d messages with %d ids", len(b.Messages), len(e.MessageIDs))
	}
	keep := func(body []byte) (string, error) { return hexSum(body), nil }
	if l.opt.Capture == Content {
		keep = l.StoreBlob
	}
	var err error
	if e.SystemSHA, err = keep(b.System); err != nil {
		return err
	}
	if e.ToolsSHA, err = keep(b.Tools); err != nil {
		return err
	}
	e.MessageSHAs = make([]string, len(b.Messages))
	for i, m := range b.Messages {
		if e.MessageSHAs[i], err = keep(m); err != nil {
			return err
		}
	}
	if b.Response != nil {
		e.ResponseSHA, err = keep(b.Response)
	}
	return err
}

// handle matches a peer handle token (DOR-1704).
var handle = regexp.MustCompile(`mh1\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+`)

// redactHandles replaces every peer handle token in a line by
// <handle:<handle_id>> (TRC-8). A token holds nothing JSON escapes, so it looks
// the same in a line as outside.
func redactHandles(line []byte) []byte {
	if !bytes.Contains(line, []byte("mh1.")) {
		return line
	}
	return handle.ReplaceAllFunc(line, func(token []byte) []byte {
		return []byte("<handle:" + hexSum(token)[:16] + ">")
	})
}

// plainASCII replaces the \u00xx escapes of printable ASCII characters in a JSON
// text by the characters, so that nothing hides from redactHandles.
func plainASCII(raw []byte) []byte {
	if !bytes.Contains(raw, []byte(`\u00`)) {
		return raw
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 >= len(raw) {
			out = append(out, raw[i])
			continue
		}
		if raw[i+1] == 'u' && i+6 <= len(raw) {
			c, ok := hexByte(raw[i+4], raw[i+5])
			if ok && raw[i+2] == '0' && raw[i+3] == '0' && c >= 0x20 && c < 0x7f && c != '"' && c != '\\' {
				out = append(out, c)
				i += 5
				continue
			}
		}
		out = append(out, raw[i], raw[i+1])
		i++
	}
	return out
}

func hexByte(hi, lo byte) (byte, bool) {
	h, okh := hexDigit(hi)
	l, okl := hexDigit(lo)
	return h<<4 | l, okh && okl
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}
