// This guest sends the requests its input asks for.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/mur-capsules/mur/lib/guest"
	"github.com/mur-capsules/mur/lib/guest/guesthttp"
)

type request struct {
	Do   string   `json:"do"`
	Text string   `json:"text"`
	URL  string   `json:"url"`
	N    int      `json:"n"`
	Args []string `json:"args"`
}

var actions = map[string]func(request) (string, error){
	"get": func(r request) (string, error) {
		resp, err := http.Get(r.URL)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		return fmt.Sprintf("%d %s %s", resp.StatusCode, resp.Header.Get("X-Test"), b), err
	},
	"post": func(r request) (string, error) {
		req, err := http.NewRequest("POST", r.URL, strings.NewReader(r.Text))
		if err != nil {
			return "", err
		}
		for i := 0; i+1 < len(r.Args); i += 2 {
			req.Header.Add(r.Args[i], r.Args[i+1])
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		return string(b), err
	},
	"timeout": func(r request) (string, error) {
		_, err := (guesthttp.Transport{Timeout: time.Duration(r.N) * time.Millisecond}).RoundTrip(newGet(r.URL))
		if errors.Is(err, guest.ErrTimeout) {
			return "timed out", nil
		}
		return "", fmt.Errorf("not a time-out: %w", err)
	},
	"open17": func(r request) (string, error) {
		for i := range 17 {
			if _, err := (guesthttp.Transport{}).RoundTrip(newGet(r.URL)); err != nil {
				return fmt.Sprintf("%d %v", i, err), nil
			}
		}
		return "17", nil
	},
}

func newGet(url string) *http.Request {
	req, _ := http.NewRequestWithContext(context.Background(), "GET", url, nil)
	return req
}

func main() {
	guesthttp.Use()
	guest.Tool(func(in guest.Input) guest.Result {
		var r request
		if err := in.Decode(&r); err != nil {
			return guest.Failed("%v", err)
		}
		out, err := actions[r.Do](r)
		if err != nil {
			return guest.Failed("%v", err)
		}
		return guest.Passed(out)
	})
}
