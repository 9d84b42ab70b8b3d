package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/mur-capsules/mur/mur-launch/internal/dispatch"
)

// Answer is what a driver answered (AGT-53).
type Answer struct {
	Stop    string
	Error   string
	Content json.RawMessage // the block list, canonical
	Calls   []dispatch.Call // its tool calls, in order
	Text    string          // its text blocks, joined with line ends
	Usage   Usage
}

// Usage is what the provider counted; nil is absent. Nothing is decided from it
// (AGT-56).
type Usage struct {
	Input, Output, Cached, CacheWrite, Thinking *int64
}

// ParseAnswer reads the body of a driver's answer. The error says in which way
// it is none (malformed_response).
func ParseAnswer(body string) (Answer, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &all); err != nil || all == nil {
		return Answer{}, errors.New("the driver's answer is not a JSON object")
	}
	var a Answer
	_ = json.Unmarshal(all["stop_reason"], &a.Stop) // what is no string counts as absent
	_ = json.Unmarshal(all["error"], &a.Error)
	a.Usage = usage(all["usage"])
	if a.Stop == "error" {
		return a, nil
	}
	var blocks []json.RawMessage
	if raw := all["content"]; raw != nil {
		if err := json.Unmarshal(raw, &blocks); err != nil {
			return Answer{}, errors.New("content of the driver's answer is not a list of blocks")
		}
	}
	rows := make([]json.RawMessage, len(blocks))
	var texts []string
	for i, raw := range blocks {
		block, err := dispatch.Canonical(raw)
		if err != nil || block[0] != '{' {
			return Answer{}, fmt.Errorf("content[%d] of the driver's answer is not an object", i)
		}
		rows[i] = block
		b := membersOf(block)
		switch b.text("type") {
		case "text":
			texts = append(texts, b.text("text"))
		case "tool_call":
			c := dispatch.Call{ID: b.text("id"), Name: b.text("name"), Input: b["input"]}
			if c.Input == nil {
				c.Input = json.RawMessage("null")
			}
			a.Calls = append(a.Calls, c)
		}
	}
	a.Text = strings.Join(texts, "\n")
	a.Content = must(dispatch.Marshal(rows))
	return a, nil
}

// members are a JSON object's, by their exact names: a struct would also take
// them in other letters, which a driver does not.
type members map[string]json.RawMessage

// membersOf reads an object; what is none has no members.
func membersOf(raw json.RawMessage) (m members) {
	_ = json.Unmarshal(raw, &m)
	return m
}

// text is a member that is a string, "" when it is not there or something else.
func (m members) text(name string) (s string) {
	_ = json.Unmarshal(m[name], &s)
	return s
}

// usage reads each member by itself; what is no non-negative integer is absent.
func usage(raw json.RawMessage) Usage {
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return Usage{}
	}
	get := func(name string) *int64 {
		var n float64
		if json.Unmarshal(all[name], &n) != nil || all[name] == nil || string(all[name]) == "null" || n < 0 || n > 1<<53 || n != math.Trunc(n) {
			return nil
		}
		i := int64(n)
		return &i
	}
	return Usage{
		Input: get("input_tokens"), Output: get("output_tokens"), Cached: get("cached_tokens"),
		CacheWrite: get("cache_write_tokens"), Thinking: get("thinking_tokens"),
	}
}

// verdict is what the loop does with an answer: exactly one of failed, calls and
// final.
type verdict struct {
	failed *failure
	calls  []dispatch.Call
	final  bool
	atCap  bool // the answer stopped at the output cap
}

// judge says what an answer means (AGT-53).
func judge(a Answer) verdict {
	switch a.Stop {
	case "tool_call":
		if len(a.Calls) == 0 {
			return verdict{failed: &failure{cause: "malformed_response", reason: "the driver stopped for a tool call and made none"}}
		}
		return verdict{calls: a.Calls}
	case "end_turn":
		return verdict{final: true}
	case "max_tokens":
		return verdict{final: true, atCap: true}
	case "error":
		reason := a.Error
		if reason == "" {
			reason = "the driver reported an error and no reason"
		}
		return verdict{failed: &failure{cause: "driver_error", code: "driver_error", reason: reason}}
	case "":
		return verdict{failed: &failure{cause: "malformed_response", reason: "the driver's answer has no stop_reason"}}
	}
	return verdict{failed: &failure{cause: "malformed_response", reason: fmt.Sprintf("the driver stopped for a reason that is not supported: %.200q", a.Stop)}}
}

// decision is how hooks and the trace name a stop reason (AGT-54).
func decision(stop string) string {
	switch stop {
	case "tool_call", "end_turn", "error":
		return stop
	}
	return "text"
}
