// Command openai is a driver: it answers the agent loop by way of the chat
// completions API, which OpenAI, many other providers and local servers
// (llama.cpp, Ollama, vLLM, LM Studio) speak. request.go and answer.go are the
// translation, pure and tested on the host; package upstream does the rest.
package main

import (
	"os"
	"strings"

	"github.com/mur-capsules/mur/drivers/upstream"
)

func main() { upstream.Main(&driver{}, os.Getenv) }

// config is what inference.driver.config may hold.
type config struct {
	upstream.Config
	// MaxTokensField names the member for the output cap. Without it: what
	// OpenAI's own models ask for, else max_tokens, which local servers know.
	MaxTokensField string `json:"max_tokens_field"`
	// PromptCacheKey sends the key of that name; without it to OpenAI's own
	// models only, since other servers may refuse it.
	PromptCacheKey *bool `json:"prompt_cache_key"`
}

type driver struct{ cfg config }

func (d *driver) Config() any { return &d.cfg }

// URL adds the path of the API to gateway.endpoint, which is the base URL as
// other clients of the API have it; one without a path gets /v1.
func (d *driver) URL(endpoint string) string {
	if _, rest, _ := strings.Cut(endpoint, "://"); !strings.Contains(rest, "/") {
		endpoint += "/v1"
	}
	return endpoint + "/chat/completions"
}

func (d *driver) Headers() [][2]string { return nil }

// ofOpenAI tells OpenAI's own models by their names. gpt-oss is served by
// everybody else.
func ofOpenAI(model string) bool {
	if strings.HasPrefix(model, "gpt-") || strings.HasPrefix(model, "chatgpt-") {
		return !strings.HasPrefix(model, "gpt-oss")
	}
	return len(model) > 1 && model[0] == 'o' && model[1] >= '1' && model[1] <= '9' && (len(model) == 2 || model[2] == '-')
}
