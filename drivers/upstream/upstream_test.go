package upstream

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/mur-capsules/mur/drivers/payload"
	"github.com/mur-capsules/mur/drivers/sse"
	"github.com/mur-capsules/mur/lib/guest"
)

// echo is a provider whose whole answer is the text of the answer.
type echo struct{ cfg Config }

func (e *echo) Config() any                { return &e.cfg }
func (e *echo) URL(endpoint string) string { return endpoint + "/echo" }
func (e *echo) Headers() [][2]string       { return [][2]string{{"x-own", "1"}} }
func (e *echo) Request(req payload.Request, stream bool) any {
	return map[string]any{"model": req.Model, "stream": stream}
}
func (e *echo) Whole(_ payload.Request, body []byte) payload.Answer {
	return payload.Answer{StopReason: payload.StopEndTurn, Content: []payload.Block{payload.TextBlock(string(body))}}
}
func (e *echo) Stream(_ payload.Request, events *sse.Reader, _ Emit) payload.Answer {
	event, err := events.Next()
	if err != nil {
		return BrokeOff(err)
	}
	return payload.Answer{StopReason: "streamed " + event.Data}
}

// world is a Runtime that records.
type world struct {
	env    map[string]string
	answer []guest.Response
	errs   []error
	sent   []guest.Request
	slept  []time.Duration
}

func (w *world) runtime() Runtime {
	return Runtime{
		Getenv: func(name string) string { return w.env[name] },
		Sleep:  func(d time.Duration) { w.slept = append(w.slept, d) },
		Fetch: func(r guest.Request) (*guest.Response, error) {
			n := len(w.sent)
			w.sent = append(w.sent, r)
			if n < len(w.errs) && w.errs[n] != nil {
				return nil, w.errs[n]
			}
			a := w.answer[min(n, len(w.answer)-1)]
			return &a, nil
		},
	}
}

func response(status int, body string, headers ...string) guest.Response {
	r := guest.Response{Status: status, Body: io.NopCloser(strings.NewReader(body))}
	for i := 0; i < len(headers); i += 2 {
		r.Headers = append(r.Headers, [2]string{headers[i], headers[i+1]})
	}
	return r
}

