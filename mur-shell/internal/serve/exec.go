package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/shellproto"
	"github.com/mur-capsules/mur/mur-shell/internal/call"
	"github.com/mur-capsules/mur/mur-shell/internal/proto"
	"github.com/mur-capsules/mur/mur-shell/internal/room"
)

// prepared is a call as it will be run: nothing of it is parsed again (SHL-18).
type prepared struct {
	call      call.Call
	program   call.Program
	found     error // why there is no program
	env       []string
	protected *shellproto.Protected
}

// prepare applies SHL-45 up to the start: allow test, input, argv, analyser,
// environment, program.
func (s *Server) prepareCall(q shellproto.Request) (*prepared, string, error) {
	if !s.terms.Allows(q.Tool) {
		return nil, shellproto.ReasonNotAllowed, fmt.Errorf("%s is not in shell.allow", diag.Quote(q.Tool))
	}
	c, err := callOf(q)
	if err == nil {
		err = call.CheckOwn(q.Env, s.terms.Policy.Env())
	}
	if err != nil {
		return nil, shellproto.ReasonInput, err
	}
	p := &prepared{call: s.terms.WithRecipe(c), env: s.environ(s.terms.Runtime, q.Env...)}
	p.protected = s.terms.Protects(p.call, q.Data)
	p.program, p.found = call.Lookup(c.Entry, call.Value(p.env, "PATH"), s.terms.Plan.Folders.Work)
	return p, "", nil
}

// callOf reads what is asked for: the text of a shell tool, or an argument list as
// it is given (SHL-156).
func callOf(q shellproto.Request) (call.Call, error) {
	if q.Args == nil {
		return call.FromData(q.Tool, q.Data)
	}
	for _, a := range *q.Args {
		if strings.ContainsRune(a, 0) {
			return call.Call{}, errors.New("an argument holds a NUL character")
		}
	}
	return call.FromWords(append([]string{q.Tool}, *q.Args...)), nil
}

func (s *Server) environ(runtime map[string]string, own ...[2]string) []string {
	f := s.terms.Plan.Folders
	return call.Environment(s.env.Environ, runtime, s.terms.Policy.ShellBaselineEnv, s.terms.Policy.Env(), call.Folders{Work: f.Work, Home: f.Home, Tmp: f.Tmp}, own...)
}

// maxCalls bounds the handles nobody has used yet; the oldest is forgotten.
const maxCalls = 1024

func (s *Server) resolve(q shellproto.Request) {
	p, reason, err := s.prepareCall(q)
	if err != nil {
		s.answer(proto.Refuse(q.ID, reason, err.Error()))
		return
	}
	binary := p.call.Entry
	if p.found == nil {
		binary = p.program.Binary
	}
	r := proto.ResolvedOf(q.ID, p.call, binary)
	r.Protected = p.protected
	s.mu.Lock()
	s.serial++
	r.Call = "call-" + strconv.Itoa(s.serial)
	delete(s.calls, "call-"+strconv.Itoa(s.serial-maxCalls))
	s.calls[r.Call] = p
	s.mu.Unlock()
	s.answer(r)
}

// take returns the call of an exec request and forgets its handle.
func (s *Server) take(q shellproto.Request) (*prepared, string, error) {
	if q.Call == "" {
		return s.prepareCall(q)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.calls[q.Call]
	if !ok {
		return nil, shellproto.ReasonProtocol, fmt.Errorf("there is no call %s, or it was used", diag.Quote(q.Call))
	}
	delete(s.calls, q.Call)
	return p, "", nil
}

// admit checks what stops every start: the end of the session, a fatal fault, the
// size latch (CON-196).
func (s *Server) admit() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closing:
		return shellproto.ReasonShuttingDown, errors.New("the session is ending")
	case s.fatal != nil:
		return shellproto.ReasonShuttingDown, fmt.Errorf("nothing more is started: %w", s.fatal)
	case s.oversize != nil:
		return shellproto.ReasonWorkdirSize, s.oversize
	}
	return "", nil
}

// timeout reads timeout_secs; 0 is an input error (SHL-83).
func timeout(secs *int64) (time.Duration, error) {
	if secs == nil {
		return 0, nil
	}
	if *secs <= 0 || *secs > 1<<31 {
		return 0, errors.New("timeout_secs is not above 0")
	}
	return time.Duration(*secs) * time.Second, nil
}

