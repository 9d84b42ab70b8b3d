//go:build !race

package drivers

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/murtest/provider"
	"github.com/mur-capsules/mur/lib/wasmhost"
)

// BenchmarkCall is one driver call with a history, the provider's own time
// included: a fresh instance, two translations of JSON and one exchange.
func BenchmarkCall(b *testing.B) {
	for _, wire := range []provider.Wire{provider.Anthropic, provider.OpenAI} {
		for _, n := range []int{2, 200, 2000} {
			b.Run(fmt.Sprintf("%s/%d", wire, n), func(b *testing.B) {
				server, err := provider.Start("", provider.Options{Wire: wire, Next: func(provider.Request) provider.Reply { return provider.Reply{Text: "yes"} }})
				if err != nil {
					b.Fatal(err)
				}
				defer server.Close()
				var messages []any
				for i := range n / 2 {
					id := fmt.Sprintf("call_%d", i)
					messages = append(messages,
						object{"role": "assistant", "content": []any{object{"type": "tool_call", "id": id, "name": "todo-scan", "input": object{"i": i}}}},
						result(id, strings.Repeat("some output of a tool ", 20), false))
				}
				data, err := json.Marshal(request(append([]any{said("user", "go")}, messages...)...))
				if err != nil {
					b.Fatal(err)
				}
				path := ""
				if wire == provider.OpenAI {
					path = "/v1"
				}
				text := string(data)
				in := &wasmhost.Instance{Env: []string{"MURMUR_INFERENCE_ENDPOINT=http://127.0.0.1:9" + path}, HTTP: &gateway{server.URL, "X-Unused", "x"}}
				g := guest(b, string(wire))
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					res, err := g.RunTool(b.Context(), in, wasmhost.ToolInput{Data: &text})
					if err != nil || !strings.Contains(*res.Data, `"yes"`) {
						b.Fatalf("%+v, %v", res, err)
					}
				}
			})
		}
	}
}
