// Package provider is a model provider that needs no key, no money and no
// network: HTTP servers that speak the Anthropic Messages API and the OpenAI
// chat completions API as strictly as the real ones, and answer by a script.
//
// A request the real provider would refuse is refused here, with a message in
// its style: what is missing, unknown, out of order or malformed. Answers come
// whole or as a stream that is cut in awkward places, and every fault a client
// has to survive can be ordered. It never reaches out, and keeps every request
// it saw for the test to look at.
package provider

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Wire is the protocol a server speaks.
type Wire string

// The protocols.
const (
	Anthropic Wire = "anthropic" // POST /v1/messages
	OpenAI    Wire = "openai"    // POST /v1/chat/completions
)

// Fault is what goes wrong with one answer.
type Fault string

// The faults. Those of a stream do to a whole answer what comes nearest.
const (
	None         Fault = ""
	RateLimited  Fault = "rate_limited"  // 429 with retry-after
	OutOfQuota   Fault = "out_of_quota"  // 429 that waiting does not cure
	ServerError  Fault = "server_error"  // 500
	Overloaded   Fault = "overloaded"    // 529, 503 for OpenAI
	Unauthorized Fault = "unauthorized"  // 401 whatever the key
	BadRequest   Fault = "bad_request"   // 400 whatever the request
	HTML         Fault = "html"          // 502 of a proxy in between
	Hang         Fault = "hang"          // no response head
	Stall        Fault = "stall"         // half of the body, then silence
	Slow         Fault = "slow"          // a body that drips
	Cut          Fault = "cut"           // half of the body, then the connection is gone
	Short        Fault = "short"         // half of the body, then a proper end
	Malformed    Fault = "malformed"     // 200 with broken JSON
	Empty        Fault = "empty"         // 200 with nothing
	MidError     Fault = "mid_error"     // an error event within the stream
	IgnoreStream Fault = "ignore_stream" // a whole answer though a stream was asked for
)

// Faults lists every fault.
var Faults = []Fault{RateLimited, OutOfQuota, ServerError, Overloaded, Unauthorized, BadRequest, HTML,
	Hang, Stall, Slow, Cut, Short, Malformed, Empty, MidError, IgnoreStream}

// Call is one call of a tool the model makes. An empty ID gets a fresh one.
// Arguments, when set, is sent instead of Input, whatever it is.
type Call struct {
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input,omitempty"`
	Arguments string          `json:"arguments,omitempty"`
}

// Usage is what an answer reports; the input counts exclude each other.
type Usage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	Cached     int64 `json:"cached,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
}

// Reply is one scripted answer, the same for both protocols. Stop is the
// protocol's own reason; without it it follows from the content.
type Reply struct {
	Thinking   string `json:"thinking,omitempty"`
	Text       string `json:"text,omitempty"`
	Calls      []Call `json:"calls,omitempty"`
	Stop       string `json:"stop,omitempty"`
	Usage      *Usage `json:"usage,omitempty"`
	Fault      Fault  `json:"fault,omitempty"`
	RetryAfter int    `json:"retry_after,omitempty"` // seconds, with RateLimited
}

// Options configure a server.
type Options struct {
	Wire Wire
	// Key is the one that is accepted; empty accepts requests without one too.
	Key string
	// Script holds the answers in order. When it is used up, and for a server
	// without one, Next is asked; without Next the server echoes the last text.
	Script []Reply
	Next   func(Request) Reply
	// Pieces is how many bytes a stream writes at once, at most; 0 means whole
	// events. Pieces end within lines and within characters.
	Pieces int
	// CRLF ends the lines of a stream with carriage return and newline.
	CRLF bool
	// Drip is the pause between the pieces of a Slow answer; 0 means 20 ms.
	Drip time.Duration
	// Log is told of each request in one line.
	Log func(string)
}

// Request is one request a server saw.
type Request struct {
	Header  http.Header
	Path    string
	Body    []byte
	Status  int    // of the answer
	Refusal string // why it was refused, when it was not for a scripted fault
	// Model, Stream, Text and Tools are read from a valid body: the text is
	// that of the last message.
	Model  string
	Stream bool
	Text   string
	Tools  []string

	usage bool // the stream is to report usage
}

// Handler answers requests as a provider does.
type Handler struct {
	opt Options

	mu       sync.Mutex
	script   []Reply
	requests []Request
	key      string
	ids      int
}

// New makes a Handler.
func New(opt Options) *Handler {
	return &Handler{opt: opt, script: slices.Clone(opt.Script), key: opt.Key}
}

// Add appends answers to the script.
func (h *Handler) Add(replies ...Reply) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.script = append(h.script, replies...)
}

// SetKey changes the key that is accepted, as a rotation does.
func (h *Handler) SetKey(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.key = key
}

// Requests returns what was seen so far, oldest first.
func (h *Handler) Requests() []Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.requests)
}

// Left is how many scripted answers are still to come.
func (h *Handler) Left() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.script)
}

// next takes the answer to a valid request.
func (h *Handler) next(r Request) Reply {
	h.mu.Lock()
	if len(h.script) > 0 {
		reply := h.script[0]
		h.script = h.script[1:]
		h.mu.Unlock()
		return reply
	}
	h.mu.Unlock()
	if h.opt.Next != nil {
		return h.opt.Next(r)
	}
	return Reply{Text: "You said: " + r.Text}
}

// id mints an identifier that is the same in every run.
func (h *Handler) id(prefix string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ids++
	return fmt.Sprintf("%s%06d", prefix, h.ids)
}

func (h *Handler) accepts(key string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.key == "" || key == h.key
}

func (h *Handler) record(r Request) {
	h.mu.Lock()
	h.requests = append(h.requests, r)
	h.mu.Unlock()
	if h.opt.Log != nil {
		line := fmt.Sprintf("%s %d", r.Path, r.Status)
		if r.Refusal != "" {
			line += " " + r.Refusal
		}
		h.opt.Log(line)
	}
}
