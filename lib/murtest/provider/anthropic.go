package provider

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// anthropic is the Messages API as of anthropic-version 2023-06-01.
type anthropic struct{}

func (anthropic) path() string             { return "/v1/messages" }
func (anthropic) key(h http.Header) string { return h.Get("X-Api-Key") }
func (anthropic) pause() string            { return "event: ping\ndata: {\"type\": \"ping\"}\n\n" }
func (anthropic) overload() int            { return 529 }

func (anthropic) headers(h http.Header) {
	switch h.Get("Anthropic-Version") {
	case "2023-06-01", "2023-01-01":
	case "":
		refuse("anthropic-version: header is required")
	default:
		refuse("anthropic-version: %q is not a valid version", h.Get("Anthropic-Version"))
	}
}

func (anthropic) failure(r *refusal) any {
	return members{"type": "error", "error": members{"type": r.kind, "message": r.message}, "request_id": "req_000001"}
}

func (anthropic) midError() event {
	return event{"error", members{"type": "error", "error": members{"type": "overloaded_error", "message": "Overloaded"}}}
}

var (
	anthropicTool = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
	anthropicID   = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	imageTypes    = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}
)

// extra refuses unknown members in the provider's words.
func extra(o map[string]any, at string, allowed ...string) {
	unknown(o, func(key string) {
		if at != "" {
			key = at + "." + key
		}
		refuse("%s: Extra inputs are not permitted", key)
	}, allowed...)
}

// anthropicCheck is the state of one request's check.
type anthropicCheck struct {
	marks    int // cache_control blocks
	thinking bool
	uses     []string // every tool_use id so far
}

func (anthropic) check(body map[string]any, into *Request) {
	var c anthropicCheck
	extra(body, "", "model", "max_tokens", "messages", "system", "tools", "tool_choice", "stream", "thinking", "temperature",
		"top_p", "top_k", "stop_sequences", "metadata", "service_tier", "container", "context_management", "output_config", "cache_control")
	for _, name := range []string{"model", "max_tokens", "messages"} {
		if _, ok := body[name]; !ok {
			refuse("%s: Field required", name)
		}
	}
	if into.Model = text(body["model"], "model"); into.Model == "" {
		refuse("model: String should have at least 1 character")
	}
	maxTokens := integer(body["max_tokens"], "max_tokens")
	if maxTokens < 1 {
		refuse("max_tokens: Input should be greater than or equal to 1")
	}
	if v, ok := body["stream"]; ok {
		into.Stream = boolean(v, "stream")
	}
	if v, ok := body["thinking"]; ok {
		c.checkThinking(object(v, "thinking"), maxTokens)
	}
	if v, ok := body["temperature"]; ok {
		within(v, "temperature", 0, 1)
		if c.thinking && v.(json.Number) != "1" {
			refuse("`temperature` may only be set to 1 when thinking is enabled")
		}
	}
	if v, ok := body["system"]; ok {
		if _, plain := v.(string); !plain {
			for i, b := range list(v, "system") {
				at := fmt.Sprintf("system.%d", i)
				block := object(b, at)
				oneOf(block["type"], at+".type", "text")
				c.textBlock(block, at)
			}
		}
	}
	if v, ok := body["tools"]; ok {
		into.Tools = c.checkTools(list(v, "tools"))
	}
	c.checkMessages(list(body["messages"], "messages"))
	if c.marks > 4 {
		refuse("A maximum of 4 blocks with cache_control may be provided. Found %d.", c.marks)
	}
	messages := body["messages"].([]any)
	into.Text = lastText(messages[len(messages)-1].(map[string]any)["content"])
}

