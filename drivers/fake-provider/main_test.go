package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	script := filepath.Join(t.TempDir(), "s.json")
	if err := os.WriteFile(script, []byte(`[{"text":"from the script"}]`), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	var log strings.Builder
	done := make(chan error)
	go func() {
		done <- run(ctx, []string{"-wire", "openai", "-key", "k", "-script", script}, w, &log)
		w.Close()
	}()
	base, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"401", "from the script", "You said: hi"} {
		req, err := http.NewRequest("POST", strings.TrimSpace(base)+"/chat/completions", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		if want != "401" {
			req.Header.Set("Authorization", "Bearer k")
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !strings.Contains(resp.Status+string(body), want) {
			t.Errorf("%s %s, %v, want %s", resp.Status, body, err, want)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := log.String(); strings.Count(got, "/v1/chat/completions 200") != 2 {
		t.Errorf("logged %s", got)
	}
	bad := filepath.Join(t.TempDir(), "bad.json")
	for _, text := range []string{`[{"txt":"x"}]`, `[{"fault":"odd"}]`, `{`} {
		if err := os.WriteFile(bad, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := run(t.Context(), []string{"-script", bad}, io.Discard, io.Discard); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
	for _, args := range [][]string{{"-wire", "other"}, {"more"}, {"-script", "none"}, {"-addr", "256.0.0.1:1"}} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("%q did not fail", args)
		}
	}
}
