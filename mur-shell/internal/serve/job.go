package serve

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/mur-capsules/mur/lib/shellproto"
	"github.com/mur-capsules/mur/mur-shell/internal/call"
	"github.com/mur-capsules/mur/mur-shell/internal/proto"
	"github.com/mur-capsules/mur/mur-shell/internal/room"
)

// attachTime is how long a demoted command that has ended waits for the descriptor
// of its log before its end is told without one.
const attachTime = 5 * time.Second

// job is a command of the session.
type job struct {
	id       string
	call     call.Call
	program  call.Program
	started  time.Time
	out, err *proto.Spool
	crowded  bool // it would have been demoted

	mu       sync.Mutex
	x        *room.Running
	kills    int // how often it was killed before it ran
	demoted  bool
	log      *proto.Spool
	attached chan struct{} // closed when log is there
}

func (j *job) run(x *room.Running) {
	j.mu.Lock()
	j.x = x
	kills := j.kills
	j.mu.Unlock()
	for range kills {
		x.Kill(syscall.SIGTERM)
	}
}

// kill ends the command with the grace of SHL-85; a second time, at once.
func (j *job) kill() {
	j.mu.Lock()
	x := j.x
	if x == nil {
		j.kills++
	}
	j.mu.Unlock()
	if x != nil {
		x.Kill(syscall.SIGTERM)
	}
}

func (j *job) close() {
	_ = j.out.Close()
	_ = j.err.Close()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.log != nil {
		_ = j.log.Close()
	}
}

// register enters a job under its id; false when the id is taken.
func (s *Server) register(j *job) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.jobs[j.id]; taken {
		return false
	}
	s.jobs[j.id] = j
	return true
}

func (s *Server) forget(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.jobs, j.id)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.demoted {
		s.demoted--
	}
}

// demote waits for the end or for the grace, whichever is first, and tells the
// client of a command that goes on (SHL-92, SHL-98). It reports whether it did.
func (s *Server) demote(j *job) bool {
	grace := time.NewTimer(time.Duration(s.doc.Lifecycle.ShellGraceSecs) * time.Second)
	defer grace.Stop()
	select {
	case <-j.x.Done():
		return false
	case <-grace.C:
	}
	select {
	case <-j.x.Done(): // it ended at that moment
		return false
	default:
	}
	s.mu.Lock()
	if s.demoted == maxDemoted {
		s.mu.Unlock()
		j.crowded = true
		return false
	}
	s.demoted++
	j.mu.Lock()
	j.demoted = true
	j.mu.Unlock()
	s.mu.Unlock()
	s.answer(shellproto.Demoted{
		Event: shellproto.EventDemoted, ID: j.id, Binary: j.program.Binary, Command: j.call.Command, Argv: append([]string{}, j.call.Args...), StartedAtMS: j.started.UnixMilli(),
	})
	return true
}

// complete waits for a demoted command's end, ends its log and tells the client
// (SHL-101, SHL-104).
func (s *Server) complete(j *job) {
	r := j.x.Result()
	wait := time.NewTimer(attachTime)
	defer wait.Stop()
	select {
	case <-j.attached:
	case <-wait.C:
	case <-s.ending: // nobody attaches any more
	}
	j.mu.Lock()
	if j.log != nil {
		if n := j.log.Dropped(); n > 0 {
			_ = j.log.Append(fmt.Sprintf("\n[%d further bytes were not kept]", n))
		}
		_ = j.log.Append(fmt.Sprintf("\nExit code: %d\n", r.ExitCode()))
	}
	j.mu.Unlock()
	d := proto.Ended(j.call, j.program.Binary, r, s.terms.Policy, 0)
	c := shellproto.Completed{
		Event: shellproto.EventCompleted, ID: j.id, Binary: d.Binary, Command: d.Command, ExitCode: d.ExitCode, Signal: d.Signal,
		DurationMS: d.DurationMS, OutputBytes: d.StdoutBytes + d.StderrBytes, ResourceLimit: d.ResourceLimit,
	}
	if !r.Known {
		text := "how the command ended is not known"
		c.Error = &text
	}
	s.answer(c)
}

// attach gives a demoted command its log: first what the spools hold, then both
// streams as they come.
func (s *Server) attach(q shellproto.Request, l line) {
	s.mu.Lock()
	j := s.jobs[q.ID]
	s.mu.Unlock()
	if j == nil || len(l.files) != 1 {
		l.close()
		s.answer(proto.Refuse(q.ID, shellproto.ReasonProtocol, "attach needs a demoted command and the descriptor of its log"))
		return
	}
	if err := j.attach(l.files[0]); err != nil {
		l.close()
		s.answer(proto.Refuse(q.ID, shellproto.ReasonProtocol, err.Error()))
		return
	}
	s.answer(shellproto.Plain{Event: shellproto.EventAttached, ID: q.ID})
}

func (j *job) attach(f *os.File) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.demoted || j.log != nil {
		return fmt.Errorf("the command is not demoted, or has its log")
	}
	log := proto.NewSpool(f)
	j.x.Redirect(func() {
		_ = j.out.CopyTo(log)
		_ = j.err.CopyTo(log)
	}, log)
	j.log = log
	close(j.attached)
	return nil
}

// outstanding lists the demoted commands that run.
func (s *Server) outstanding(id string) shellproto.Outstanding {
	now := s.env.Now()
	out := shellproto.Outstanding{Event: shellproto.EventOutstanding, ID: id, Commands: []shellproto.Running{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range s.jobs {
		j.mu.Lock()
		if j.demoted {
			out.Commands = append(out.Commands, shellproto.Running{
				ID: j.id, Binary: j.program.Binary, Command: j.call.Command, StartedAtMS: j.started.UnixMilli(), RunningMS: now.Sub(j.started).Milliseconds(),
			})
		}
		j.mu.Unlock()
	}
	slices.SortFunc(out.Commands, func(a, b shellproto.Running) int { return cmp.Compare(a.StartedAtMS, b.StartedAtMS) })
	return out
}

func (s *Server) kill(q shellproto.Request) {
	s.mu.Lock()
	j := s.jobs[q.Target]
	s.mu.Unlock()
	if j != nil {
		j.kill()
	}
	s.answer(shellproto.Killed{Event: shellproto.EventKilled, ID: q.ID, Target: q.Target, Found: j != nil})
}
