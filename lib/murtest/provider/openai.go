package provider

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// openAI is the chat completions API.
type openAI struct{}

func (openAI) path() string  { return "/v1/chat/completions" }
func (openAI) pause() string { return ": keep-alive\n\n" }
func (openAI) overload() int { return http.StatusServiceUnavailable }

func (openAI) key(h http.Header) string {
	key, ok := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	if !ok {
		return ""
	}
	return key
}

func (openAI) headers(http.Header) {}

func (openAI) failure(r *refusal) any {
	kind, code := r.kind, any(nil)
	switch r.status {
	case http.StatusUnauthorized:
		kind, code = "invalid_request_error", "invalid_api_key"
	case http.StatusTooManyRequests:
		kind, code = "requests", "rate_limit_exceeded"
		if strings.Contains(r.message, "spend") {
			kind, code = "insufficient_quota", "insufficient_quota"
		}
	}
	return members{"error": members{"message": r.message, "type": kind, "param": nil, "code": code}}
}

func (openAI) midError() event {
	return event{"", members{"error": members{"message": "The server had an error while processing your request", "type": "server_error", "param": nil, "code": nil}}}
}

var openAITool = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// unrecognized refuses unknown members in the provider's words.
func unrecognized(o map[string]any, at string, allowed ...string) {
	unknown(o, func(key string) {
		if at == "" {
			refuse("Unrecognized request argument supplied: %s", key)
		}
		refuse("Unknown parameter: '%s.%s'.", at, key)
	}, allowed...)
}

// newCap says whether a model takes max_completion_tokens alone.
func newCap(model string) bool {
	return strings.HasPrefix(model, "gpt-5") || len(model) > 1 && model[0] == 'o' && model[1] >= '1' && model[1] <= '9'
}

