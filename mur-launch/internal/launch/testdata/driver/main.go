// Command driver is the model of the launch tests: it hands its request to the
// gateway as it is and answers with what comes back. How it goes about it is in
// its artifact's config.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/mur-capsules/mur/lib/guest"
	"github.com/mur-capsules/mur/lib/guest/guesthttp"
)

type config struct {
	Key    string // what it puts in the header of the key itself
	Peek   bool   // write down all it can see of its surroundings
	Beyond string // another address it tries to reach first
}

func main() {
	guest.Tool(run)
}

func run(in guest.Input) guest.Result {
	var c config
	if text := os.Getenv("MURMUR_ARTIFACT_CONFIG"); text != "" {
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			return guest.Failed("config: %v", err)
		}
	}
	if c.Peek {
		_ = os.WriteFile("/seen.txt", []byte(strings.Join(os.Environ(), "\n")), 0o600)
		fmt.Fprintln(os.Stderr, "the driver logs", strings.Join(os.Environ(), " "))
	}
	client := &http.Client{Transport: guesthttp.Transport{}}
	if c.Beyond != "" {
		_, err := client.Get(c.Beyond)
		fmt.Fprintln(os.Stderr, "beyond:", err)
	}
	req, err := http.NewRequest("POST", os.Getenv("MURMUR_INFERENCE_ENDPOINT")+"/answer?x=1", strings.NewReader(in.Text()))
	if err != nil {
		return guest.Failed("%v", err)
	}
	if c.Key != "" {
		req.Header.Set("X-Test-Key", c.Key)
	}
	resp, err := client.Do(req)
	if err != nil {
		return guest.Failed("no answer: %v", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return guest.Failed("the answer broke off: %v", err)
	}
	if resp.StatusCode != http.StatusOK {
		return guest.Failed("status %d: %s %s", resp.StatusCode, body, resp.Header.Get("X-Echo"))
	}
	if text := resp.Header.Get("X-Stream"); text != "" {
		for _, part := range strings.SplitAfter(text, " ") {
			_ = guest.EmitText(part)
		}
	}
	result := guest.Passed(string(body))
	if id := resp.Header.Get("X-Continuation"); id != "" {
		result.Metadata = append(result.Metadata, [2]string{"continuation_id", id})
	}
	return result
}
