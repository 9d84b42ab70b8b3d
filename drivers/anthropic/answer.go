package main

import (
	"encoding/json"
	"strings"

	"github.com/mur-capsules/mur/drivers/payload"
	"github.com/mur-capsules/mur/drivers/sse"
	"github.com/mur-capsules/mur/drivers/upstream"
)

// answer is a message of the API.
type answer struct {
	Type       string            `json:"type"`
	Content    []json.RawMessage `json:"content"`
	StopReason string            `json:"stop_reason"`
	Usage      usage             `json:"usage"`
}

// usage counts input that was cached apart from the rest.
type usage struct {
	Input      *int64 `json:"input_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
	Output     *int64 `json:"output_tokens"`
}

// over replaces what a later report has; its counts are totals.
func (u *usage) over(later usage) {
	for _, p := range []struct{ old, new **int64 }{
		{&u.Input, &later.Input}, {&u.CacheRead, &later.CacheRead}, {&u.CacheWrite, &later.CacheWrite}, {&u.Output, &later.Output},
	} {
		if *p.new != nil {
			*p.old = *p.new
		}
	}
}

func (u usage) neutral() *payload.Usage {
	if u == (usage{}) {
		return nil
	}
	out := &payload.Usage{Output: u.Output, Cached: u.CacheRead, CacheWrite: u.CacheWrite}
	if u.Input != nil {
		total := *u.Input
		for _, n := range []*int64{u.CacheRead, u.CacheWrite} {
			if n != nil {
				total += *n
			}
		}
		out.Input = &total
	}
	return out
}

// received is a content block of an answer.
type received struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	raw       json.RawMessage
}

func (r received) neutral(names payload.Names) payload.Block {
	switch r.Type {
	case "text":
		return payload.TextBlock(r.Text)
	case "thinking":
		return payload.Block{Type: payload.Thinking, Text: r.Thinking, Signature: r.Signature}
	case "tool_use":
		return payload.Block{Type: payload.ToolCall, ID: r.ID, Name: names.Ours(r.Name), Input: payload.Arguments(string(r.Input))}
	}
	return payload.Block{Type: r.Type, Raw: r.raw}
}

// complete adds what came after the block's start.
func (r *received) complete(text string) {
	switch {
	case r.Type == "text":
		r.Text += text
	case r.Type == "thinking":
		r.Thinking += text
	case r.Type == "tool_use" && text != "":
		r.Input = json.RawMessage(text)
	}
}

// Whole reads an answer that was not streamed.
func (d *driver) Whole(req payload.Request, body []byte) payload.Answer {
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return upstream.NotJSON(err)
	}
	if a.Type == "error" {
		return upstream.ErrorEvent(body)
	}
	var blocks []received
	for _, raw := range a.Content {
		var b received
		if err := json.Unmarshal(raw, &b); err != nil {
			return upstream.NotJSON(err)
		}
		b.raw = raw
		blocks = append(blocks, b)
	}
	return finish(req, blocks, a.StopReason, a.Usage)
}

// finish gives the answer of what was received.
func finish(req payload.Request, blocks []received, stop string, u usage) payload.Answer {
	a := payload.Answer{Usage: u.neutral()}
	names := payload.NamesOf(req)
	for _, b := range blocks {
		if b.Type != "" {
			a.Content = append(a.Content, b.neutral(names))
		}
	}
	switch stop {
	case "end_turn", "stop_sequence":
		a.StopReason = payload.StopEndTurn
	case "tool_use":
		a.StopReason = payload.StopToolCall
	case "max_tokens":
		a.StopReason = payload.StopMaxTokens
	case "refusal":
		a.StopReason, a.Error = payload.StopError, "the provider refused to answer (refusal)"
	case "model_context_window_exceeded":
		a.StopReason, a.Error = payload.StopError, "the model's context window is full"
	case "":
		a.StopReason, a.Error = payload.StopError, "the provider's answer has no stop_reason"
	default: // the loop names it
		a.StopReason = stop
	}
	return a
}

// streamed is an event of a stream, in the members its type has.
type streamed struct {
	Type    string          `json:"type"`
	Message answer          `json:"message"`
	Index   int             `json:"index"`
	Block   json.RawMessage `json:"content_block"`
	Delta   struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		PartialJSON string `json:"partial_json"`
		Thinking    string `json:"thinking"`
		Signature   string `json:"signature"`
		StopReason  string `json:"stop_reason"`
	} `json:"delta"`
	Usage usage `json:"usage"`
}

// Stream reads a streamed answer. The whole of it counts only once message_stop
// has come; text is emitted before.
func (d *driver) Stream(req payload.Request, events *sse.Reader, emit upstream.Emit) payload.Answer {
	var blocks []received
	var texts []*strings.Builder // of the blocks: text, thinking or the JSON of an input
	var counts usage
	stop := ""
	for {
		e, err := events.Next()
		if err != nil {
			return upstream.BrokeOff(err)
		}
		var s streamed
		if err := json.Unmarshal([]byte(e.Data), &s); err != nil {
			return upstream.NotJSON(err)
		}
		switch s.Type {
		case "error":
			return upstream.ErrorEvent([]byte(e.Data))
		case "message_start":
			counts.over(s.Message.Usage)
		case "content_block_start":
			var b received
			if err := json.Unmarshal(s.Block, &b); err != nil {
				return upstream.NotJSON(err)
			}
			if s.Index != len(blocks) {
				return payload.Errorf("the provider's stream is out of order: block %d begins where %d should", s.Index, len(blocks))
			}
			b.raw = s.Block
			blocks = append(blocks, b)
			texts = append(texts, &strings.Builder{})
		case "content_block_delta":
			if s.Index < 0 || s.Index >= len(blocks) {
				return payload.Errorf("the provider's stream is out of order: more of block %d, which has not begun", s.Index)
			}
			text := texts[s.Index]
			switch s.Delta.Type {
			case "text_delta":
				text.WriteString(s.Delta.Text)
				emit.Text(s.Delta.Text)
			case "thinking_delta":
				text.WriteString(s.Delta.Thinking)
				emit.Thinking(s.Delta.Thinking)
			case "signature_delta":
				blocks[s.Index].Signature += s.Delta.Signature
			case "input_json_delta":
				text.WriteString(s.Delta.PartialJSON)
			}
		case "message_delta":
			counts.over(s.Usage)
			if s.Delta.StopReason != "" {
				stop = s.Delta.StopReason
			}
		case "message_stop":
			for i := range blocks {
				blocks[i].complete(texts[i].String())
			}
			return finish(req, blocks, stop, counts)
		}
	}
}