func TestCall(t *testing.T) {
	data := `{"model":"m","max_tokens":1,"messages":[],"params":{"x":7}}`
	w := &world{
		env: map[string]string{
			"MURMUR_INFERENCE_ENDPOINT":      "http://127.0.0.1:9/base/",
			"MURMUR_INFERENCE_DRIVER_CONFIG": `{"stream":false,"timeout_secs":1.5,"headers":{"X-Beta":"b"},"request":{"model":"other","x":1,"stream":null}}`,
		},
		answer: []guest.Response{response(200, "hello")},
	}
	got := Call(guest.Input{Data: &data}, w.runtime(), &echo{}).JSON()
	if want := `{"stop_reason":"end_turn","content":[{"type":"text","text":"hello"}]}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	sent := w.sent[0]
	if sent.Method != "POST" || sent.URL != "http://127.0.0.1:9/base/echo" || string(sent.Body) != `{"model":"other","x":7}` || sent.Timeout != 1500*time.Millisecond {
		t.Errorf("sent %+v %s", sent, sent.Body)
	}
	if got, want := fmt.Sprint(sent.Headers), "[[content-type application/json] [x-own 1] [x-beta b]]"; got != want {
		t.Errorf("headers %s, want %s", got, want)
	}
	w.env["MURMUR_INFERENCE_DRIVER_CONFIG"], w.sent = "", nil
	w.answer = []guest.Response{response(200, "data: a\n\n", "content-type", "text/event-stream; charset=utf-8")}
	if got := Call(guest.Input{Data: &data}, w.runtime(), &echo{}); got.StopReason != "streamed a" || string(w.sent[0].Body) != `{"model":"m","stream":true,"x":7}` {
		t.Errorf("%+v for %s", got, w.sent[0].Body)
	}
	for name, change := range map[string]func(){
		"was not called with a request":           func() { data = "[]" },
		"MURMUR_INFERENCE_ENDPOINT is not set":    func() { data = "{}"; w.env = nil },
		"inference.driver.config: json: unknown ": func() { w.env = map[string]string{"MURMUR_INFERENCE_DRIVER_CONFIG": `{"x":1}`} },
	} {
		old := w.env
		change()
		if got := Call(guest.Input{Data: &data}, w.runtime(), &echo{}); !strings.Contains(got.Error, name) {
			t.Errorf("%s: %+v", name, got)
		}
		data, w.env = "{}", old
	}
}

func TestSend(t *testing.T) {
	transport, denied, late := fmt.Errorf("x: %w", guest.ErrTransport), guest.ErrDenied, guest.ErrTimeout
	two := 2
	for _, tt := range []struct {
		name   string
		errs   []error
		answer []guest.Response
		retry  *int
		sent   int
		slept  string
		want   string // of the error; empty: it succeeded
	}{
		{"at once", nil, []guest.Response{response(200, "")}, nil, 1, "[]", ""},
		{"the connection fails once", []error{transport}, []guest.Response{response(200, "")}, nil, 2, "[1s]", ""},
		{"it goes on failing", []error{transport, transport, transport}, []guest.Response{response(200, "")}, nil, 3, "[1s 2s]", "can not be reached: x: transport failure"},
		{"refused by the runtime", []error{denied}, []guest.Response{response(200, "")}, nil, 1, "[]", "can not be reached: denied by policy"},
		{"no answer in time", []error{late}, []guest.Response{response(200, "")}, nil, 1, "[]", "timed out"},
		{"told when", nil, []guest.Response{response(429, "", "retry-after", "3"), response(529, "", "retry-after-ms", "250"), response(200, "")}, &two, 3, "[3s 250ms]", ""},
		{"not told when", nil, []guest.Response{response(429, `{"error":{"type":"insufficient_quota","message":"pay"}}`)}, nil, 1, "[]", "answered 429 (insufficient_quota): pay"},
		{"too long a wait", nil, []guest.Response{response(503, "", "retry-after", "61")}, nil, 1, "[]", "answered 503; it may be tried again in 61 s"},
		{"no retries", nil, []guest.Response{response(500, "oh\n no")}, new(int), 1, "[]", "answered 500: oh no"},
		{"moved", nil, []guest.Response{response(301, "")}, nil, 1, "[]", "answered 301; redirects are not followed, gateway.endpoint must name the final address"},
		{"not there", nil, []guest.Response{response(404, `{"detail":"Not Found"}`, "x-request-id", "r1")}, nil, 1, "[]", "answered 404: Not Found; check gateway.endpoint and the model's name (request r1)"},
		{"no content", nil, []guest.Response{response(204, "")}, nil, 1, "[]", "answered 204"},
	} {
		w := &world{answer: tt.answer, errs: tt.errs}
		_, failed := send(w.runtime(), guest.Request{}, &Config{Retries: tt.retry})
		if len(w.sent) != tt.sent || fmt.Sprint(w.slept) != tt.slept || (failed == nil) != (tt.want == "") || failed != nil && !strings.HasSuffix(failed.Error, tt.want) {
			t.Errorf("%s: sent %d, slept %v, %+v", tt.name, len(w.sent), w.slept, failed)
		}
	}
}

func TestErrorOf(t *testing.T) {
	for body, want := range map[string]string{
		`{"type":"error","error":{"type":"a","message":"b"}}`: "a|b",
		`{"error":{"message":"b","code":"c"}}`:                "c|b",
		`{"error":{"message":"b","code":7}}`:                  "|b",
		`{"error":"b"}`:                                       "|b",
		`{"message":"b"}`:                                     "|b",
		`{"detail":[{"loc":1}]}`:                              `|[{"loc":1}]`,
		`{}`:                                                  "|",
		``:                                                    "|",
		"<html>\n  x":                                         "|<html> x",
		strings.Repeat("\u00fc", 200):                         "|" + strings.Repeat("\u00fc", 100) + "...",
		"x" + strings.Repeat("\u00fc", 200):                   "|x" + strings.Repeat("\u00fc", 99) + "...",
		"\xff":                                                "|\uFFFD",
	} {
		kind, message := errorOf([]byte(body))
		if got := kind + "|" + message; got != want {
			t.Errorf("%q: %q, want %q", body, got, want)
		}
	}
}

func TestRead(t *testing.T) {
	for body, want := range map[string]string{
		" \n":                            "is empty",
		strings.Repeat("x", maxAnswer+1): "is larger than",
	} {
		r := response(200, body)
		if got := read(&r, Runtime{}, payload.Request{}, &echo{}); !strings.Contains(got.Error, want) {
			t.Errorf("%.10q: %.100s", body, got.JSON())
		}
	}
}
