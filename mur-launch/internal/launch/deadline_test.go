package launch

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/session"
)

// SES-174, SES-175, SES-178, MAN-307
func TestDeadlineOf(t *testing.T) {
	start := time.Now()
	staged := func(secs, length int64) *session.Deadline {
		at := start.UnixMilli() + secs*1000
		return &session.Deadline{AtMs: at, SetAtMs: at - length*1000, Source: "flag"}
	}
	notice := int64(7)
	for _, c := range []struct {
		name   string
		doc    *session.Deadline
		flag   time.Duration
		notice *int64
		left   time.Duration // 0 is none
		margin time.Duration
	}{
		{"none", nil, 0, nil, 0, 0},
		{"staged", staged(90, 100), 0, nil, 90 * time.Second, 10 * time.Second},
		{"a long one", staged(90, 100000), 0, nil, 90 * time.Second, 300 * time.Second},
		{"the flag is nearer", staged(90, 100), 50 * time.Second, nil, 50 * time.Second, 5 * time.Second},
		{"the flag is farther", staged(90, 100), 500 * time.Second, nil, 90 * time.Second, 10 * time.Second},
		{"the flag alone", nil, 50 * time.Second, &notice, 50 * time.Second, 7 * time.Second},
		{"the notice of a staged one", staged(90, 100), 0, &notice, 90 * time.Second, 7 * time.Second},
		{"past", staged(-5, 100), 0, nil, -5 * time.Second, 10 * time.Second},
	} {
		d := deadlineOf(&session.Document{Deadline: c.doc, Lifecycle: session.Lifecycle{DeadlineNoticeSecs: c.notice}}, c.flag, start)
		if d.at.IsZero() != (c.left == 0) || d.margin != c.margin && c.left != 0 {
			t.Errorf("%s: %+v", c.name, d)
		}
		if left := d.at.Sub(start); !d.at.IsZero() && (left-c.left).Abs() > time.Second {
			t.Errorf("%s: %s are left", c.name, left)
		}
	}
}

// SES-174 to SES-178, SES-194, SES-195, AGT-191, AGT-192
func TestDeadlineEndsASession(t *testing.T) {
	p := newProvider(t, func(w http.ResponseWriter, r *http.Request, turn int) {
		if turn == 0 {
			io.WriteString(w, does(`{"do":"print","text":"a"}`, `{"do":"print","text":"b"}`))
			return
		}
		<-r.Context().Done()
	})
	s := stageAgent(t, p)
	s.deadline = 4 * time.Second
	margin := int64(60)
	s.doc.Lifecycle.DeadlineNoticeSecs = &margin
	l := s.launch(context.Background())
	if l.err != nil || l.outcome.Ending != "deadline_reached" || l.outcome.Err != nil {
		t.Fatalf("%v %+v\n%s", l.err, l.outcome, l.stderr)
	}
	if got := s.types(); !strings.HasSuffix(got, "task_canceled task_end session_end") {
		t.Errorf("trace %s", got)
	}
	if end := s.trace(); end[len(end)-1].ExitStatus != "deadline_reached" || end[len(end)-2].ExitStatus != "canceled" {
		t.Errorf("ends %+v", end[len(end)-2:])
	}
	requests, _ := p.seen()
	if strings.Count(strings.Join(requests, ""), "This session ends in ") != 1 || !strings.Contains(l.stderr, "deadline is reached") {
		t.Errorf("asked %q, said %s", requests, l.stderr)
	}

	// One that is over before the first task.
	p = newProvider(t, answers(says("x")))
	s = stageAgent(t, p)
	s.doc.Deadline = &session.Deadline{AtMs: 1, SetAtMs: 1, Source: "flag"}
	l = s.launch(context.Background())
	if l.err != nil || l.outcome.Ending != "deadline_reached" || l.outcome.Err != nil {
		t.Errorf("%v %+v", l.err, l.outcome)
	}

	// One that is not reached changes nothing, and a script capsule takes none.
	p = newProvider(t, answers(says("x")))
	s = stageAgent(t, p)
	s.deadline = time.Hour
	if l := s.launch(context.Background()); l.err != nil || l.outcome.Ending != "ok" {
		t.Errorf("%v %+v", l.err, l.outcome)
	}
	s = stageBytes(t, []byte("no guest is needed"), []byte("nor an archive"), "")
	s.deadline = time.Hour
	if l := s.launch(context.Background()); diag.CodeOf(l.err) != "E-RUN-102" {
		t.Errorf("%v", l.err)
	}
}
