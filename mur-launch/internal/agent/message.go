package agent

import (
	"encoding/json"
	"slices"

	"github.com/mur-capsules/mur/lib/ids"
	"github.com/mur-capsules/mur/mur-launch/internal/dispatch"
)

// The roles of a message.
const (
	User      = "user"
	Assistant = "assistant"
	Tool      = "tool"
)

// Message is one message of a conversation (AGT-29). It is not changed once it
// is made.
type Message struct {
	ID    string // msg_..., of the runtime's own (AGT-32)
	Fence string // the source its content is fenced under, else empty

	wire json.RawMessage // what a driver sees, canonical
	// tokens is the count of the message where another follows it, 0 before it
	// was counted.
	tokens int64
}

type textBlock struct {
	Text string `json:"text"`
	Type string `json:"type"`
}

func textContent(text string) json.RawMessage {
	return must(dispatch.Marshal([]textBlock{{text, "text"}}))
}

// NewUser is a message of the user, put under a fence of that source when fence
// is not empty (AGT-28).
func NewUser(text, fence string) Message {
	if fence != "" {
		text = dispatch.Fence(fence, text)
	}
	return newMessage(fence, map[string]any{"content": textContent(text), "role": User})
}

// newAssistant is the answer of a driver; content is its canonical block list.
func newAssistant(content json.RawMessage) Message {
	return newMessage("", map[string]any{"content": content, "role": Assistant})
}

// newResult is the result of the call with an id.
func newResult(call string, a dispatch.Answer) Message {
	return newMessage(a.Fence, map[string]any{
		"content": textContent(a.Text), "is_error": a.IsError, "role": Tool, "tool_call_id": call,
	})
}

func newMessage(fence string, wire map[string]any) Message {
	return Message{ID: ids.New(ids.Message), Fence: fence, wire: must(dispatch.Marshal(wire))}
}

// must is for values that always encode: strings, flags and JSON that was
// decoded before.
func must(raw json.RawMessage, err error) json.RawMessage {
	if err != nil {
		panic("agent: a message does not encode: " + err.Error())
	}
	return raw
}

// Wire is the message as a driver sees it. The caller does not change it.
func (m Message) Wire() json.RawMessage { return m.wire }

// Line is the message as the record of a conversation keeps it, without a line
// end: its wire and its envelope keys (AGT-114).
func (m Message) Line() []byte {
	var all map[string]json.RawMessage
	_ = json.Unmarshal(m.wire, &all) // it was made by this package
	all["id"] = dispatch.Text(m.ID)
	if m.Fence != "" {
		all["fence"] = dispatch.Text(m.Fence)
	}
	return must(dispatch.Marshal(all))
}

// ParseLine reads a line of a record. A header, or a line that holds no message,
// gives false (AGT-116).
func ParseLine(line []byte) (Message, bool) {
	var all map[string]json.RawMessage
	if json.Unmarshal(line, &all) != nil {
		return Message{}, false
	}
	var m Message
	var role string
	_ = json.Unmarshal(all["role"], &role)
	_ = json.Unmarshal(all["id"], &m.ID)
	_ = json.Unmarshal(all["fence"], &m.Fence)
	var blocks []map[string]json.RawMessage
	if m.ID == "" || json.Unmarshal(all["content"], &blocks) != nil || blocks == nil || slices.ContainsFunc(blocks, func(b map[string]json.RawMessage) bool { return b == nil }) {
		return Message{}, false
	}
	keys := []string{"content", "role"}
	switch role {
	case User, Assistant:
	case Tool:
		keys = append(keys, "is_error", "tool_call_id")
		var call *string
		var isError *bool
		if json.Unmarshal(all["tool_call_id"], &call) != nil || json.Unmarshal(all["is_error"], &isError) != nil || call == nil || isError == nil {
			return Message{}, false
		}
	default:
		return Message{}, false
	}
	wire := map[string]json.RawMessage{}
	for _, k := range keys {
		wire[k] = all[k]
	}
	raw, err := dispatch.Marshal(wire)
	if err == nil {
		m.wire, err = dispatch.Canonical(raw)
	}
	return m, err == nil
}

// Paired leaves out what would spoil a conversation: tool calls without exactly
// their results behind them, in order, and results without a call. A record whose
// writer died holds such.
func Paired(messages []Message) []Message {
	var out []Message
	for i := 0; i < len(messages); {
		calls := messages[i].calls()
		end := i + 1 + len(calls)
		whole := messages[i].role() != Tool && end <= len(messages)
		for k := 0; whole && k < len(calls); k++ {
			r := messages[i+1+k]
			whole = r.role() == Tool && r.callID() == calls[k]
		}
		if whole {
			out = append(out, messages[i:end]...)
			i = end
		} else {
			i++
		}
	}
	return out
}

func (m Message) role() string   { return membersOf(m.wire).text("role") }
func (m Message) callID() string { return membersOf(m.wire).text("tool_call_id") }

// calls are the ids of an assistant message's tool calls.
func (m Message) calls() (ids []string) {
	w := membersOf(m.wire)
	if w.text("role") != Assistant {
		return nil
	}
	var blocks []json.RawMessage
	_ = json.Unmarshal(w["content"], &blocks) // a list, by construction
	for _, raw := range blocks {
		if b := membersOf(raw); b.text("type") == "tool_call" {
			ids = append(ids, b.text("id"))
		}
	}
	return ids
}
