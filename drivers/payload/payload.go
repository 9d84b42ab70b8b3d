// Package payload holds what passes between the agent loop and a driver: the
// request a driver is called with and the answer it gives (docs/spec/agent.md,
// sections 4, 6 and 7). It knows no provider and does no I/O.
package payload

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Request is what the data of a driver call holds.
type Request struct {
	Model     string    `json:"model"`
	MaxTokens int       `json:"max_tokens"` // the most the answer may have
	Messages  []Message `json:"messages"`
	Tools     []Tool    `json:"tools"`
	System    string    `json:"system"` // may be empty
	// PromptCacheKey is the same for all calls of a conversation.
	PromptCacheKey string `json:"prompt_cache_key"`
	// Params are laid over the provider's request; the loop sends none.
	Params map[string]json.RawMessage `json:"params"`
}

// The roles of messages.
const (
	User      = "user"
	Assistant = "assistant"
	ToolRole  = "tool"
)

// Message is one turn of the conversation. ToolCallID and IsError are those of
// messages of role tool, which answer one tool call.
type Message struct {
	Role       string  `json:"role"`
	Content    []Block `json:"content"`
	ToolCallID string  `json:"tool_call_id,omitempty"`
	IsError    bool    `json:"is_error,omitempty"`
}

// Tool is an entry of the tool inventory; Parameters is a JSON schema.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// The types of blocks this package knows.
const (
	Text     = "text"
	ToolCall = "tool_call"
	Image    = "image"
	Thinking = "thinking"
)

