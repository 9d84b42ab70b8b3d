package shell

import (
	"context"
	"fmt"
	"sync"

	"github.com/mur-capsules/mur/lib/ids"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/mur-launch/internal/dispatch"
)

// Background is a command that outlived its grace and runs on (SHL section 9).
type Background struct {
	WorkID      string
	Binary      string
	Command     trace.Raw
	StartedAtMS int64
	// Log is where its output is kept, relative to the records directory; "" when
	// no log could be made, which the session's log says.
	Log string

	request string
	client  *client
	answers chan event
	once    sync.Once
	ended   chan struct{}
	result  Completed
	err     error
}

// demote makes the log of a demoted command and hands it over (SHL-96, SHL-101).
func (r *Runner) demote(id, tool string, e event, answers chan event) (*Background, error) {
	d, err := decode[demoted](e)
	if err != nil {
		return nil, err
	}
	b := &Background{
		WorkID: ids.New(ids.Work), Binary: d.Binary, StartedAtMS: d.StartedAtMS, Command: commandOf(d.Argv, scriptOf(tool, d.Argv)),
		request: id, client: r.client, answers: answers, ended: make(chan struct{}),
	}
	r.mu.Lock()
	r.running[id] = b
	r.mu.Unlock()
	name := session.LogsDir + "/" + b.WorkID + ".log"
	f, err := r.opt.Records.CreateNew(name)
	if err == nil {
		defer f.Close()
		if _, err = fmt.Fprintf(f, "%s\n", commandLine(tool, d.Argv)); err == nil {
			err = r.client.conn.send(request{Op: "attach", ID: id}, f)
		}
	}
	if err != nil {
		r.opt.Note(fmt.Sprintf("the output of %s can not be kept: %v", b.WorkID, err))
	} else {
		b.Log = name
	}
	return b, nil
}

// scriptOf is the body an interpreter entry runs, nil for any other.
func scriptOf(tool string, argv []string) *string {
	if policy.TakesShellLine(tool) && len(argv) == 2 && argv[0] == "-c" {
		return &argv[1]
	}
	return nil
}

// Demotable is Command for a call that has a task loop and a context id (SHL-94):
// when the command outlives lifecycle.shell_grace_secs it comes back as a
// Background, and the answer says that its result will arrive as a message.
func (r *Runner) Demotable(ctx context.Context, tool, data string) (dispatch.Done, *Background, error) {
	o, err := r.run(ctx, call{tool: tool, data: &data}, "demotable")
	if o.background == nil {
		d, err := o.dispatched(err)
		return d, nil, err
	}
	text := fmt.Sprintf("The command runs on in the background as %s. Its result will arrive as a message of its own; there is nothing to ask for it.", o.background.WorkID)
	return dispatch.Done{Result: wasmhost.ToolResult{
		Status: wasmhost.Passed, Summary: &text, Data: &text, Metadata: [][2]string{{"work_id", o.background.WorkID}},
	}}, o.background, nil
}

// Wait waits for the command's end. The error is ctx's, or that mur-shell has
// gone and nothing will be known.
func (b *Background) Wait(ctx context.Context) (Completed, error) {
	b.once.Do(func() { go b.collect() })
	select {
	case <-b.ended:
		return b.result, b.err
	case <-ctx.Done():
		return Completed{}, context.Cause(ctx)
	}
}

func (b *Background) collect() {
	defer close(b.ended)
	for {
		var e event
		select {
		case e = <-b.answers:
		case <-b.client.end:
			if e, b.err = b.client.last(b.answers); b.err != nil {
				return
			}
		}
		if e.Event == "completed" {
			b.result, b.err = decode[Completed](e)
			return
		}
	}
}

// Kill ends the command; it is still told of by Wait.
func (b *Background) Kill() {
	_ = b.client.conn.send(request{Op: "kill", ID: b.request + "k", Target: b.request})
}

// Outstanding are the demoted commands that run (SHL-111).
func (r *Runner) Outstanding(ctx context.Context) ([]*Background, []Running, error) {
	e, err := r.client.ask(ctx, request{Op: "outstanding"})
	if err != nil {
		return nil, nil, err
	}
	o, err := decode[outstanding](e)
	if err != nil {
		return nil, nil, err
	}
	var found []*Background
	var rows []Running
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range o.Commands {
		if b := r.running[c.ID]; b != nil {
			found, rows = append(found, b), append(rows, c)
		}
	}
	return found, rows, nil
}
