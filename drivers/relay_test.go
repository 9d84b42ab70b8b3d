//go:build !race

package drivers

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/component"
)

func TestRelayIsBuiltFromItsSource(t *testing.T) {
	h := sha256.New()
	for _, name := range []string{"relay.c", "world.wit"} {
		text, err := os.ReadFile("relay/" + name)
		if err != nil {
			t.Fatal(err)
		}
		h.Write(text)
	}
	want, err := os.ReadFile("relay/relay.wasm.sources")
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != strings.TrimSpace(string(want)) {
		t.Error("relay.wasm was built from other sources: run relay/rebuild.sh")
	}
}

// The driver contract is the same for a component: WIT-24, WIT-25, WIT-50,
// AGT-48, AGT-53, AGT-133
func TestRelay(t *testing.T) {
	engine, err := component.New()
	var le *wasmhost.LoadError
	if errors.As(err, &le) && le.Reason == wasmhost.NoEngine {
		t.Skip("no component engine:", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	wasm, err := os.ReadFile("relay/relay.wasm")
	if err != nil {
		t.Fatal(err)
	}
	g, err := engine.Compile(t.Context(), wasm, wasmhost.Driver)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()

	long := strings.Repeat("much text \u00fc ", 100_000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != "POST" || r.URL.Path != "/base/run" || r.Header.Get("Authorization") != "Bearer k" || r.Header.Get("Content-Type") != "application/json" || r.ContentLength <= 0 {
			t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		var req struct {
			Messages []struct{ Content []struct{ Text string } }
		}
		if err := json.Unmarshal(body, &req); err != nil {
			t.Errorf("%v in %s", err, body)
			return
		}
		switch text := req.Messages[0].Content[0].Text; text {
		case "cut":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
		case "refuse":
			w.WriteHeader(http.StatusTeapot)
		default:
			answer, _ := json.Marshal(map[string]any{"stop_reason": "end_turn", "content": []any{map[string]any{"type": "text", "text": text}}})
			for len(answer) > 0 {
				n := min(len(answer), 10_001)
				_, _ = w.Write(answer[:n])
				_ = http.NewResponseController(w).Flush()
				answer = answer[n:]
			}
		}
	}))
	defer server.Close()
	in := &wasmhost.Instance{
		Name: "relay", Env: []string{"A=b", "MURMUR_INFERENCE_ENDPOINT=http://127.0.0.1:9/base/run"},
		HTTP:   &gateway{server.URL, "Authorization", "Bearer k"},
		Limits: wasmhost.Limits{Deadline: 30 * time.Second},
	}
	call := func(text string) string {
		t.Helper()
		data, err := json.Marshal(request(said("user", text)))
		if err != nil {
			t.Fatal(err)
		}
		s := string(data)
		res, err := g.RunTool(t.Context(), in, wasmhost.ToolInput{Data: &s})
		if err != nil || res.Status != wasmhost.Passed || res.Data == nil {
			t.Fatalf("%+v, %v", res, err)
		}
		return *res.Data
	}
	for text, want := range map[string]string{
		"hello":  `{"content":[{"text":"hello","type":"text"}],"stop_reason":"end_turn"}`,
		long:     `{"content":[{"text":"` + long + `","type":"text"}],"stop_reason":"end_turn"}`,
		"refuse": `{"stop_reason":"error","content":[],"error":"the server answered 418"}`,
		"cut":    `{"stop_reason":"error","content":[],"error":"the server can not be reached, or its answer broke off"}`,
	} {
		if got := call(text); got != want {
			t.Errorf("%.100s: %.200s", text, got)
		}
	}
	in.HTTP = nil
	if got := call("hello"); !strings.Contains(got, "can not be reached") {
		t.Error(got)
	}
	in.Env = nil
	if got := call("hello"); !strings.Contains(got, "can not be reached") {
		t.Error(got)
	}
	if res, err := g.RunTool(t.Context(), in, wasmhost.ToolInput{}); err != nil || !strings.Contains(*res.Data, "without a request") {
		t.Errorf("%+v, %v", res, err)
	}
}
