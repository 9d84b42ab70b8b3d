// Package serve answers a session's requests on the control socket (SHL section
// 2): it resolves, runs, demotes, kills and counts commands, all under the one
// confinement that was prepared before the first answer. It keeps no trace and
// writes no file but the descriptors it is given; mur-launch does (SHL-9, SHL-69).
package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/confine/cgroup"
	"github.com/mur-capsules/mur/lib/confine/memory"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/shellproto"
	"github.com/mur-capsules/mur/mur-shell/internal/proto"
	"github.com/mur-capsules/mur/mur-shell/internal/room"
	"github.com/mur-capsules/mur/mur-shell/internal/terms"
)

// Bounds of one session (SHL-15, SHL-103).
const (
	maxRequests = 64
	maxDemoted  = 32
)

// runtimeNames are the names runtime_env may hold.
var runtimeNames = map[string]bool{
	"MURMUR_SESSION_ID": true, "MURMUR_CAPSULE_NAME": true, "MURMUR_CAPSULE_VERSION": true, "MURMUR_CAPSULE_URL": true,
	"MURMUR_RUNTIME_DIR": true, "MURMUR_RECORDS_DIR": true, "MURMUR_INFERENCE_TRANSPORT": true, "MURMUR_INFERENCE_MODEL": true,
	"MURMUR_INFERENCE_DRIVER": true, "MURMUR_INFERENCE_DRIVER_CONFIG": true,
}

// ReadFacts reads the launch facts to their end.
func ReadFacts(r io.Reader) (shellproto.Facts, error) {
	var f shellproto.Facts
	data, err := io.ReadAll(io.LimitReader(r, shellproto.MaxRequest+1))
	if err == nil && len(data) > shellproto.MaxRequest {
		err = errors.New("they are longer than 1 MiB")
	}
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err != nil {
		return f, diag.Errorf("E-STG-101", "the launch facts can not be read: %w", err)
	}
	for name := range f.RuntimeEnv {
		if !runtimeNames[name] {
			return f, diag.Errorf("E-STG-101", "the launch facts hold the variable %s, which is none of the runtime's", diag.Quote(name))
		}
	}
	return f, nil
}

// Server serves one session.
type Server struct {
	ch    *channel
	doc   *session.Document
	terms *terms.Terms
	room  *room.Room
	env   cli.Env
	log   func(string)
	scope *cgroup.Scope // of the launch; nil without one
	// orphan says that the client went without a shutdown.
	orphan bool

	mu       sync.Mutex
	requests int
	calls    map[string]*prepared // by handle, one time
	jobs     map[string]*job      // running commands by request id
	demoted  int
	oversize error // the latch (CON-194)
	closing  bool
	ending   chan struct{} // closed when closing is set
	fatal    error
	serial   int
	wg       sync.WaitGroup
}

// Config is what a session is served with.
type Config struct {
	ControlFD int
	Document  *session.Document
	Facts     shellproto.Facts
	Env       cli.Env
	Host      terms.Host
}

