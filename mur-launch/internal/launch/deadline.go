package launch

import (
	"context"
	"fmt"
	"time"

	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/mur-launch/internal/agent"
	"github.com/mur-capsules/mur/mur-launch/internal/dispatch"
)

// deadlineReached is the status of a session whose time was over (SES-194).
const deadlineReached = "deadline_reached"

// maxDeadline is the longest deadline of the flag (SES-174).
const maxDeadline = 315_360_000 * time.Second

// deadline is when a session must be over, on the monotonic clock; at is zero for
// never.
type deadline struct {
	at     time.Time
	margin time.Duration // before at, in which the model is told
}

// deadlineOf is the earlier of the document's moment and the flag's, counted from
// the start of this process (SES-174, SES-178). Flag 0 is none.
func deadlineOf(doc *session.Document, flag time.Duration, start time.Time) deadline {
	var d deadline
	length := time.Duration(0)
	if m := doc.Deadline; m != nil {
		d.at = start.Add(time.UnixMilli(m.AtMs).Sub(start.Round(0)))
		length = time.Duration(m.AtMs-m.SetAtMs) * time.Millisecond
	}
	if flag > 0 {
		flag = min(flag, maxDeadline)
		if own := start.Add(flag); d.at.IsZero() || own.Before(d.at) {
			d.at, length = own, flag
		}
	}
	d.margin = min(300*time.Second, length/10)
	if n := doc.Lifecycle.DeadlineNoticeSecs; n != nil {
		d.margin = time.Duration(*n) * time.Second
	}
	return d
}

// timer fires when the time is over; nil never does.
func (d deadline) timer() (<-chan time.Time, func()) {
	if d.at.IsZero() {
		return nil, func() {}
	}
	t := time.NewTimer(time.Until(d.at))
	return t.C, func() { t.Stop() }
}

// noticing tells the model, once, behind the first outcome of a tool within the
// margin, that its time is nearly over (SES-178).
type noticing struct {
	agent.Desk
	deadline deadline
	told     bool
}

func (n *noticing) Dispatch(ctx context.Context, t dispatch.Target, c dispatch.Call) dispatch.Answer {
	a := n.Desk.Dispatch(ctx, t, c)
	left := time.Until(n.deadline.at)
	if n.told || n.deadline.at.IsZero() || left > n.deadline.margin {
		return a
	}
	n.told = true
	a.Text += fmt.Sprintf("\nThis session ends in %d seconds; finish what matters most now.", max(0, int(left.Round(time.Second).Seconds())))
	return a
}