func (openAI) check(body map[string]any, into *Request) {
	unrecognized(body, "", "model", "messages", "max_tokens", "max_completion_tokens", "stream", "stream_options", "tools", "tool_choice",
		"parallel_tool_calls", "temperature", "top_p", "n", "stop", "seed", "user", "metadata", "store", "reasoning_effort", "verbosity",
		"frequency_penalty", "presence_penalty", "response_format", "logit_bias", "logprobs", "top_logprobs", "service_tier",
		"prompt_cache_key", "prompt_cache_retention", "safety_identifier")
	if into.Model = text(body["model"], "model"); into.Model == "" {
		refuse("you must provide a model parameter")
	}
	_, old := body["max_tokens"]
	_, modern := body["max_completion_tokens"]
	switch {
	case old && modern:
		refuse("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
	case old && newCap(into.Model):
		refuse("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")
	}
	for _, name := range []string{"max_tokens", "max_completion_tokens"} {
		if v, ok := body[name]; ok && integer(v, name) < 1 {
			refuse("Invalid '%s': integer below minimum value. Expected a value >= 1.", name)
		}
	}
	if v, ok := body["stream"]; ok {
		into.Stream = boolean(v, "stream")
	}
	if v, ok := body["stream_options"]; ok {
		if !into.Stream {
			refuse("The 'stream_options' parameter is only allowed when 'stream' is enabled.")
		}
		o := object(v, "stream_options")
		unrecognized(o, "stream_options", "include_usage", "include_obfuscation")
		if v, ok := o["include_usage"]; ok {
			into.usage = boolean(v, "stream_options.include_usage")
		}
	}
	if v, ok := body["temperature"]; ok {
		within(v, "temperature", 0, 2)
	}
	if v, ok := body["prompt_cache_key"]; ok {
		text(v, "prompt_cache_key")
	}
	if v, ok := body["tools"]; ok {
		into.Tools = openAITools(list(v, "tools"))
	} else if _, ok := body["tool_choice"]; ok {
		refuse("'tool_choice' is only allowed when 'tools' are specified.")
	}
	messages := list(body["messages"], "messages")
	openAIMessages(messages)
	into.Text = lastText(messages[len(messages)-1].(map[string]any)["content"])
}

func openAITools(tools []any) (names []string) {
	if len(tools) == 0 {
		refuse("Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	}
	for i, t := range tools {
		at := fmt.Sprintf("tools[%d]", i)
		tool := object(t, at)
		unrecognized(tool, at, "type", "function")
		oneOf(tool["type"], at+".type", "function")
		f := object(tool["function"], at+".function")
		unrecognized(f, at+".function", "name", "description", "parameters", "strict")
		name := pattern(f["name"], at+".function.name", openAITool)
		if slices.Contains(names, name) {
			refuse("Invalid 'tools': the function name %q is used twice", name)
		}
		names = append(names, name)
		if v, ok := f["description"]; ok {
			text(v, at+".function.description")
		}
		if v, ok := f["parameters"]; ok {
			o := object(v, at+".function.parameters")
			if o["type"] != "object" {
				refuse("Invalid schema for function '%s': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"%v\"'.", name, o["type"])
			}
			schema(o, at+".function.parameters")
		}
	}
	return names
}

func openAIMessages(messages []any) {
	if len(messages) == 0 {
		refuse("Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	}
	var pending []string
	for i, v := range messages {
		at := fmt.Sprintf("messages[%d]", i)
		message := object(v, at)
		role := oneOf(message["role"], at+".role", "system", "developer", "user", "assistant", "tool")
		if role != "tool" && len(pending) > 0 {
			refuse("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "+
				"The following tool_call_ids did not have response messages: %s", strings.Join(pending, ", "))
		}
		switch role {
		case "tool":
			unrecognized(message, at, "role", "content", "tool_call_id")
			id := text(message["tool_call_id"], at+".tool_call_id")
			k := slices.Index(pending, id)
			if k < 0 {
				refuse("Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'. (%s: %q)", at, id)
			}
			pending = slices.Delete(pending, k, k+1)
			openAIContent(message["content"], at+".content", "text")
		case "assistant":
			unrecognized(message, at, "role", "content", "tool_calls", "name", "refusal", "audio", "function_call")
			calls, ok := message["tool_calls"]
			if ok {
				pending = openAICalls(list(calls, at+".tool_calls"), at+".tool_calls")
			}
			if message["content"] == nil {
				if !ok {
					refuse("Invalid value for 'content': expected a string, got null. (%s)", at)
				}
			} else {
				openAIContent(message["content"], at+".content", "text", "refusal")
			}
		default:
			unrecognized(message, at, "role", "content", "name")
			if role == "user" {
				openAIContent(message["content"], at+".content", "text", "image_url", "input_audio", "file")
			} else {
				openAIContent(message["content"], at+".content", "text")
			}
		}
	}
	if len(pending) > 0 {
		refuse("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "+
			"The following tool_call_ids did not have response messages: %s", strings.Join(pending, ", "))
	}
}

func openAICalls(calls []any, at string) (ids []string) {
	if len(calls) == 0 {
		refuse("Invalid '%s': empty array. Expected an array with minimum length 1, but got an empty array instead.", at)
	}
	for i, v := range calls {
		where := fmt.Sprintf("%s[%d]", at, i)
		c := object(v, where)
		unrecognized(c, where, "id", "type", "function")
		oneOf(c["type"], where+".type", "function")
		id := text(c["id"], where+".id")
		if slices.Contains(ids, id) || id == "" {
			refuse("Duplicate value for 'tool_call_id' of '%s' in message", id)
		}
		ids = append(ids, id)
		f := object(c["function"], where+".function")
		unrecognized(f, where+".function", "name", "arguments")
		pattern(f["name"], where+".function.name", openAITool)
		text(f["arguments"], where+".function.arguments")
	}
	return ids
}

func openAIContent(v any, at string, kinds ...string) {
	if _, plain := v.(string); plain {
		return
	}
	parts := list(v, at)
	if len(parts) == 0 {
		refuse("Invalid '%s': empty array.", at)
	}
	for i, p := range parts {
		where := fmt.Sprintf("%s[%d]", at, i)
		part := object(p, where)
		switch oneOf(part["type"], where+".type", kinds...) {
		case "text":
			unrecognized(part, where, "type", "text")
			text(part["text"], where+".text")
		case "image_url":
			unrecognized(part, where, "type", "image_url")
			image := object(part["image_url"], where+".image_url")
			unrecognized(image, where+".image_url", "url", "detail")
			url := text(image["url"], where+".image_url.url")
			head, data, ok := strings.Cut(url, ";base64,")
			if !ok || !slices.Contains(imageTypes, strings.TrimPrefix(head, "data:")) {
				refuse("Invalid image URL in %s: only data URLs of supported types are taken here", where)
			}
			if _, err := base64.StdEncoding.DecodeString(data); err != nil {
				refuse("Invalid base64 image_url in %s", where)
			}
		}
	}
}

func (openAI) answer(h *Handler, r Request, reply Reply) (whole map[string]any, events []event) {
	u := reply.usage(r)
	prompt := u.Input + u.Cached + u.CacheWrite
	usage := members{"prompt_tokens": prompt, "completion_tokens": u.Output, "total_tokens": prompt + u.Output,
		"prompt_tokens_details": members{"cached_tokens": u.Cached}}
	stop := reply.Stop
	switch {
	case stop != "":
	case len(reply.Calls) > 0:
		stop = "tool_calls"
	default:
		stop = "stop"
	}
	chunk := func(delta members, stop any) {
		events = append(events, event{"", members{"id": "chatcmpl-000001", "object": "chat.completion.chunk", "created": 1700000000, "model": r.Model,
			"choices": []any{members{"index": 0, "delta": delta, "finish_reason": stop}}}})
	}
	chunk(members{"role": "assistant", "content": ""}, nil)
	message := members{"role": "assistant", "content": nil, "refusal": nil}
	if t := reply.Thinking; t != "" {
		message["reasoning_content"] = t
		for _, part := range split(t, 10) {
			chunk(members{"reasoning_content": part}, nil)
		}
	}
	if t := reply.Text; t != "" {
		message["content"] = t
		for _, part := range split(t, 10) {
			chunk(members{"content": part}, nil)
		}
	}
	var calls []any
	for i, c := range reply.Calls {
		id, arguments := c.fill(h, "call_")
		calls = append(calls, members{"id": id, "type": "function", "function": members{"name": c.Name, "arguments": arguments}})
		chunk(members{"tool_calls": []any{members{"index": i, "id": id, "type": "function", "function": members{"name": c.Name, "arguments": ""}}}}, nil)
		for _, part := range split(arguments, 5) {
			chunk(members{"tool_calls": []any{members{"index": i, "function": members{"arguments": part}}}}, nil)
		}
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	chunk(members{}, stop)
	if r.usage {
		events = append(events, event{"", members{"id": "chatcmpl-000001", "object": "chat.completion.chunk", "created": 1700000000, "model": r.Model,
			"choices": []any{}, "usage": usage}})
	}
	events = append(events, event{"", "[DONE]"})
	return members{"id": "chatcmpl-000001", "object": "chat.completion", "created": 1700000000, "model": r.Model,
		"choices": []any{members{"index": 0, "message": message, "finish_reason": stop}}, "usage": usage}, events
}
