package provider

import "encoding/json"

// members is a JSON object to be written.
type members = map[string]any

func (anthropic) answer(h *Handler, r Request, reply Reply) (whole map[string]any, events []event) {
	u := reply.usage(r)
	counts := members{"input_tokens": u.Input, "cache_read_input_tokens": u.Cached, "cache_creation_input_tokens": u.CacheWrite}
	message := func(content []any, stop any, output int64) members {
		usage := members{"output_tokens": output}
		for k, v := range counts {
			usage[k] = v
		}
		return members{"id": "msg_000001", "type": "message", "role": "assistant", "model": r.Model, "content": content,
			"stop_reason": stop, "stop_sequence": nil, "usage": usage}
	}
	content := []any{}
	events = append(events, event{"message_start", members{"type": "message_start", "message": message(content, nil, 1)}})
	add := func(block, empty members, deltas []members) {
		index := len(content)
		content = append(content, block)
		events = append(events, event{"content_block_start", members{"type": "content_block_start", "index": index, "content_block": empty}})
		for _, d := range deltas {
			events = append(events, event{"content_block_delta", members{"type": "content_block_delta", "index": index, "delta": d}})
		}
		events = append(events, event{"content_block_stop", members{"type": "content_block_stop", "index": index}})
	}
	if t := reply.Thinking; t != "" {
		var deltas []members
		for _, part := range split(t, 10) {
			deltas = append(deltas, members{"type": "thinking_delta", "thinking": part})
		}
		deltas = append(deltas, members{"type": "signature_delta", "signature": signature(t)})
		add(members{"type": "thinking", "thinking": t, "signature": signature(t)}, members{"type": "thinking", "thinking": "", "signature": ""}, deltas)
	}
	if t := reply.Text; t != "" {
		var deltas []members
		for _, part := range split(t, 10) {
			deltas = append(deltas, members{"type": "text_delta", "text": part})
		}
		add(members{"type": "text", "text": t}, members{"type": "text", "text": ""}, deltas)
	}
	for _, c := range reply.Calls {
		id, arguments := c.fill(h, "toolu_")
		deltas := []members{{"type": "input_json_delta", "partial_json": ""}}
		for _, part := range split(arguments, 5) {
			deltas = append(deltas, members{"type": "input_json_delta", "partial_json": part})
		}
		var input any = arguments // a whole answer has no better place for what is not JSON
		if json.Valid([]byte(arguments)) {
			input = json.RawMessage(arguments)
		}
		add(members{"type": "tool_use", "id": id, "name": c.Name, "input": input},
			members{"type": "tool_use", "id": id, "name": c.Name, "input": members{}}, deltas)
	}
	stop := reply.Stop
	switch {
	case stop != "":
	case len(reply.Calls) > 0:
		stop = "tool_use"
	default:
		stop = "end_turn"
	}
	whole = message(content, stop, u.Output)
	events = append(events,
		event{"message_delta", members{"type": "message_delta", "delta": members{"stop_reason": stop, "stop_sequence": nil}, "usage": members{"output_tokens": u.Output}}},
		event{"message_stop", members{"type": "message_stop"}})
	return whole, events
}

// fill gives a call its id and the text of its arguments.
func (c Call) fill(h *Handler, prefix string) (id, arguments string) {
	if id = c.ID; id == "" {
		id = h.id(prefix)
	}
	switch {
	case c.Arguments != "":
		return id, c.Arguments
	case len(c.Input) > 0:
		return id, string(c.Input)
	}
	return id, "{}"
}

// usage is what was asked to be reported, or a guess of four bytes a token.
func (reply Reply) usage(r Request) Usage {
	if reply.Usage != nil {
		return *reply.Usage
	}
	out := len(reply.Thinking) + len(reply.Text)
	for _, c := range reply.Calls {
		out += len(c.Name) + len(c.Input) + len(c.Arguments)
	}
	return Usage{Input: int64(len(r.Body)/4 + 1), Output: int64(out/4 + 1)}
}
