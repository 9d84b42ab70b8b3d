// Package tracegen makes traces for tests and benchmarks, through the writer
// sessions use: from a short script that says what happened, or of a wanted
// size with contents like those of real sessions. Nothing else uses it.
package tracegen

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/mur-capsules/mur/lib/ids"
	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/workfs"
)

// Epoch is the time a scripted trace begins, in Unix milliseconds.
const Epoch = 1764500000000

// Grants is a scope report with what a session_start takes from one.
const Grants = `{"declared_containment":"scoped","achieved_containment":"sealed","workdir_exec":false,"userns_grant":"profile_confining"}`

// Script writes the trace that text tells into the existing records directory
// dir and returns its session id. Each line of text is an event type and,
// optionally, a JSON object with the fields that differ from the defaults of
// Example; "at <ms>" moves the clock to that many milliseconds after Epoch;
// "session <id>", before the first event, names the session; "capture <mode>"
// and "transport <http|process>" likewise; "prompt <text>" is the system
// prompt; "body <text>" queues one body: an agent turn takes all queued as its
// system text, tools, messages and response, in this order. Empty lines and
// those that begin with # count for nothing.
func Script(dir, text string) (session string, err error) {
	s := script{session: ids.New(ids.Session), transport: "http", capture: trace.Meta}
	records, err := workfs.OpenRoot(dir, workfs.Options{Ephemeral: true})
	if err != nil {
		return "", err
	}
	defer records.Close()
	s.records = records
	defer func() {
		if s.log != nil {
			err = errors.Join(err, s.log.Close())
		}
	}()
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		if err := s.line(line); err != nil {
			return "", fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	return s.session, nil
}

type script struct {
	records            *workfs.Root
	session, transport string
	capture            trace.Capture
	clock              int64
	prompt             []byte
	bodies             [][]byte
	log                *trace.Log
	owner              *trace.Owner
	plan               string // the plan node
}

func (s *script) line(line string) error {
	word, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	switch word {
	case "at":
		ms, err := strconv.ParseInt(rest, 10, 64)
		s.clock = ms
		return err
	case "session":
		s.session = rest
	case "capture":
		s.capture = trace.Capture(rest)
	case "transport":
		s.transport = rest
	case "prompt":
		s.prompt = []byte(rest)
	case "body":
		s.bodies = append(s.bodies, []byte(rest))
	default:
		return s.event(trace.Type(word), rest)
	}
	return nil
}

func (s *script) event(typ trace.Type, overrides string) error {
	p := Example(typ)
	if p == nil {
		return fmt.Errorf("no event is called %q", typ)
	}
	if overrides != "" {
		v := reflect.New(reflect.TypeOf(p))
		v.Elem().Set(reflect.ValueOf(p))
		dec := json.NewDecoder(strings.NewReader(overrides))
		dec.DisallowUnknownFields()
		if err := dec.Decode(v.Interface()); err != nil {
			return err
		}
		p = v.Elem().Interface().(trace.Payload)
	}
	if s.log == nil {
		log, err := trace.Create(s.records, trace.Options{SessionID: s.session, Capture: s.capture,
			Now: func() time.Time { return time.UnixMilli(Epoch + s.clock) }})
		if err != nil {
			return err
		}
		s.log, s.owner = log, log.Owner(s.transport)
	}
	return s.write(p)
}

func (s *script) write(p trace.Payload) error {
	var err error
	switch e := p.(type) {
	case trace.SessionStart:
		return s.owner.Start(e, s.prompt)
	case trace.Inference:
		if e.Origin == "" && len(s.bodies) >= 3 {
			last := len(s.bodies) - 1
			b := &trace.Bodies{System: s.bodies[0], Tools: s.bodies[1], Messages: s.bodies[2:last], Response: s.bodies[last]}
			s.bodies = nil
			_, err = s.owner.WriteTurn(e, b)
			return err
		}
		_, err = s.owner.Write(e)
	case trace.PlanStart:
		s.plan = s.log.Appender().Append(e)
	case trace.PlanStepStart, trace.PlanStep, trace.PlanEnd:
		s.log.Appender().Under(s.plan).Append(e)
	default:
		_, err = s.owner.Write(e)
	}
	return err
}
