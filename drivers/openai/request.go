package main

import (
	"encoding/json"
	"strings"

	"github.com/mur-capsules/mur/drivers/payload"
)

// The request of POST /chat/completions, in the members this driver sends. At
// most one of the two caps is set.
type request struct {
	Model               string         `json:"model"`
	MaxTokens           int            `json:"max_tokens,omitempty"`
	MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
	PromptCacheKey      string         `json:"prompt_cache_key,omitempty"`
	Stream              bool           `json:"stream,omitempty"`
	StreamOptions       *streamOptions `json:"stream_options,omitempty"`
	Tools               []tool         `json:"tools,omitempty"`
	Messages            []message      `json:"messages"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// message has text, or parts when it holds an image, or no content at all.
type message struct {
	Role       string `json:"role"`
	Content    any    `json:"content"`
	ToolCalls  []call `json:"tool_calls,omitempty"`
	ToolCallID string `json:"tool_call_id,omitempty"`
}

type call struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function callText `json:"function"`
}

type callText struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type part struct {
	Type  string    `json:"type"`
	Text  string    `json:"text,omitempty"`
	Image *imageURL `json:"image_url,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

// Request translates; the same request gives the same bytes.
func (d *driver) Request(req payload.Request, stream bool) any {
	names := payload.NamesOf(req)
	r := request{Model: req.Model, Stream: stream}
	if stream {
		r.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	field := d.cfg.MaxTokensField
	if field == "" && ofOpenAI(req.Model) {
		field = "max_completion_tokens"
	}
	if field == "max_completion_tokens" {
		r.MaxCompletionTokens = req.MaxTokens
	} else {
		r.MaxTokens = req.MaxTokens
	}
	if send := d.cfg.PromptCacheKey; send != nil && *send || send == nil && ofOpenAI(req.Model) {
		r.PromptCacheKey = req.PromptCacheKey
	}
	for _, t := range req.Tools {
		r.Tools = append(r.Tools, tool{"function", function{names.Sent(t.Name), t.Description, t.Schema()}})
	}
	if strings.TrimSpace(req.System) != "" {
		r.Messages = append(r.Messages, message{Role: "system", Content: req.System})
	}
	for _, m := range req.Messages {
		r.Messages = append(r.Messages, translate(m, names)...)
	}
	return r
}

// translate gives the messages that stand for one of ours.
func translate(m payload.Message, names payload.Names) []message {
	switch m.Role {
	case payload.Assistant:
		out := message{Role: "assistant"}
		for _, b := range m.Content {
			if b.Type == payload.ToolCall {
				out.ToolCalls = append(out.ToolCalls, call{b.ID, "function", callText{names.Sent(b.Name), arguments(b.Input)}})
			}
		}
		if s := text(m.Content); s != "" || len(out.ToolCalls) == 0 {
			out.Content = s
		}
		return []message{out} // thinking is not sent back: nobody takes it
	case payload.ToolRole:
		s := text(m.Content)
		if hasImage(m.Content) {
			s += "\n(an image, which can not be given with the result of a tool)"
		}
		return []message{{Role: "tool", ToolCallID: m.ToolCallID, Content: s}}
	}
	if !hasImage(m.Content) {
		return []message{{Role: m.Role, Content: text(m.Content)}}
	}
	var parts []part
	for _, b := range m.Content {
		switch b.Type {
		case payload.Text:
			parts = append(parts, part{Type: "text", Text: b.Text})
		case payload.Image:
			parts = append(parts, part{Type: "image_url", Image: &imageURL{"data:" + b.Source.MediaType + ";base64," + b.Source.Data}})
		}
	}
	return []message{{Role: m.Role, Content: parts}}
}

// text joins blocks as the loop joins those of an answer: plain text is what
// every server takes.
func text(blocks []payload.Block) string {
	var texts []string
	for _, b := range blocks {
		if b.Type == payload.Text {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func hasImage(blocks []payload.Block) bool {
	for _, b := range blocks {
		if b.Type == payload.Image {
			return true
		}
	}
	return false
}

// arguments are JSON text; what was not an object goes back as the model wrote it.
func arguments(input json.RawMessage) string {
	var s string
	if json.Unmarshal(input, &s) == nil {
		return s
	}
	return string(input)
}