// Block is a part of a message. Which members count depends on Type; a block of
// a type that is not listed above is carried in Raw, unchanged.
type Block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`      // text, thinking
	Signature string          `json:"signature"` // thinking: the provider's proof that it wrote it
	ID        string          `json:"id"`        // tool_call
	Name      string          `json:"name"`      // tool_call
	Input     json.RawMessage `json:"input"`     // tool_call; an object, or a string that holds what is not one
	Source    Source          `json:"source"`    // image
	Raw       json.RawMessage `json:"-"`
}

// Source is the data of an image, in base64.
type Source struct {
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

func (b Block) known() bool {
	return b.Type == Text || b.Type == ToolCall || b.Type == Image || b.Type == Thinking
}

// Parse reads the data of a driver call. A conversation is long and every call
// reads all of it, so that it is read once; only one with blocks of other types
// is read again, for those.
func Parse(data string) (Request, error) {
	var req Request
	if err := json.Unmarshal([]byte(data), &req); err != nil {
		// A member of another type than ours may belong to a block we do not know.
		var kind *json.UnmarshalTypeError
		if !errors.As(err, &kind) {
			return Request{}, err
		}
		return parseSlowly(data)
	}
	for _, m := range req.Messages {
		for _, b := range m.Content {
			if !b.known() {
				return parseSlowly(data)
			}
		}
	}
	return req, nil
}

func parseSlowly(data string) (Request, error) {
	type message struct {
		Message
		Content []json.RawMessage `json:"content"`
	}
	var slow struct {
		Request
		Messages []message `json:"messages"`
	}
	if err := json.Unmarshal([]byte(data), &slow); err != nil {
		return Request{}, err
	}
	req := slow.Request
	for i, m := range slow.Messages {
		m.Message.Content = make([]Block, len(m.Content))
		for j, raw := range m.Content {
			b, err := ParseBlock(raw)
			if err != nil {
				return Request{}, fmt.Errorf("messages[%d].content[%d]: %w", i, j, err)
			}
			m.Message.Content[j] = b
		}
		req.Messages = append(req.Messages, m.Message)
	}
	return req, nil
}

// ParseBlock reads one block of any type.
func ParseBlock(raw json.RawMessage) (Block, error) {
	var kind struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return Block{}, err
	}
	b := Block{Type: kind.Type}
	switch {
	case b.Type == "":
		return Block{}, errors.New("the block has no type")
	case !b.known():
		b.Raw = raw
		return b, nil
	}
	err := json.Unmarshal(raw, &b)
	return b, err
}

// MarshalJSON writes just the members the type has.
func (b Block) MarshalJSON() ([]byte, error) {
	var w struct {
		Type      string          `json:"type"`
		Text      *string         `json:"text,omitempty"`
		Signature string          `json:"signature,omitempty"`
		ID        string          `json:"id,omitempty"`
		Name      string          `json:"name,omitempty"`
		Input     json.RawMessage `json:"input,omitempty"`
		Source    *Source         `json:"source,omitempty"`
	}
	w.Type = b.Type
	switch b.Type {
	case Text:
		w.Text = &b.Text
	case Thinking:
		w.Text, w.Signature = &b.Text, b.Signature
	case ToolCall:
		w.ID, w.Name, w.Input = b.ID, b.Name, b.Input
	case Image:
		w.Source = &b.Source
	default:
		return b.Raw, nil
	}
	return json.Marshal(w)
}

// TextBlock is a block of text.
func TextBlock(s string) Block { return Block{Type: Text, Text: s} }

// The stop reasons the loop knows; any other fails the attempt by its name.
const (
	StopToolCall  = "tool_call"
	StopEndTurn   = "end_turn"
	StopMaxTokens = "max_tokens"
	StopError     = "error"
)

// Answer is what a driver returns. Reading one with encoding/json loses blocks of
// other types; ParseBlock does not.
type Answer struct {
	StopReason string  `json:"stop_reason"`
	Content    []Block `json:"content"`
	Error      string  `json:"error,omitempty"` // with StopError: what went wrong
	Usage      *Usage  `json:"usage,omitempty"`
}

// Usage is what the provider counted; nil is not reported. Input counts all of
// the request, what was read from a cache and what was written to one included.
type Usage struct {
	Input      *int64 `json:"input_tokens,omitempty"`
	Output     *int64 `json:"output_tokens,omitempty"`
	Cached     *int64 `json:"cached_tokens,omitempty"`
	CacheWrite *int64 `json:"cache_write_tokens,omitempty"`
	Thinking   *int64 `json:"thinking_tokens,omitempty"` // part of Output
}

// Errorf is an answer that says why there is none.
func Errorf(format string, args ...any) Answer {
	return Answer{StopReason: StopError, Error: fmt.Sprintf(format, args...)}
}

// JSON is the answer as a driver returns it.
func (a Answer) JSON() string {
	if a.Content == nil {
		a.Content = []Block{}
	}
	b, err := json.Marshal(a)
	if err != nil { // a Raw block or an Input that is not JSON
		b, _ = json.Marshal(Errorf("the answer can not be written: %v", err))
	}
	return string(b)
}

// Finish puts an answer in order before it is returned. Calls in an answer that
// did not stop for them are dropped, since nobody would answer them; and each
// call gets an id that no other call of the conversation has, since some
// providers number theirs anew in every answer.
func (a *Answer) Finish(req Request) {
	if a.StopReason != StopToolCall {
		kept := a.Content[:0]
		for _, b := range a.Content {
			if b.Type != ToolCall {
				kept = append(kept, b)
			}
		}
		a.Content = kept
		return
	}
	used := map[string]bool{}
	for _, m := range req.Messages {
		for _, b := range m.Content {
			if b.Type == ToolCall {
				used[b.ID] = true
			}
		}
	}
	for i := range a.Content {
		b := &a.Content[i]
		if b.Type != ToolCall {
			continue
		}
		for n := 0; b.ID == "" || used[b.ID]; n++ {
			b.ID = fmt.Sprintf("call_%d_%d", len(req.Messages), i+n*len(a.Content))
		}
		used[b.ID] = true
	}
}

// Arguments turns the text of a call's arguments into its Input: an object or a
// string as it is, nothing into {}, and what is neither into a string that
// holds it, which the loop answers with an error the model can read.
func Arguments(text string) json.RawMessage {
	if text = strings.TrimSpace(text); text == "" || text == "null" {
		return json.RawMessage("{}")
	}
	var object map[string]json.RawMessage
	var already string
	if json.Unmarshal([]byte(text), &object) == nil || json.Unmarshal([]byte(text), &already) == nil {
		return json.RawMessage(text)
	}
	s, _ := json.Marshal(text)
	return s
}
