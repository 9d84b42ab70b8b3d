package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// maxBody is what the real providers accept, about.
const maxBody = 32 << 20

// wire is one protocol: how requests are checked and answers are written.
type wire interface {
	path() string
	// key takes the credential out of the headers.
	key(http.Header) string
	// headers checks what else must be there.
	headers(http.Header)
	// check validates a body and reads it into the request.
	check(body map[string]any, into *Request)
	// answer builds the whole answer, and the events of a stream.
	answer(h *Handler, r Request, reply Reply) (whole map[string]any, events []event)
	// failure is the body of an error answer.
	failure(r *refusal) any
	// midError is the event that reports an error within a stream.
	midError() event
	// pause is what keeps a stream alive.
	pause() string
	// overload is the status of Overloaded.
	overload() int
}

func (h *Handler) wire() wire {
	if h.opt.Wire == OpenAI {
		return openAI{}
	}
	return anthropic{}
}

// refusal is a request that is not answered; the checks panic with it, so that
// they read as a list.
type refusal struct {
	status  int
	kind    string
	message string
	ordered bool // by the script, not by the checks
}

func refuse(format string, args ...any) {
	panic(&refusal{status: http.StatusBadRequest, kind: "invalid_request_error", message: fmt.Sprintf(format, args...)})
}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	wire := h.wire()
	r := Request{Header: req.Header.Clone(), Path: req.URL.Path}
	defer func() {
		switch v := recover().(type) {
		case nil:
		case *refusal:
			r.Status = v.status
			if !v.ordered {
				r.Refusal = v.message
			}
			h.record(r)
			writeJSON(w, v.status, wire.failure(v))
		default:
			panic(v)
		}
	}()
	h.admit(wire, w, req, &r)
	reply := h.next(r)
	h.fail(wire, w, reply)
	whole, events := wire.answer(h, r, reply)
	r.Status = http.StatusOK
	h.record(r)
	out := &sender{w: w, ctx: req.Context(), opt: h.opt, fault: reply.Fault}
	if r.Stream && reply.Fault != IgnoreStream {
		out.stream(wire, events)
		return
	}
	body, err := json.Marshal(whole)
	if err != nil {
		panic(err) // built here, of plain values
	}
	out.whole(body)
}

// admit reads a request and refuses what the protocol does not allow.
func (h *Handler) admit(wire wire, w http.ResponseWriter, req *http.Request, r *Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
	if err != nil {
		panic(&refusal{status: http.StatusRequestEntityTooLarge, kind: "request_too_large", message: "Request exceeds the maximum size"})
	}
	r.Body = body
	if req.URL.Path != wire.path() {
		panic(&refusal{status: http.StatusNotFound, kind: "not_found_error", message: "Not found: " + req.URL.Path})
	}
	if req.Method != http.MethodPost {
		panic(&refusal{status: http.StatusMethodNotAllowed, kind: "invalid_request_error", message: "Method not allowed: " + req.Method})
	}
	if !h.accepts(wire.key(req.Header)) {
		panic(&refusal{status: http.StatusUnauthorized, kind: "authentication_error", message: "the API key is missing or not valid"})
	}
	if media, _, err := mime.ParseMediaType(req.Header.Get("Content-Type")); err != nil || media != "application/json" {
		refuse("the content-type must be application/json")
	}
	wire.headers(req.Header)
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		refuse("The request body is not valid JSON: %v", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		refuse("The request body is not valid JSON: data after the end of it")
	}
	object, ok := value.(map[string]any)
	if !ok {
		refuse("The request body must be an object")
	}
	wire.check(object, r)
}

// fail answers with a status other than 200, where that is the fault.
func (h *Handler) fail(wire wire, w http.ResponseWriter, reply Reply) {
	order := func(status int, kind, message string) {
		panic(&refusal{status: status, kind: kind, message: message, ordered: true})
	}
	switch reply.Fault {
	case RateLimited:
		w.Header().Set("Retry-After", strconv.Itoa(reply.RetryAfter))
		order(http.StatusTooManyRequests, "rate_limit_error", "This request would exceed the rate limit")
	case OutOfQuota:
		order(http.StatusTooManyRequests, "rate_limit_error", "The spend limit is reached")
	case ServerError:
		order(http.StatusInternalServerError, "api_error", "Internal server error")
	case Overloaded:
		order(wire.overload(), "overloaded_error", "Overloaded")
	case Unauthorized:
		order(http.StatusUnauthorized, "authentication_error", "the API key is missing or not valid")
	case BadRequest:
		order(http.StatusBadRequest, "invalid_request_error", "the request is refused")
	case HTML:
		order(http.StatusBadGateway, "", "")
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	if status == http.StatusBadGateway {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "<html>\n<head><title>502 Bad Gateway</title></head>\n<body>Bad Gateway</body></html>\n")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that left is not our fault
}

// lastText joins the texts of a message's content.
func lastText(content any) string {
	switch c := content.(type) {
	case string:
		return c
	case []any:
		var texts []string
		for _, b := range c {
			block, _ := b.(map[string]any)
			if s, ok := block["text"].(string); ok {
				texts = append(texts, s)
			} else if inner, ok := block["content"]; ok {
				texts = append(texts, lastText(inner))
			}
		}
		return strings.Join(texts, "\n")
	}
	return ""
}
