package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/shellproto"
	"github.com/mur-capsules/mur/mur-shell/internal/call"
	"github.com/mur-capsules/mur/mur-shell/internal/proto"
	"github.com/mur-capsules/mur/mur-shell/internal/room"
)

// maxNative is how much a native tool may print on either stream (SHL-127).
const maxNative = 8 << 20

// native runs a native tool (SHL section 10).
func (s *Server) native(ctx context.Context, q shellproto.Request) {
	limit, err := timeout(q.TimeoutSecs)
	if err == nil && q.Input == nil {
		err = errors.New("the input is missing")
	}
	if err != nil {
		s.answer(proto.Refuse(q.ID, shellproto.ReasonInput, err.Error()))
		return
	}
	if reason, err := s.admit(); err != nil {
		s.answer(proto.Refuse(q.ID, reason, err.Error()))
		return
	}
	i := slices.IndexFunc(s.doc.Sandbox.Natives, func(n confine.NativeGrant) bool { return n.Tool == q.Name })
	if i < 0 {
		s.answer(proto.Refuse(q.ID, shellproto.ReasonNotAllowed, fmt.Sprintf("the session has no native tool %s", diag.Quote(q.Name))))
		return
	}
	path := s.doc.Sandbox.Natives[i].Path
	stdin, err := json.Marshal(q.Input)
	if err != nil {
		s.answer(proto.Refuse(q.ID, shellproto.ReasonInput, err.Error()))
		return
	}
	j := &job{id: q.ID, started: s.env.Now(), call: call.Call{Entry: q.Name, Args: []string{}}, program: call.Program{Path: path, Binary: path}}
	if !s.register(j) {
		s.answer(proto.Refuse(q.ID, shellproto.ReasonProtocol, fmt.Sprintf("a request %s is in progress", diag.Quote(q.ID))))
		return
	}
	defer s.forget(j)
	out, errOut := &bounded{kill: j.kill}, &bounded{kill: j.kill}
	x, err := s.room.Start(ctx, room.Command{
		Program: path, Argv: []string{q.Name}, Env: s.environ(nil), Stdin: bytes.NewReader(append(stdin, '\n')),
		Stdout: out, Stderr: errOut, Timeout: limit, Linger: true,
	})
	if err != nil {
		s.refuseStart(q.ID, path, err)
		return
	}
	j.run(x)
	d := proto.Ended(j.call, path, x.Result(), s.terms.Policy, limit)
	d.ID = q.ID
	if out.full() || errOut.full() {
		d.ToolResult = proto.Failure(fmt.Sprintf("%s printed more than %d bytes and was ended", q.Name, maxNative))
	} else {
		d.ToolResult = nativeResult(q.Name, d.ExitCode, room.Text(out.b), room.Text(errOut.b))
	}
	s.answer(d)
}

// bounded keeps a native tool's output and ends the tool when it is too much.
type bounded struct {
	mu   sync.Mutex
	b    []byte
	over bool
	kill func()
}

func (w *bounded) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over && len(w.b)+len(p) > maxNative {
		w.over = true
		w.kill()
	}
	if !w.over {
		w.b = append(w.b, p...)
	}
	return len(p), nil
}

func (w *bounded) full() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.over
}

// nativeResult reads a native tool's answer (SHL-122 to SHL-124, SHL-128, SHL-153).
func nativeResult(name string, exitCode int, stdout, stderr string) shellproto.ToolResult {
	status := "passed"
	if exitCode != 0 {
		status = "error"
	}
	text := strings.TrimSpace(stdout)
	if text == "" {
		summary := fmt.Sprintf("%s exited with code %d", name, exitCode)
		r := shellproto.ToolResult{Status: status, Summary: &summary, Metadata: map[string]string{}}
		if stderr != "" {
			r.Data = &stderr
		}
		return r
	}
	var members map[string]json.RawMessage
	if !json.Valid([]byte(text)) {
		summary := fmt.Sprintf("%s exited with code %d", name, exitCode)
		return shellproto.ToolResult{Status: status, Summary: &summary, Data: &stdout, Metadata: map[string]string{}}
	}
	r := shellproto.ToolResult{Status: "error", Metadata: map[string]string{}}
	if json.Unmarshal([]byte(text), &members) != nil || members == nil {
		return r // JSON that is no object
	}
	if s := textOf(members["status"]); s != nil && (*s == "passed" || *s == "failed") {
		r.Status = *s
	}
	r.Summary, r.Data, r.DataPath = textOf(members["summary"]), textOf(members["data"]), textOf(members["data_path"])
	if raw := members["data"]; r.Data == nil && len(raw) > 0 && string(raw) != "null" {
		var b bytes.Buffer
		if json.Compact(&b, raw) == nil {
			s := b.String()
			r.Data = &s
		}
	}
	_ = json.Unmarshal(members["truncated"], &r.Truncated)
	r.Metadata = metadata(members["metadata"])
	return r
}

func textOf(raw json.RawMessage) *string {
	var s *string
	if json.Unmarshal(raw, &s) != nil {
		return nil
	}
	return s
}

// metadata reads an object of strings, or a list of pairs of them.
func metadata(raw json.RawMessage) map[string]string {
	out := map[string]string{}
	if json.Unmarshal(raw, &out) == nil && out != nil {
		return out
	}
	var pairs [][2]string
	out = map[string]string{}
	if json.Unmarshal(raw, &pairs) == nil {
		for _, p := range pairs {
			out[p[0]] = p[1]
		}
	}
	return out
}