func (c *anthropicCheck) checkThinking(o map[string]any, maxTokens int64) {
	switch oneOf(o["type"], "thinking.type", "enabled", "disabled", "adaptive") {
	case "enabled":
		extra(o, "thinking", "type", "budget_tokens", "display")
		budget := integer(o["budget_tokens"], "thinking.budget_tokens")
		if budget < 1024 {
			refuse("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
		}
		if budget >= maxTokens {
			refuse("`max_tokens` must be greater than `thinking.budget_tokens`")
		}
		c.thinking = true
	case "adaptive":
		extra(o, "thinking", "type", "display")
		c.thinking = true
	default:
		extra(o, "thinking", "type")
	}
}

func (c *anthropicCheck) checkTools(tools []any) (names []string) {
	for i, t := range tools {
		at := fmt.Sprintf("tools.%d", i)
		tool := object(t, at)
		extra(tool, at, "name", "description", "input_schema", "cache_control", "type")
		if v, ok := tool["type"]; ok {
			oneOf(v, at+".type", "custom")
		}
		name := pattern(tool["name"], at+".name", anthropicTool)
		if slices.Contains(names, name) {
			refuse("tools: Tool names must be unique")
		}
		names = append(names, name)
		if v, ok := tool["description"]; ok {
			text(v, at+".description")
		}
		s := object(tool["input_schema"], at+".input_schema")
		if s["type"] != "object" {
			refuse("%s.input_schema.type: Field required", at)
		}
		schema(s, at+".input_schema")
		c.mark(tool, at)
	}
	return names
}

func (c *anthropicCheck) checkMessages(messages []any) {
	if len(messages) == 0 {
		refuse("messages: at least one message is required")
	}
	var pending []string // tool_use ids of the message before
	for i, m := range messages {
		at := fmt.Sprintf("messages.%d", i)
		message := object(m, at)
		extra(message, at, "role", "content")
		role := oneOf(message["role"], at+".role", "user", "assistant")
		if want := []string{"user", "assistant"}[i%2]; role != want {
			if i == 0 {
				refuse("messages: first message must use the \"user\" role")
			}
			refuse("messages: roles must alternate between \"user\" and \"assistant\", but found multiple %q roles in a row", role)
		}
		blocks, plain := message["content"].([]any)
		if !plain {
			if s := text(message["content"], at+".content"); strings.TrimSpace(s) == "" && !(role == "assistant" && i == len(messages)-1) {
				refuse("%s: text content blocks must be non-empty", at)
			}
		} else if len(blocks) == 0 && !(role == "assistant" && i == len(messages)-1) {
			refuse("%s: all messages must have non-empty content except for the optional final assistant message", at)
		}
		var uses, results []string
		for j, b := range blocks {
			where := fmt.Sprintf("%s.content.%d", at, j)
			block := object(b, where)
			switch kind := text(block["type"], where+".type"); {
			case kind == "text":
				c.textBlock(block, where)
			case kind == "image":
				c.image(block, where)
			case kind == "tool_result" && role == "user":
				if j != len(results) {
					refuse("%s: tool_result blocks must come first in the content", where)
				}
				results = append(results, c.toolResult(block, where, pending))
			case kind == "tool_use" && role == "assistant":
				uses = append(uses, c.toolUse(block, where))
			case kind == "thinking" && role == "assistant":
				extra(block, where, "type", "thinking", "signature")
				if text(block["signature"], where+".signature") != signature(text(block["thinking"], where+".thinking")) {
					refuse("%s: Invalid `signature` in `thinking` block", where)
				}
			case kind == "redacted_thinking" && role == "assistant":
				extra(block, where, "type", "data")
				text(block["data"], where+".data")
			default:
				refuse("%s: Input tag %q is not allowed in a message of role %q", where, kind, role)
			}
		}
		for _, id := range pending {
			if !slices.Contains(results, id) {
				refuse("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. "+
					"Each `tool_use` block must have a corresponding `tool_result` block in the next message.", i-1, id)
			}
		}
		if c.thinking && i == len(messages)-2 && len(uses) > 0 {
			if first := blocks[0].(map[string]any)["type"]; first != "thinking" && first != "redacted_thinking" {
				refuse("%s.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%v`", at, first)
			}
		}
		pending = uses
	}
	if len(pending) > 0 {
		refuse("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s", len(messages)-1, pending[0])
	}
	if last := messages[len(messages)-1].(map[string]any); last["role"] == "assistant" {
		if s := lastText(last["content"]); s != strings.TrimRight(s, " \t\r\n") {
			refuse("messages: final assistant content cannot end with trailing whitespace")
		}
	}
}

func (c *anthropicCheck) textBlock(o map[string]any, at string) {
	extra(o, at, "type", "text", "cache_control", "citations")
	if strings.TrimSpace(text(o["text"], at+".text")) == "" {
		refuse("%s: text content blocks must be non-empty", at)
	}
	c.mark(o, at)
}

func (c *anthropicCheck) image(o map[string]any, at string) {
	extra(o, at, "type", "source", "cache_control")
	source := object(o["source"], at+".source")
	extra(source, at+".source", "type", "media_type", "data")
	oneOf(source["type"], at+".source.type", "base64")
	oneOf(source["media_type"], at+".source.media_type", imageTypes...)
	if _, err := base64.StdEncoding.DecodeString(text(source["data"], at+".source.data")); err != nil {
		refuse("%s.source.data: invalid base64 data", at)
	}
	c.mark(o, at)
}

func (c *anthropicCheck) toolUse(o map[string]any, at string) string {
	extra(o, at, "type", "id", "name", "input", "cache_control")
	id := pattern(o["id"], at+".id", anthropicID)
	if slices.Contains(c.uses, id) {
		refuse("messages: `tool_use` ids must be unique")
	}
	c.uses = append(c.uses, id)
	pattern(o["name"], at+".name", anthropicTool)
	object(o["input"], at+".input")
	c.mark(o, at)
	return id
}

func (c *anthropicCheck) toolResult(o map[string]any, at string, pending []string) string {
	extra(o, at, "type", "tool_use_id", "content", "is_error", "cache_control")
	id := pattern(o["tool_use_id"], at+".tool_use_id", anthropicID)
	if !slices.Contains(pending, id) {
		refuse("%s: unexpected `tool_use_id` found in `tool_result` blocks: %s. "+
			"Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", at, id)
	}
	if v, ok := o["is_error"]; ok {
		boolean(v, at+".is_error")
	}
	switch content := o["content"].(type) {
	case nil, string:
	default:
		for i, b := range list(content, at+".content") {
			where := fmt.Sprintf("%s.content.%d", at, i)
			block := object(b, where)
			if oneOf(block["type"], where+".type", "text", "image") == "text" {
				c.textBlock(block, where)
			} else {
				c.image(block, where)
			}
		}
	}
	c.mark(o, at)
	return id
}

func (c *anthropicCheck) mark(o map[string]any, at string) {
	v, ok := o["cache_control"]
	if !ok || v == nil {
		return
	}
	mark := object(v, at+".cache_control")
	extra(mark, at+".cache_control", "type", "ttl")
	oneOf(mark["type"], at+".cache_control.type", "ephemeral")
	if ttl, ok := mark["ttl"]; ok {
		oneOf(ttl, at+".cache_control.ttl", "5m", "1h")
	}
	c.marks++
}

// signature signs a thinking block, so that one a client changed is known.
func signature(thinking string) string {
	sum := sha256.Sum256([]byte("signed by nobody: " + thinking))
	return "sig_" + hex.EncodeToString(sum[:12])
}
