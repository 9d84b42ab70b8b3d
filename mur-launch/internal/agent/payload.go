package agent

import (
	"encoding/json"
	"strconv"
	"sync"

	"github.com/mur-capsules/mur/mur-launch/internal/dispatch"
	"github.com/mur-capsules/mur/mur-launch/internal/model/tokens"
)

// Frame is what the requests of a session have around their messages.
type Frame struct {
	Model     string
	MaxTokens int64 // output cap
	System    string
	Tools     json.RawMessage // the held inventory
	CacheKey  string          // constant over a task's turns (AGT-50)
}

// CacheKey is the prompt_cache_key of a context, which may be empty.
func CacheKey(name, version, context string) string {
	if context == "" {
		return name + ":" + version
	}
	return name + ":" + version + ":" + context
}

// requests builds the requests of a conversation that only grows. What comes
// before and behind the messages is made once, and each message is counted once:
// a turn costs what it adds, and copying.
type requests struct {
	count      func(string) int64
	head, tail string       // around the messages, without a continuation
	around     func() int64 // tokens of both
}

// Members stand in ascending byte order: continuation_id, max_tokens, messages,
// model, params, prompt_cache_key, system, tools (AGT-48, AGT-49).
//
// A text may be cut for counting behind a letter that something else follows.
// Here these are the places behind {"content, with which every message begins,
// and behind ],"model: see the test that compares with the count of the whole.
const (
	messageStart = `{"content`
	tailStart    = `],"model`
)

func newRequests(f Frame, counter tokens.Counter) *requests {
	r := &requests{
		count: counter.Count,
		head:  `"max_tokens":` + strconv.FormatInt(f.MaxTokens, 10) + `,"messages":[`,
		tail: tailStart + `":` + string(dispatch.Text(f.Model)) + `,"params":{},"prompt_cache_key":` + string(dispatch.Text(f.CacheKey)) +
			`,"system":` + string(dispatch.Text(f.System)) + `,"tools":` + string(f.Tools) + "}",
	}
	r.around = sync.OnceValue(func() int64 { return counter.Count(r.tail[len(tailStart):]) })
	return r
}

// payload is the request over messages, of which the first acknowledged ones are
// left out under a continuation.
func (r *requests) payload(messages []Message, continuation string, acknowledged int) string {
	size := len(r.head) + len(r.tail) + 64 + len(continuation)*6
	for _, m := range messages[acknowledged:] {
		size += len(m.wire) + 1
	}
	b := make([]byte, 0, size)
	b = append(b, '{')
	if continuation != "" {
		b = append(b, `"continuation_id":`...)
		b = append(b, dispatch.Text(continuation)...)
		b = append(b, ',')
	}
	b = append(b, r.head...)
	for i, m := range messages[acknowledged:] {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, m.wire...)
	}
	b = append(b, r.tail...)
	return string(b)
}

// occupancy is the token count of the whole request without a continuation
// (AGT-92 to AGT-94). It notes in each message what it counts.
func (r *requests) occupancy(messages []Message) int64 {
	if len(messages) == 0 {
		return r.count("{"+r.head+tailStart) + r.around()
	}
	n := r.count("{"+r.head+messageStart) + r.around()
	for i := range messages {
		m := &messages[i]
		rest := string(m.wire[len(messageStart):])
		if i == len(messages)-1 {
			return n + r.count(rest+tailStart)
		}
		if m.tokens == 0 {
			m.tokens = r.count(rest + "," + messageStart)
		}
		n += m.tokens
	}
	return n
}
