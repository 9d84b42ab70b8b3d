package upstream

import (
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mur-capsules/mur/drivers/payload"
	"github.com/mur-capsules/mur/lib/guest"
)

// maxWait is the longest a driver waits before it tries again; where the
// provider asks for more, the call fails and says how long.
const maxWait = 60 * time.Second

// send sends a request until it is answered with 200, as often as cfg allows.
func send(rt Runtime, out guest.Request, cfg *Config) (*guest.Response, *payload.Answer) {
	retries := 2
	if cfg.Retries != nil {
		retries = *cfg.Retries
	}
	for attempt := 0; ; attempt++ {
		resp, err := rt.Fetch(out)
		if err == nil && resp.Status == 200 {
			return resp, nil
		}
		var answer payload.Answer
		var wait time.Duration
		var again bool
		if err != nil {
			answer = payload.Errorf("the provider can not be reached: %v", err)
			wait, again = backoff(attempt), errors.Is(err, guest.ErrTransport)
		} else {
			body, _ := io.ReadAll(io.LimitReader(resp.Body, maxError)) // what there is of it
			resp.Body.Close()
			answer = payload.Errorf("%s", describe(resp, body))
			wait, again = retry(resp, attempt)
		}
		if !again || attempt >= retries || wait > maxWait {
			return nil, &answer
		}
		rt.Sleep(wait)
	}
}

// retry decides whether an answer other than 200 is worth another try, and
// after how long. A 429 without a time is a spent quota, which waiting does not
// cure.
func retry(resp *guest.Response, attempt int) (time.Duration, bool) {
	wait, told := retryAfter(resp)
	if !told {
		wait = backoff(attempt)
	}
	switch resp.Status {
	case 429:
		return wait, told
	case 408, 500, 502, 503, 504, 529:
		return wait, true
	}
	return 0, false
}

// backoff is 1, 2, 4, ... seconds, at most 8.
func backoff(attempt int) time.Duration { return time.Second << min(attempt, 3) }

// retryAfter reads how long the provider asks to wait: milliseconds where it
// says them, else seconds. A date (RFC 9110 section 10.2.3) is read as none.
func retryAfter(resp *guest.Response) (time.Duration, bool) {
	for _, unit := range []struct {
		header string
		time.Duration
	}{{"retry-after-ms", time.Millisecond}, {"retry-after", time.Second}} {
		n, err := strconv.ParseFloat(resp.Header(unit.header), 64)
		if err == nil && n >= 0 && n < 1e9 {
			return time.Duration(n * float64(unit.Duration)), true
		}
	}
	return 0, false
}

// errorOf finds kind and message in the body of an error, in the forms servers
// use: {"error":{"type","message"}}, {"error":"text"}, {"message":"text"},
// {"detail":"text"}, or text that is no JSON.
func errorOf(body []byte) (kind, message string) {
	var o struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &o) != nil {
		return "", short(strings.Join(strings.Fields(string(body)), " "), 200)
	}
	var e struct {
		Type    string `json:"type"`
		Code    any    `json:"code"`
		Message string `json:"message"`
	}
	switch {
	case json.Unmarshal(o.Error, &e) == nil && e.Message != "":
		if kind = e.Type; kind == "" {
			kind, _ = e.Code.(string)
		}
		message = e.Message
	case json.Unmarshal(o.Error, &message) == nil && message != "":
	case o.Message != "":
		message = o.Message
	case len(o.Detail) > 0:
		if json.Unmarshal(o.Detail, &message) != nil {
			message = string(o.Detail)
		}
	}
	return short(kind, 100), short(message, 1000)
}

// ErrorEvent is the answer to an error within a stream or an answer of 200.
func ErrorEvent(data []byte) payload.Answer {
	kind, message := errorOf(data)
	if message == "" {
		message = short(string(data), 200)
	}
	if kind != "" {
		message = kind + ": " + message
	}
	return payload.Errorf("the provider failed within its answer: %s", message)
}

// short cuts text to n bytes, at the border of a character.
func short(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	s = s[:n]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s + "..."
}
