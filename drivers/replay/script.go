package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mur-capsules/mur/drivers/payload"
)

// entry is one answer of a script: what a driver returns, and what may be said
// about it here.
type entry struct {
	payload.Answer
	// Expect lists texts that must stand in what came since the last answer:
	// the task, or the results of tools.
	Expect []string `json:"expect"`
	// Fill replaces {{<call id>}} in texts by the result of that call, and
	// {{<call id> /json/pointer}} by a value within it.
	Fill bool `json:"fill"`
}

// UnmarshalJSON keeps blocks of every type.
func (e *entry) UnmarshalJSON(data []byte) error {
	type plain entry
	var w struct {
		plain
		Content []json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*e = entry(w.plain)
	e.Content = make([]payload.Block, len(w.Content))
	for i, raw := range w.Content {
		b, err := payload.ParseBlock(raw)
		if err != nil {
			return fmt.Errorf("content[%d]: %w", i, err)
		}
		e.Content[i] = b
	}
	return nil
}

type script []entry

// config is where a script is found: in artifacts[].config of the driver, else
// in inference.driver.config.
type config struct {
	Answers script `json:"answers"`
	// Script is a file in the driver's folder, the work folder.
	Script string `json:"script"`
}

func load(getenv func(string) string, open func(string) ([]byte, error)) (script, error) {
	for _, name := range []string{"MURMUR_ARTIFACT_CONFIG", "MURMUR_INFERENCE_DRIVER_CONFIG"} {
		text := getenv(name)
		if text == "" {
			continue
		}
		var c config
		dec := json.NewDecoder(strings.NewReader(text))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&c); err != nil {
			return nil, fmt.Errorf("its configuration: %w", err)
		}
		switch {
		case c.Answers != nil && c.Script != "":
			return nil, errors.New("its configuration has both answers and script")
		case c.Answers != nil:
			return c.Answers, nil
		case c.Script != "":
			data, err := open(c.Script)
			if err != nil {
				return nil, err
			}
			return parse(data)
		}
	}
	return nil, errors.New("no answers are configured: give the driver's entry a config with answers, or with the path of a script")
}

// parse reads a script: JSON answers one after the other, as recorded responses
// are, or in a list, or in the answers of an object.
func parse(data []byte) (script, error) {
	var s script
	dec := json.NewDecoder(bytes.NewReader(data))
	for {
		var value json.RawMessage
		err := dec.Decode(&value)
		if err == io.EOF {
			return s, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the script is not JSON after %d answers: %w", len(s), err)
		}
		var many struct {
			Answers script `json:"answers"`
		}
		if json.Unmarshal(value, &many.Answers) != nil {
			if err := json.Unmarshal(value, &many); err != nil {
				return nil, fmt.Errorf("the script after %d answers: %w", len(s), err)
			}
		}
		if many.Answers != nil {
			s = append(s, many.Answers...)
			continue
		}
		var one entry
		if err := json.Unmarshal(value, &one); err != nil {
			return nil, fmt.Errorf("the script after %d answers: %w", len(s), err)
		}
		s = append(s, one)
	}
}

// answer picks the answer to a request: as many were given before as the
// conversation has messages of the assistant. The driver keeps nothing between
// calls, so the same conversation always gets the same answer.
func (s script) answer(req payload.Request) payload.Answer {
	n := 0
	since := req.Messages
	for i, m := range req.Messages {
		if m.Role == payload.Assistant {
			n++
			since = req.Messages[i+1:]
		}
	}
	if n >= len(s) {
		return payload.Errorf("replay: the script has %d answers, and this is call %d", len(s), n+1)
	}
	e := s[n]
	if e.StopReason == "" {
		return payload.Errorf("replay: answer %d of the script has no stop_reason", n+1)
	}
	for _, want := range e.Expect {
		if !contains(since, want) {
			return payload.Errorf("replay: answer %d of the script expects %q in what the model was told last", n+1, want)
		}
	}
	a := e.Answer
	if e.Fill {
		results := results(req.Messages)
		a.Content = append([]payload.Block(nil), a.Content...)
		for i, b := range a.Content {
			if b.Type == payload.Text {
				a.Content[i].Text = fill(b.Text, results)
			}
		}
	}
	return a
}

func contains(messages []payload.Message, want string) bool {
	for _, m := range messages {
		if strings.Contains(text(m), want) {
			return true
		}
	}
	return false
}

func text(m payload.Message) string {
	var texts []string
	for _, b := range m.Content {
		if b.Type == payload.Text {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// results are what tools answered, by call id, without the fence around it.
func results(messages []payload.Message) map[string]string {
	out := map[string]string{}
	for _, m := range messages {
		if m.Role == payload.ToolRole {
			out[m.ToolCallID] = unfenced(text(m))
		}
	}
	return out
}

func unfenced(s string) string {
	const open, end = "<untrusted-content ", "\n</untrusted-content>"
	if !strings.HasPrefix(s, open) {
		return s
	}
	_, inner, ok := strings.Cut(s, ">\n")
	if i := strings.LastIndex(inner, end); ok && i >= 0 {
		return inner[:i]
	}
	return s
}

// fill replaces the places of s that name a result; others stay.
func fill(s string, results map[string]string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(s, "{{")
		place, after, closed := strings.Cut(rest, "}}")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		id, pointer, _ := strings.Cut(strings.TrimSpace(place), " ")
		result, known := results[id]
		if !closed || !known {
			out.WriteString("{{")
			s = rest
			continue
		}
		out.WriteString(at(result, pointer))
		s = after
	}
}

// at is the value a JSON pointer (RFC 6901) leads to, or the whole result.
func at(result, pointer string) string {
	if pointer == "" {
		return result
	}
	var v any
	dec := json.NewDecoder(strings.NewReader(result))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return "(not JSON)"
	}
	for _, step := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch o := v.(type) {
		case map[string]any:
			v = o[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(o) {
				return "(nothing)"
			}
			v = o[i]
		default:
			return "(nothing)"
		}
	}
	switch v := v.(type) {
	case nil:
		return "(nothing)"
	case string:
		return v
	}
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // it was decoded above
	return strings.TrimSuffix(out.String(), "\n")
}
