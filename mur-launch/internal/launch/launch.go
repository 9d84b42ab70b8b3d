package launch

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/ids"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/workfs"
)

// Options say what to launch and how to tell about it.
type Options struct {
	// Input is "-" or "" for standard input, a session's id, or a path.
	Input string
	// NoEnvFile leaves out the .env the document names.
	NoEnvFile bool
	// Inputs are put into the work folder first.
	Inputs []Input
	// Task replaces the task of an agent capsule (SES-139): the bytes of the file
	// it names, else its own text. Nil keeps what was staged.
	Task *string
	// Stream takes an agent's text as it comes, nil drops it.
	Stream io.Writer
	// Deadline bounds an agent's session, counted from Started; 0 keeps what was
	// staged, which it can only bring nearer.
	Deadline time.Duration
	// Started is when the launch began; zero is the call of Run.
	Started time.Time
	// Exit ends the process at once; nil is os.Exit.
	Exit func(status int)
	// Verbose raises the warnings that only inform.
	Verbose bool
	// Announce is told once that the session runs.
	Announce func(Start)
	// Warn takes warnings the launch itself raises.
	Warn func(diag.Warning)
}

// Start is what the announcement says (SES-131).
type Start struct {
	URL        string `json:"url"` // empty for a script capsule
	PID        int    `json:"pid"`
	SessionID  string `json:"session_id"`
	Name       string `json:"name"`
	Version    string `json:"version"`
	Workdir    string `json:"workdir"`
	RecordsDir string `json:"records_dir"`
}

// Outcome is how a session that began has ended. Err is nil when it ended ok.
type Outcome struct {
	SessionID  string
	RecordsDir string
	Ending     string // a session status of SES section 11
	Agent      bool   // an agent capsule's session
	Text       string // an agent's answer, "" without one
	Result     string // where the result lies beneath the records directory; "" for none
	ToolCalls  int64
	Duration   time.Duration
	Err        *diag.Error
}

// Run launches a session and returns when it is over. An error is a refusal:
// nothing was run. Whatever happens after session_start is an Outcome.
func Run(ctx context.Context, env cli.Env, o Options) (*Outcome, error) {
	doc, err := readDocument(env, o.Input)
	if err != nil {
		return nil, err
	}
	if err := unserved(doc); err != nil {
		return nil, err
	}
	if err := fits(doc, o); err != nil {
		return nil, err
	}
	if o.Exit == nil {
		o.Exit = os.Exit
	}
	if o.Started.IsZero() {
		o.Started = time.Now()
	}
	lock, err := doc.Take()
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	l, err := open(ctx, env, doc, o)
	if err != nil {
		return nil, refused(doc, err)
	}
	defer l.close()
	if err := l.begin(); err != nil {
		l.closeProcesses()
		return nil, refused(doc, err)
	}
	return l.run(ctx), nil
}

// readDocument reads the document an argument names (SES-100).
func readDocument(env cli.Env, input string) (*session.Document, error) {
	switch {
	case input == "" || input == "-":
		return session.Read(env.Stdin, "standard input", wasmhost.Served())
	case ids.Check(ids.Session, input) == nil:
		home, err := workfs.FindHome(env.Environ)
		if err != nil {
			return nil, err
		}
		return session.ReadFile(home.Join(session.SessionsDir+"/"+input+"/"+session.DocumentName), wasmhost.Served())
	}
	if !filepath.IsAbs(input) {
		input = filepath.Join(env.Dir, input)
	}
	return session.ReadFile(input, wasmhost.Served())
}

// refused removes what staging laid out for a launch that will not be
// (SES-104): the session directory, and a trace that holds no line. What can
// not be removed does not change why the launch was refused.
func refused(doc *session.Document, why error) error {
	home, err := homeOf(doc)
	if err == nil {
		_ = session.Remove(home, doc.SessionID)
	}
	if root, err := workfs.OpenRoot(doc.Directories.Records.Path, workfs.Options{}); err == nil {
		if e, err := root.Stat(trace.FileName); err == nil && e.Size == 0 {
			_ = root.Remove(trace.FileName)
		}
		root.Close()
	}
	return why
}

// homeOf is the murmur home the session was staged in, whatever this process's
// variables say.
func homeOf(doc *session.Document) (workfs.Home, error) {
	return workfs.FindHome([]string{"MURMUR_HOME=" + doc.Directories.MurmurHome.Path})
}
