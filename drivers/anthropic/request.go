package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mur-capsules/mur/drivers/payload"
)

// The request of POST /v1/messages, in the members this driver sends.
type request struct {
	Model     string          `json:"model"`
	MaxTokens int             `json:"max_tokens"`
	Stream    bool            `json:"stream"`
	Thinking  json.RawMessage `json:"thinking,omitempty"`
	System    []block         `json:"system,omitempty"`
	Tools     []tool          `json:"tools,omitempty"`
	Messages  []message       `json:"messages"`
}

type message struct {
	Role    string `json:"role"`
	Content []any  `json:"content"` // *block, or what only the API knows, as JSON
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
	Cache       *cacheMark      `json:"cache_control,omitempty"`
}

type cacheMark struct {
	Type string `json:"type"`
}

// block is a content block of a type this driver translates.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	Thinking  *string         `json:"thinking,omitempty"`
	Signature string          `json:"signature,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   []any           `json:"content,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`
	Source    *source         `json:"source,omitempty"`
	Cache     *cacheMark      `json:"cache_control,omitempty"`
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

// empty stands for a message without text, which the API refuses.
const empty = "(empty)"

// Request translates; the same request gives the same bytes.
func (d *driver) Request(req payload.Request, stream bool) any {
	names := payload.NamesOf(req)
	r := request{Model: req.Model, MaxTokens: req.MaxTokens, Stream: stream, Messages: messages(req.Messages, names)}
	if strings.TrimSpace(req.System) != "" {
		r.System = []block{{Type: "text", Text: req.System}}
	}
	for _, t := range req.Tools {
		r.Tools = append(r.Tools, tool{Name: names.Sent(t.Name), Description: t.Description, InputSchema: t.Schema()})
	}
	if mayThink(r.Messages) {
		r.Thinking = d.cfg.Thinking
	}
	if d.cfg.Cache == nil || *d.cfg.Cache {
		mark(&r)
	}
	return r
}

// messages turns the conversation into one whose roles alternate: tool results
// become the head of the user message after the calls.
func messages(in []payload.Message, names payload.Names) []message {
	var out []message
	add := func(role string, blocks []any) {
		if len(blocks) == 0 {
			return
		}
		if n := len(out); n > 0 && out[n-1].Role == role {
			out[n-1].Content = append(out[n-1].Content, blocks...)
			return
		}
		out = append(out, message{role, blocks})
	}
	for _, m := range in {
		switch m.Role {
		case payload.ToolRole:
			add("user", []any{&block{Type: "tool_result", ToolUseID: id(m.ToolCallID), Content: content(m.Content), IsError: m.IsError}})
		case payload.Assistant:
			add("assistant", assistant(m.Content, names))
		default:
			blocks := content(m.Content)
			if len(blocks) == 0 {
				blocks = []any{&block{Type: "text", Text: empty}}
			}
			add("user", blocks)
		}
	}
	return out
}

// content translates what users and tools say.
func content(in []payload.Block) (out []any) {
	for _, b := range in {
		switch b.Type {
		case payload.Text:
			if strings.TrimSpace(b.Text) != "" { // the API refuses blank text
				out = append(out, &block{Type: "text", Text: b.Text})
			}
		case payload.Image:
			out = append(out, &block{Type: "image", Source: &source{"base64", b.Source.MediaType, b.Source.Data}})
		}
	}
	return out
}

// assistant translates what the model said. A block of a type only this
// provider knows goes back as it came.
func assistant(in []payload.Block, names payload.Names) (out []any) {
	for _, b := range in {
		switch b.Type {
		case payload.Text:
			if strings.TrimSpace(b.Text) != "" {
				out = append(out, &block{Type: "text", Text: b.Text})
			}
		case payload.Thinking:
			if b.Signature != "" { // without it the API refuses the block
				out = append(out, &block{Type: "thinking", Thinking: &b.Text, Signature: b.Signature})
			}
		case payload.ToolCall:
			out = append(out, &block{Type: "tool_use", ID: id(b.ID), Name: names.Sent(b.Name), Input: input(b.Input)})
		case payload.Image:
		default:
			out = append(out, b.Raw)
		}
	}
	return out
}

// input is a call's input as an object, which the API insists on.
func input(in json.RawMessage) json.RawMessage {
	var o map[string]json.RawMessage
	if json.Unmarshal(in, &o) == nil && o != nil {
		return in
	}
	b, err := json.Marshal(map[string]json.RawMessage{"not_an_object": in})
	if err != nil || len(in) == 0 {
		return json.RawMessage("{}")
	}
	return b
}

// id writes what the API refuses in an id in another way; two ids stay two.
func id(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "_x%02X", c)
		}
	}
	return b.String()
}

// mayThink tells whether the API takes the thinking setting: not while it is
// given the results of calls that were made without thinking, by another driver.
func mayThink(messages []message) bool {
	n := len(messages)
	if n < 2 {
		return true
	}
	if b, ok := messages[n-1].Content[0].(*block); !ok || b.Type != "tool_result" {
		return true
	}
	b, ok := messages[n-2].Content[0].(*block)
	return !ok || b.Type == "thinking"
}

// mark asks the provider to keep tools and system prompt, and the conversation
// up to its last and its last but one message of the user: the next call has
// the same beginning.
func mark(r *request) {
	ephemeral := &cacheMark{"ephemeral"}
	switch {
	case len(r.System) > 0:
		r.System[len(r.System)-1].Cache = ephemeral
	case len(r.Tools) > 0:
		r.Tools[len(r.Tools)-1].Cache = ephemeral
	}
	left := 2
	for i := len(r.Messages) - 1; i >= 0 && left > 0; i-- {
		content := r.Messages[i].Content
		if b, ok := content[len(content)-1].(*block); ok && r.Messages[i].Role == "user" {
			b.Cache = ephemeral
			left--
		}
	}
}
