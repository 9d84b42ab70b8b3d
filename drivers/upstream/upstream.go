// Package upstream is what the HTTP drivers share: from the data of a driver
// call to the answer, by way of one request to the provider. A driver adds a
// Provider, which translates and does no I/O.
//
// It promises an answer for whatever the provider does: a refusal, an error, a
// stream that breaks off become an answer with stop reason "error" that says so.
// It never sees a credential: the runtime adds it on the way out.
package upstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mur-capsules/mur/drivers/payload"
	"github.com/mur-capsules/mur/drivers/sse"
	"github.com/mur-capsules/mur/lib/guest"
)

// Provider translates between the loop and one protocol.
type Provider interface {
	// Config is where the driver's configuration is read into: a struct that
	// embeds Config.
	Config() any
	// URL is where requests go, made of MURMUR_INFERENCE_ENDPOINT.
	URL(endpoint string) string
	Headers() [][2]string
	// Request builds the body.
	Request(req payload.Request, stream bool) any
	// Whole reads a whole answer.
	Whole(req payload.Request, body []byte) payload.Answer
	// Stream reads a streamed one and emits it as it comes.
	Stream(req payload.Request, events *sse.Reader, emit Emit) payload.Answer
}

// Emit takes streamed text for whoever follows the task.
type Emit struct {
	Text     func(string)
	Thinking func(string)
}

// Config is what inference.driver.config may hold for every driver.
type Config struct {
	Stream      *bool             `json:"stream"`       // true without it
	Retries     *int              `json:"retries"`      // 2 without it
	TimeoutSecs *float64          `json:"timeout_secs"` // of each wait; 300 without it
	Headers     map[string]string `json:"headers"`      // added to each request
	// Request is laid over the provider's request, member by member; null
	// removes one.
	Request map[string]json.RawMessage `json:"request"`
}

func (c *Config) common() *Config { return c }

// Runtime is what a driver needs of the world.
type Runtime struct {
	Getenv func(string) string
	Fetch  func(guest.Request) (*guest.Response, error)
	Sleep  func(time.Duration)
	Emit   Emit
}

// maxAnswer bounds a whole answer, maxError the body of an error.
const (
	maxAnswer = 32 << 20
	maxError  = 64 << 10
)

// Call answers one driver call.
func Call(in guest.Input, rt Runtime, p Provider) payload.Answer {
	req, err := payload.Parse(in.Text())
	if err != nil {
		return payload.Errorf("the driver was not called with a request: %v", err)
	}
	cfg, err := configure(rt.Getenv("MURMUR_INFERENCE_DRIVER_CONFIG"), p)
	if err != nil {
		return payload.Errorf("inference.driver.config: %v", err)
	}
	endpoint := rt.Getenv("MURMUR_INFERENCE_ENDPOINT")
	if endpoint == "" {
		return payload.Errorf("MURMUR_INFERENCE_ENDPOINT is not set: the driver's entry in the manifest needs a gateway")
	}
	stream := cfg.Stream == nil || *cfg.Stream
	body, err := overlay(p.Request(req, stream), cfg.Request, req.Params)
	if err != nil {
		return payload.Errorf("the request can not be written: %v", err)
	}
	out := guest.Request{
		Method: "POST", URL: p.URL(strings.TrimSuffix(endpoint, "/")), Body: body, Timeout: 300 * time.Second,
		Headers: append([][2]string{{"content-type", "application/json"}}, p.Headers()...),
	}
	if cfg.TimeoutSecs != nil {
		out.Timeout = time.Duration(*cfg.TimeoutSecs * float64(time.Second))
	}
	for name, value := range cfg.Headers {
		out.Headers = append(out.Headers, [2]string{strings.ToLower(name), value})
	}
	resp, failed := send(rt, out, cfg)
	if failed != nil {
		return *failed
	}
	defer resp.Body.Close()
	answer := read(resp, rt, req, p)
	answer.Finish(req)
	return answer
}

// read tells a stream from a whole answer by what the provider calls it: some
// send one where the other was asked for.
func read(resp *guest.Response, rt Runtime, req payload.Request, p Provider) payload.Answer {
	if strings.HasPrefix(resp.Header("content-type"), "text/event-stream") {
		return p.Stream(req, sse.NewReader(resp.Body), rt.Emit)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return payload.Errorf("the provider's answer broke off after %d bytes: %v", len(body), err)
	case len(body) > maxAnswer:
		return payload.Errorf("the provider's answer is larger than %d bytes", maxAnswer)
	case len(bytes.TrimSpace(body)) == 0:
		return payload.Errorf("the provider's answer is empty")
	}
	return p.Whole(req, body)
}

// configure reads the configuration; a member nobody knows is a mistake.
func configure(text string, p Provider) (*Config, error) {
	target := p.Config()
	cfg := target.(interface{ common() *Config }).common()
	if text == "" {
		return cfg, nil
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(target); err != nil {
		return nil, err
	}
	switch {
	case cfg.Retries != nil && *cfg.Retries < 0:
		return nil, errors.New("retries is negative")
	case cfg.TimeoutSecs != nil && *cfg.TimeoutSecs <= 0:
		return nil, errors.New("timeout_secs is not above 0")
	}
	return cfg, nil
}

// overlay lays members over a request; the latter layers win.
func overlay(request any, layers ...map[string]json.RawMessage) ([]byte, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	for _, layer := range layers {
		for name, value := range layer {
			if members == nil {
				if err := json.Unmarshal(body, &members); err != nil {
					return nil, err
				}
			}
			if string(value) == "null" {
				delete(members, name)
			} else {
				members[name] = value
			}
		}
	}
	if members == nil {
		return body, nil
	}
	return json.Marshal(members)
}

// BrokeOff is the answer to a stream that ended before it was complete.
func BrokeOff(err error) payload.Answer {
	if err == nil || err == io.EOF {
		return payload.Errorf("the provider's stream ended before the answer was complete")
	}
	return payload.Errorf("the provider's stream broke off: %v", err)
}

// NotJSON is the answer to what should have been JSON.
func NotJSON(err error) payload.Answer {
	return payload.Errorf("the provider's answer is malformed: %v", err)
}

// Main runs a driver in the runtime.
func Main(p Provider, getenv func(string) string) {
	guest.Tool(func(in guest.Input) guest.Result {
		// A chunk nobody takes does not fail the call.
		emit := Emit{
			Text:     func(s string) { _ = guest.EmitText(s) },
			Thinking: func(s string) { _ = guest.EmitThinking(s) },
		}
		answer := Call(in, Runtime{Getenv: getenv, Fetch: guest.Fetch, Sleep: time.Sleep, Emit: emit}, p)
		return guest.Passed(answer.JSON())
	})
}

// describe says in one line what an answer other than 200 was.
func describe(resp *guest.Response, body []byte) string {
	kind, message := errorOf(body)
	s := fmt.Sprintf("the provider answered %d", resp.Status)
	if kind != "" {
		s += " (" + kind + ")"
	}
	if message != "" {
		s += ": " + message
	}
	switch {
	case resp.Status >= 300 && resp.Status < 400:
		s += "; redirects are not followed, gateway.endpoint must name the final address"
	case resp.Status == 404 || resp.Status == 405:
		s += "; check gateway.endpoint and the model's name"
	}
	if wait, ok := retryAfter(resp); ok {
		s += fmt.Sprintf("; it may be tried again in %d s", int((wait+time.Second-1)/time.Second))
	}
	for _, name := range []string{"request-id", "x-request-id"} {
		if id := resp.Header(name); id != "" {
			s += " (request " + short(id, 100) + ")"
			break
		}
	}
	return s
}
