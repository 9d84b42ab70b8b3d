package payload

import (
	"encoding/json"
	"fmt"
)

// Names are the names of tools as a provider takes them: letters, digits, "_"
// and "-", at most 64. Most tools keep theirs; "python3.12" becomes
// "python3_12". The same request gives the same names.
type Names struct {
	sent map[string]string // by tool name
	ours map[string]string // by sent name
}

const maxName = 64

// NamesOf gives a sent name to every tool a request offers or mentions.
func NamesOf(req Request) Names {
	n := Names{map[string]string{}, map[string]string{}}
	// Names that need no change are taken first, so that no other tool gets
	// one of them.
	for _, fixed := range []bool{true, false} {
		add := func(name string) {
			if _, known := n.sent[name]; known || (safe(name) == name) != fixed {
				return
			}
			s := safe(name)
			for i := 2; n.ours[s] != "" || s == ""; i++ {
				suffix := fmt.Sprintf("_%d", i)
				s = safe(name)
				s = s[:min(len(s), maxName-len(suffix))] + suffix
			}
			n.sent[name], n.ours[s] = s, name
		}
		for _, t := range req.Tools {
			add(t.Name)
		}
		for _, m := range req.Messages {
			for _, b := range m.Content {
				if b.Type == ToolCall {
					add(b.Name)
				}
			}
		}
	}
	return n
}

// Sent is the name a provider sees.
func (n Names) Sent(name string) string {
	if s, ok := n.sent[name]; ok {
		return s
	}
	return safe(name)
}

// Ours is the tool a provider means; a name it made up stays as it is.
func (n Names) Ours(sent string) string {
	if name, ok := n.ours[sent]; ok {
		return name
	}
	return sent
}

func safe(name string) string {
	b := []byte(name)
	for i, c := range b {
		if !plain(c) {
			b[i] = '_'
		}
	}
	return string(b[:min(len(b), maxName)])
}

func plain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// Schema is a tool's parameters as every provider takes them: an object schema.
func (t Tool) Schema() json.RawMessage {
	var o map[string]json.RawMessage
	if json.Unmarshal(t.Parameters, &o) != nil || o == nil {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	if string(o["type"]) == `"object"` {
		return t.Parameters
	}
	o["type"] = json.RawMessage(`"object"`)
	b, err := json.Marshal(o)
	if err != nil {
		return t.Parameters
	}
	return b
}
