package tracegen

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/mur-capsules/mur/lib/ids"
	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/workfs"
)

// Set writes sessions of about sessionBytes each into dir, which it makes,
// until they hold bytes together, and returns their ids. The same seed gives
// the same contents but for ids and times.
func Set(dir string, bytes, sessionBytes int64, seed uint64) ([]string, error) {
	var out []string
	for left := bytes; left > 0; {
		id, size, err := Session(dir, min(left, sessionBytes), seed+uint64(len(out)))
		if err != nil {
			return nil, err
		}
		out = append(out, id)
		left -= size
	}
	return out, nil
}

// Session writes one session of about size bytes beneath dir, which it makes,
// and returns its id and size.
func Session(dir string, size int64, seed uint64) (string, int64, error) {
	id := ids.New(ids.Session)
	if err := os.MkdirAll(filepath.Join(dir, id), 0o700); err != nil {
		return "", 0, err
	}
	records, err := workfs.OpenRoot(filepath.Join(dir, id), workfs.Options{Ephemeral: true})
	if err != nil {
		return "", 0, err
	}
	defer records.Close()
	log, err := trace.Create(records, trace.Options{SessionID: id})
	if err != nil {
		return "", 0, err
	}
	defer log.Close()
	g := &generator{rng: rand.New(rand.NewPCG(seed, 0)), owner: log.Owner("http"), path: filepath.Join(dir, id, trace.FileName), size: size}
	if err := g.session(); err != nil {
		return "", 0, err
	}
	fi, err := os.Stat(g.path)
	if err != nil {
		return "", 0, err
	}
	return id, fi.Size(), nil
}

type generator struct {
	rng   *rand.Rand
	owner *trace.Owner
	path  string
	size  int64
	err   error
}

func (g *generator) session() error {
	start := Example("session_start").(trace.SessionStart)
	g.err = g.owner.Start(start, []byte("You are a careful assistant."))
	for task := 0; g.err == nil && !g.full(); task++ {
		g.task()
	}
	status := "ok"
	if g.rng.IntN(10) == 0 {
		status = "failed"
	}
	g.put(trace.SessionEnd{ExitStatus: status})
	return g.err
}

func (g *generator) full() bool {
	fi, err := os.Stat(g.path)
	if err != nil {
		g.err = err
		return true
	}
	return fi.Size() >= g.size
}

func (g *generator) task() {
	id := ids.New(ids.Task)
	start := Example("task_start").(trace.TaskStart)
	start.TaskID, start.ContextID, start.MessagePartsBytes = id, ids.New(ids.Context), int64(g.rng.IntN(4000))
	g.put(start)
	var messages, shas []string
	say := func() {
		messages = append(messages, ids.New(ids.Message))
		shas = append(shas, trace.LineHash([]byte(messages[len(messages)-1])))
	}
	say()
	turns := 3 + g.rng.IntN(30)
	for turn := range int64(turns) {
		last := turn == int64(turns)-1
		inf := trace.Inference{Turn: turn, TaskID: &id, InputTokens: new(int64(800 + 900*int(turn) + g.rng.IntN(400))),
			OutputTokens: new(int64(40 + g.rng.IntN(600))), Decision: "tool_call", StopReason: new("tool_use"), ToolName: new("read_file"),
			MessageIDs: messages, MessageSHAs: shas, SystemSHA: trace.Genesis, ToolsSHA: trace.Genesis, ResponseSHA: trace.Genesis}
		inf.InputTokensActual, inf.OutputTokensActual = new(*inf.InputTokens+7), new(*inf.OutputTokens+3)
		inf.CachedTokens = new(*inf.InputTokens * 7 / 10)
		if last {
			inf.Decision, inf.StopReason, inf.ToolName = "end_turn", new("end_turn"), nil
		}
		g.put(inf)
		for range 1 + g.rng.IntN(3) {
			if !last {
				g.call(turn, id)
				say()
			}
		}
		say()
		if g.err != nil || turn%8 == 7 && g.full() {
			break
		}
	}
	g.put(trace.TaskEnd{TaskID: id, ExitStatus: "ok"})
}

var tools = []string{"read_file", "write_file", "search", "fetch", "bash"}

func (g *generator) call(turn int64, task string) {
	c := Example("tool_call").(trace.ToolCall)
	name := tools[g.rng.IntN(len(tools))]
	c.Turn, c.TaskID, c.ToolName, c.ToolCallID = turn, &task, name, new(fmt.Sprintf("call_%08x", g.rng.Uint32()))
	path := fmt.Sprintf("src/pkg%d/file%d.go", g.rng.IntN(40), g.rng.IntN(20))
	n := 20 + g.rng.IntN(400)
	switch name {
	case "write_file":
		n, c.StateEffect, c.ResourceID = 500+g.rng.IntN(6000), "mutate", path
	case "read_file":
		c.StateEffect, c.ResourceID = "read", path
	}
	text, err := json.Marshal(g.prose(n))
	if err != nil {
		g.err = err
	}
	c.Input = trace.Raw(fmt.Sprintf(`{"path":%q,"text":%s,"limit":%d}`, path, text, g.rng.IntN(1000)))
	c.InputBytes, c.OutputBytes = int64(len(c.Input)), int64(g.rng.IntN(20000))
	c.DurationMS = int64(g.rng.ExpFloat64() * 120)
	if g.rng.IntN(20) == 0 {
		c.Status = "error"
	}
	g.put(c)
	if name == "bash" {
		sh := Example("shell").(trace.Shell)
		sh.Turn, sh.TaskID, sh.Binary, sh.Command = turn, &task, "/usr/bin/bash", trace.Raw(fmt.Sprintf("%q", "go test ./"+path))
		sh.DurationMS, sh.ExitCode = c.DurationMS, int64(g.rng.IntN(5)/4)
		sh.StdoutBytes = c.OutputBytes
		g.put(sh)
	}
	if g.rng.IntN(60) == 0 {
		d := Example("call_denied").(trace.CallDenied)
		d.Turn, d.HookName, d.Target, d.Reason = turn, "guard", "/usr/bin/curl", "not in the list"
		g.put(d)
	}
}

const words = "func return err nil string the value of a request is read from its body and written to the store when context ends error if not found package import type struct map slice "

func (g *generator) prose(n int) string {
	var b strings.Builder
	for b.Len() < n {
		i := g.rng.IntN(len(words) - 40)
		b.WriteString(words[i : i+40])
		if g.rng.IntN(4) == 0 {
			b.WriteString("\n\t\"é\": ")
		}
	}
	return b.String()[:n-n%2]
}

func (g *generator) put(p trace.Payload) {
	if g.err == nil {
		_, g.err = g.owner.Write(p)
	}
}
