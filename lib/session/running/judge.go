package running

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// State is what Judge found (SES-215).
type State string

// The states of a recorded session.
const (
	Live        State = "live"
	Unreachable State = "unreachable" // the process is there and its door does not answer
	Unverified  State = "unverified"  // a process has the pid and can not be told apart; never signal it
	Gone        State = "gone"
)

// Host is how Judge looks at the machine. The zero value of no field is usable:
// take Here and replace what a test needs.
type Host struct {
	// Exists tells whether a process has the pid.
	Exists func(pid int) bool
	// Start returns the process's start token, "" when it can not be read.
	Start func(pid int) string
	// Card returns the session id on the agent card of the door at url, "" when
	// the card shows none.
	Card func(ctx context.Context, url string) (string, error)
}

// Here looks at this machine.
func Here() Host { return Host{Exists: exists, Start: ProcessStart, Card: card} }

// Judge decides whether the session of a record lives (SES-214): its pid exists,
// the process is the one recorded, and its door says the session's id.
func Judge(ctx context.Context, rec Record, host Host) State {
	if !host.Exists(rec.PID) {
		return Gone
	}
	found := host.Start(rec.PID)
	switch {
	case found == "" && !host.Exists(rec.PID):
		return Gone
	case found == "" || rec.ProcessStart == "":
		return Unverified
	case found != rec.ProcessStart:
		return Gone
	case rec.URL == nil:
		return Live
	}
	id, err := host.Card(ctx, *rec.URL)
	if err == nil && (id == rec.SessionID || id == "" && rec.DoorToken != "") {
		return Live
	}
	return Unreachable
}

func exists(pid int) bool {
	err := unix.Kill(pid, 0)
	return err == nil || errors.Is(err, unix.EPERM)
}

// ProcessStart returns an opaque token that tells a process from a later one
// with its pid: field 22 of /proc/<pid>/stat. It is "" when it can not be read.
func ProcessStart(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// Field 2 is the program's name in parentheses and may hold anything.
	_, rest, ok := cutLast(string(data), ')')
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 {
		return ""
	}
	return fields[19]
}

func cutLast(s string, sep byte) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// card asks a door for its agent card: 2 s to connect, 5 s to answer. Proxies of
// the environment do not stand between this machine's own sessions.
func card(ctx context.Context, url string) (string, error) {
	if !strings.Contains(url, "://") {
		url = "http://" + url
	}
	ctx, cancel := context.WithTimeout(ctx, 7*time.Second)
	defer cancel()
	client := &http.Client{
		Transport: &http.Transport{
			DialContext:           (&net.Dialer{Timeout: 2 * time.Second}).DialContext,
			ResponseHeaderTimeout: 5 * time.Second,
			DisableKeepAlives:     true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(url, "/")+"/.well-known/agent-card.json", nil)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the door answered %s", resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return "", err
	}
	return sessionOf(body)
}

// capsuleExtension is the part of an agent card that names the session (DOR-509).
const capsuleExtension = "urn:murmur:a2a-ext:capsule:1"

// sessionOf returns the session id on an agent card, "" where the card shows
// none: a door with authentication tells it only to those it knows.
func sessionOf(body []byte) (string, error) {
	var card struct {
		Name         string `json:"name"`
		Capabilities struct {
			Extensions []struct {
				URI    string `json:"uri"`
				Params struct {
					SessionID string `json:"sessionId"`
				} `json:"params"`
			} `json:"extensions"`
		} `json:"capabilities"`
	}
	if err := json.Unmarshal(body, &card); err != nil {
		return "", err
	}
	if card.Name == "" {
		return "", errors.New("what answers is no agent card")
	}
	for _, e := range card.Capabilities.Extensions {
		if e.URI == capsuleExtension {
			return e.Params.SessionID, nil
		}
	}
	return "", nil
}