// exec runs a command: done, demoted and later completed, refused, or fatal.
// answered is called when the request has its answer.
func (s *Server) exec(ctx context.Context, q shellproto.Request, l line, answered func()) {
	if len(l.files) != 2 || q.Mode != shellproto.Demotable && q.Mode != shellproto.Foreground {
		l.close()
		s.answer(proto.Refuse(q.ID, shellproto.ReasonProtocol, "exec needs a mode and the descriptors of two spools"))
		return
	}
	j := &job{id: q.ID, out: proto.NewSpool(l.files[0]), err: proto.NewSpool(l.files[1]), attached: make(chan struct{})}
	defer j.close()
	limit, err := timeout(q.TimeoutSecs)
	if err != nil {
		s.answer(proto.Refuse(q.ID, shellproto.ReasonInput, err.Error()))
		return
	}
	if reason, err := s.admit(); err != nil {
		s.answer(proto.Refuse(q.ID, reason, err.Error()))
		return
	}
	p, reason, err := s.take(q)
	if err != nil {
		s.answer(proto.Refuse(q.ID, reason, err.Error()))
		return
	}
	j.call, j.program = p.call, p.program
	switch {
	case p.protected != nil:
		s.answer(proto.Refuse(q.ID, shellproto.ReasonProtectedPath, p.protected.String()))
		return
	case p.found != nil:
		s.answer(proto.Refuse(q.ID, shellproto.ReasonNotFound, notFound(p)))
		return
	}
	if !s.register(j) {
		s.answer(proto.Refuse(q.ID, shellproto.ReasonProtocol, fmt.Sprintf("a request %s is in progress", diag.Quote(q.ID))))
		return
	}
	defer s.forget(j)
	j.started = s.env.Now()
	x, err := s.room.Start(ctx, room.Command{
		Program: p.program.Path, Argv: append([]string{p.call.Entry}, p.call.Args...), Env: p.env,
		Stdout: j.out, Stderr: j.err, Timeout: limit, Linger: true,
	})
	if err != nil {
		s.refuseStart(q.ID, p.program.Path, err)
		return
	}
	j.run(x)
	s.mu.Lock()
	closing := s.closing
	s.mu.Unlock()
	if closing {
		j.kill()
	}
	if q.Mode == shellproto.Demotable && s.demote(j) {
		answered()
		s.complete(j)
		return
	}
	d := proto.Ended(p.call, p.program.Binary, x.Result(), s.terms.Policy, limit)
	d.ID = q.ID
	if j.crowded {
		note := fmt.Sprintf("The command was not sent to the background: %d are there already.", maxDemoted)
		if d.RuntimeNote != nil {
			note = *d.RuntimeNote + " " + note
		}
		d.RuntimeNote = &note
	}
	s.answer(d)
}

func notFound(p *prepared) string {
	if errors.Is(p.found, fs.ErrPermission) {
		return fmt.Sprintf("the program %s is not executable", diag.Quote(p.call.Entry))
	}
	return fmt.Sprintf("no program %s was found on PATH", diag.Quote(p.call.Entry))
}

// refuseStart answers a failed start; one with a code of a session's end is fatal
// (SHL-22).
func (s *Server) refuseStart(id, program string, err error) {
	var start *room.StartError
	switch {
	case errors.As(err, &start):
		reason := shellproto.ReasonSpawn
		if slices.Contains([]syscall.Errno{syscall.ENOENT, syscall.EACCES, syscall.ENOEXEC, syscall.ENOTDIR}, start.Errno) {
			reason = shellproto.ReasonNotFound
		}
		s.answer(proto.Refuse(id, reason, s.terms.StartMessage(program, start)))
	case slices.Contains([]diag.Code{"E-RUN-012", "E-RUN-013", "E-RUN-014"}, diag.CodeOf(err)):
		s.mu.Lock()
		if s.fatal == nil {
			s.fatal = err
		}
		s.mu.Unlock()
		s.answer(proto.FatalOf(id, err))
	case errors.Is(err, room.ErrClosed):
		s.answer(proto.Refuse(id, shellproto.ReasonShuttingDown, err.Error()))
	default:
		s.answer(proto.Refuse(id, shellproto.ReasonSpawn, err.Error()))
	}
}