// Serve prepares the session, says ready and answers until shutdown or the end of
// input. The error is the last fatal one, if any; everything the session ran has
// ended by then.
func Serve(ctx context.Context, c Config) error {
	ch, err := newChannel(c.ControlFD)
	if err != nil {
		return diag.Usagef("--control-fd: %s", err)
	}
	defer ch.close()
	s := &Server{ch: ch, doc: c.Document, env: c.Env, calls: map[string]*prepared{}, jobs: map[string]*job{}, ending: make(chan struct{})}
	s.log = func(line string) { fmt.Fprintln(c.Env.Stderr, "mur-shell:", line) }
	if err := s.prepare(ctx, c); err != nil {
		s.answer(proto.FatalOf("", err))
		return err
	}
	defer func() {
		_ = s.room.Close()
		_ = s.terms.Close()
		if s.orphan && s.scope != nil {
			// Whoever made the scope has died and can not remove it any more.
			_ = s.scope.Clear()
		}
		s.notes()
	}()
	s.answer(shellproto.Ready{
		Event: shellproto.EventReady, V: 1, Class: s.terms.Decision.Achieved.String(), Tier: string(s.terms.Decision.AppliedTier),
		SessionID: c.Document.SessionID, PID: os.Getpid(), Version: cli.Version,
	})
	stop := context.AfterFunc(ctx, ch.close)
	defer stop()
	bye := s.loop(ctx)
	s.orphan = bye == nil && ctx.Err() == nil
	s.end()
	if bye != nil {
		s.answer(shellproto.Plain{Event: shellproto.EventBye, ID: *bye})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fatal
}

func (s *Server) prepare(ctx context.Context, c Config) error {
	t, err := terms.Staged(ctx, c.Document, c.Host, nil, false)
	if err != nil {
		return err
	}
	s.terms = t
	// From here on commands can run, which must not read this process's memory
	// (CON-118).
	memory.Hide()
	for name, value := range c.Facts.RuntimeEnv {
		t.Runtime[name] = value
	}
	if f := c.Facts.Scope; f != nil {
		scope, err := cgroup.Existing(f.Version, f.Paths)
		if err != nil {
			_ = t.Close()
			return diag.Errorf("E-RUN-012", "the session's cgroup scope can not be used: %w", err).Name("step", err.Error())
		}
		s.scope = scope
		t.Within(scope)
	} else {
		t.Within(nil)
	}
	if s.room, err = t.Room(ctx); err != nil {
		_ = t.Close()
		return err
	}
	return nil
}

// loop answers requests; it returns the id of a shutdown, or nil at the end of
// input.
func (s *Server) loop(ctx context.Context) *string {
	for {
		l, err := s.ch.next()
		if err != nil {
			return nil
		}
		var q shellproto.Request
		if l.long || json.Unmarshal(l.text, &q) != nil || q.Op == "" {
			l.close()
			s.answer(proto.Refuse(q.ID, shellproto.ReasonProtocol, "the line is no request"))
			continue
		}
		if q.Op == shellproto.OpShutdown {
			l.close()
			return &q.ID
		}
		s.dispatch(ctx, q, l)
		s.notes()
	}
}

func (s *Server) notes() {
	for _, n := range s.terms.Notes() {
		s.log(n)
	}
}

// dispatch answers quick requests at once and others in a goroutine of their own.
func (s *Server) dispatch(ctx context.Context, q shellproto.Request, l line) {
	switch q.Op {
	case shellproto.OpExec, shellproto.OpNative:
		s.mu.Lock()
		busy := s.requests == maxRequests
		if !busy {
			s.requests++
		}
		s.mu.Unlock()
		if busy {
			l.close()
			s.answer(proto.Refuse(q.ID, shellproto.ReasonBusy, fmt.Sprintf("%d requests are in progress", maxRequests)))
			return
		}
		s.wg.Go(func() {
			done := sync.OnceFunc(func() {
				s.mu.Lock()
				s.requests--
				s.mu.Unlock()
			})
			defer done()
			if q.Op == shellproto.OpExec {
				s.exec(ctx, q, l, done)
			} else {
				l.close()
				s.native(ctx, q)
			}
		})
	case shellproto.OpResolve:
		l.close()
		s.resolve(q)
	case shellproto.OpAttach:
		s.attach(q, l)
	case shellproto.OpOutstanding:
		l.close()
		s.answer(s.outstanding(q.ID))
	case shellproto.OpKill:
		l.close()
		s.kill(q)
	case shellproto.OpLatch:
		l.close()
		s.mu.Lock()
		if s.oversize == nil {
			s.oversize = room.Oversize(s.terms.Plan.Folders.Work, q.Bytes, q.Limit)
		}
		s.mu.Unlock()
	default:
		l.close()
		s.answer(proto.Refuse(q.ID, shellproto.ReasonProtocol, fmt.Sprintf("there is no request %s", diag.Quote(q.Op))))
	}
}

// answer sends one line; a client that has gone is seen by the loop.
func (s *Server) answer(v any) {
	text, err := proto.Line(v)
	if err != nil {
		s.log(err.Error())
		return
	}
	_ = s.ch.send(text)
}

// orphanGrace is how long commands have to end by themselves when the client has
// died: what is left of the two seconds by which all must be gone (SHL-90, CON-P119)
// is for what does not.
const orphanGrace = 500 * time.Millisecond

// end ends every command, with the grace of SHL-85 or the shorter one of a client
// that died, and waits for them.
func (s *Server) end() {
	s.mu.Lock()
	s.closing = true
	close(s.ending)
	jobs := make([]*job, 0, len(s.jobs))
	for _, j := range s.jobs {
		jobs = append(jobs, j)
	}
	s.mu.Unlock()
	kill := func() {
		for _, j := range jobs {
			j.kill()
		}
	}
	kill()
	if s.orphan {
		force := time.AfterFunc(orphanGrace, kill)
		defer force.Stop()
	}
	s.wg.Wait()
}
