package launch

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// terminating ends a session at its deadline (SES-177) and at the first SIGTERM,
// SIGINT or SIGHUP: the running
// task is cancelled and everything is torn down in order. A second one, or the
// end of limit after it, ends the process at once (SES-179 to SES-182,
// SES-188). The context is the session's; stop ends the watch.
//
// Ctx is over at the first SIGTERM or SIGINT too: the same signal may come both
// ways, and counts once.
func (l *launching) terminating(ctx context.Context, limit time.Duration) (_ context.Context, stop func()) {
	session, cancel := context.WithCancel(context.WithoutCancel(ctx))
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	over := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		timeOver, stopTimer := l.deadline.timer()
		defer stopTimer()
		why := "ending the session; a second signal ends it at once"
		select {
		case <-over:
			return
		case <-signals:
		case <-timeOver:
			l.reached.Store(true)
			why = "the session's deadline is reached; ending it"
		case <-ctx.Done():
			select {
			case <-signals:
			case <-time.After(50 * time.Millisecond):
			}
		}
		l.report(why)
		cancel()
		timer := time.NewTimer(limit)
		defer timer.Stop()
		select {
		case <-over:
		case s := <-signals:
			l.opt.Exit(128 + int(s.(syscall.Signal)))
		case <-timer.C:
			l.opt.Exit(128 + int(syscall.SIGTERM))
		}
	}()
	return session, func() {
		close(over)
		<-watched
		signal.Stop(signals)
		cancel()
	}
}
