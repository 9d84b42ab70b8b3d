package main

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/mur-capsules/mur/drivers/payload"
	"github.com/mur-capsules/mur/drivers/sse"
	"github.com/mur-capsules/mur/drivers/upstream"
)

// completion is a whole answer, or one chunk of a stream.
type completion struct {
	Choices []struct {
		Message      said   `json:"message"` // of a whole answer
		Delta        said   `json:"delta"`   // of a chunk
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *usage          `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// said is what the model said: all of it, or the next piece. Reasoning has two
// names among the servers.
type said struct {
	Content          content `json:"content"`
	Refusal          string  `json:"refusal"`
	ReasoningContent string  `json:"reasoning_content"`
	Reasoning        string  `json:"reasoning"`
	ToolCalls        []struct {
		Index    *int   `json:"index"`
		ID       string `json:"id"`
		Function struct {
			Name      string       `json:"name"`
			Arguments argumentText `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// content is text, null, or a list of parts with text.
type content string

func (c *content) UnmarshalJSON(data []byte) error {
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(data, &parts) == nil {
		for _, p := range parts {
			*c += content(p.Text)
		}
		return nil
	}
	return json.Unmarshal(data, (*string)(c))
}

// argumentText are JSON text; some servers send the object itself.
type argumentText string

func (a *argumentText) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		*a = argumentText(data)
		return nil
	}
	return json.Unmarshal(data, (*string)(a))
}

type usage struct {
	Prompt     *int64 `json:"prompt_tokens"`
	Completion *int64 `json:"completion_tokens"`
	Details    struct {
		Cached *int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning *int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func (u *usage) neutral() *payload.Usage {
	if u == nil || *u == (usage{}) {
		return nil
	}
	return &payload.Usage{Input: u.Prompt, Output: u.Completion, Cached: u.Details.Cached, Thinking: u.CompletionDetails.Reasoning}
}

// gathered is an answer as it grows.
type gathered struct {
	thinking, text strings.Builder
	calls          []*growing
	stop           string
	usage          *usage
}

type growing struct {
	index     *int
	id, name  string
	arguments strings.Builder
}

// add takes what was said and emits it.
func (g *gathered) add(s said, emit upstream.Emit) {
	if t := s.ReasoningContent; t != "" {
		g.thinking.WriteString(t)
		emit.Thinking(t)
	} else if t := s.Reasoning; t != "" {
		g.thinking.WriteString(t)
		emit.Thinking(t)
	}
	for _, t := range []string{string(s.Content), s.Refusal} {
		if t != "" {
			g.text.WriteString(t)
			emit.Text(t)
		}
	}
	for _, c := range s.ToolCalls {
		call := g.call(c.Index, c.ID)
		if call.id == "" {
			call.id = c.ID
		}
		if call.name == "" {
			call.name = c.Function.Name
		}
		call.arguments.WriteString(string(c.Function.Arguments))
	}
}

// call finds the call a piece belongs to: by index, and where a server gives
// none, by a new id that begins a new call.
func (g *gathered) call(index *int, id string) *growing {
	n := len(g.calls)
	if index == nil && n > 0 && (id == "" || id == g.calls[n-1].id) {
		return g.calls[n-1]
	}
	if index != nil {
		for _, c := range g.calls {
			if c.index != nil && *c.index == *index {
				return c
			}
		}
	}
	c := &growing{index: index}
	g.calls = append(g.calls, c)
	return c
}

// answer is what was gathered, once it is complete.
func (g *gathered) answer(req payload.Request) payload.Answer {
	names := payload.NamesOf(req)
	a := payload.Answer{Usage: g.usage.neutral()}
	if g.thinking.Len() > 0 {
		a.Content = append(a.Content, payload.Block{Type: payload.Thinking, Text: g.thinking.String()})
	}
	if g.text.Len() > 0 {
		a.Content = append(a.Content, payload.TextBlock(g.text.String()))
	}
	for _, c := range g.calls {
		a.Content = append(a.Content, payload.Block{Type: payload.ToolCall, ID: c.id, Name: names.Ours(c.name), Input: payload.Arguments(c.arguments.String())})
	}
	switch g.stop {
	case "stop", "tool_calls", "function_call":
		a.StopReason = payload.StopEndTurn
		if len(g.calls) > 0 { // some servers say "stop" all the same
			a.StopReason = payload.StopToolCall
		}
	case "length":
		a.StopReason = payload.StopMaxTokens
	case "content_filter":
		a.StopReason, a.Error = payload.StopError, "the provider withheld the answer (content_filter)"
	case "":
		a.StopReason, a.Error = payload.StopError, "the provider's answer has no finish_reason"
	default: // the loop names it
		a.StopReason = g.stop
	}
	return a
}

// Whole reads an answer that was not streamed.
func (d *driver) Whole(req payload.Request, body []byte) payload.Answer {
	var c completion
	if err := json.Unmarshal(body, &c); err != nil {
		return upstream.NotJSON(err)
	}
	if failed(c) {
		return upstream.ErrorEvent(body)
	}
	if len(c.Choices) == 0 {
		return payload.Errorf("the provider's answer has no choices")
	}
	g := gathered{stop: c.Choices[0].FinishReason, usage: c.Usage}
	g.add(c.Choices[0].Message, upstream.Emit{Text: func(string) {}, Thinking: func(string) {}})
	return g.answer(req)
}

func failed(c completion) bool { return len(c.Error) > 0 && string(c.Error) != "null" }

// Stream reads a streamed answer. It is complete with its finish reason; what
// comes after that up to [DONE], the usage, may be missing.
func (d *driver) Stream(req payload.Request, events *sse.Reader, emit upstream.Emit) payload.Answer {
	var g gathered
	for {
		e, err := events.Next()
		switch {
		case err == nil && e.Data == "[DONE]", err == io.EOF && g.stop != "":
			return g.answer(req)
		case err != nil:
			return upstream.BrokeOff(err)
		}
		var c completion
		if err := json.Unmarshal([]byte(e.Data), &c); err != nil {
			return upstream.NotJSON(err)
		}
		if failed(c) {
			return upstream.ErrorEvent([]byte(e.Data))
		}
		if c.Usage != nil {
			g.usage = c.Usage
		}
		if len(c.Choices) > 0 {
			g.add(c.Choices[0].Delta, emit)
			if r := c.Choices[0].FinishReason; r != "" {
				g.stop = r
			}
		}
	}
}
