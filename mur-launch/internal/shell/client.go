package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/shellproto"
)

// killTime is how long the answer of a command that was told to end is waited
// for: a command that ends at once is still told of, and a caller whose time is
// over is not held up (CON-262).
const killTime = 500 * time.Millisecond

// client speaks to one mur-shell. It is safe for concurrent use.
type client struct {
	conn     *conn
	patience time.Duration // killTime

	mu      sync.Mutex
	serial  int
	waiting map[string]chan event // by request id
	dead    error                 // why nothing is answered any more

	end  chan struct{} // closed with dead set
	over func(error)   // told once of an end that nobody asked for
	bye  bool          // the end was asked for
}

// newClient begins to read answers; over is told when mur-shell goes, or says
// that the session must end.
func newClient(c *conn, over func(error)) *client {
	cl := &client{conn: c, patience: killTime, waiting: map[string]chan event{}, end: make(chan struct{}), over: over}
	go cl.read()
	return cl
}

// read hands answers out until there are none.
func (c *client) read() {
	for {
		e, err := c.conn.next()
		if err != nil {
			c.die(err)
			return
		}
		if e.Event == shellproto.EventFatal {
			c.over(fatalError(e))
		}
		c.mu.Lock()
		answer := c.waiting[e.ID]
		delete(c.waiting, e.ID)
		c.mu.Unlock()
		if answer != nil {
			answer <- e // it has room for one, and there is one
		}
	}
}

// die ends every wait. A process that died without being asked to is the end of
// the session, which is told before any call hears of it.
func (c *client) die(err error) {
	dead := lost(err)
	c.mu.Lock()
	asked := c.bye
	c.mu.Unlock()
	if !asked {
		c.over(dead)
	}
	c.mu.Lock()
	c.dead = dead
	c.mu.Unlock()
	close(c.end)
}

// lost is the error of a mur-shell that went by itself: nothing holds what it
// confined any more, so the session can not go on (SHL-22).
func lost(err error) error {
	why := "it ended by itself"
	if err != nil && !ended(err) {
		why = err.Error()
	}
	return diag.Errorf("E-RUN-014", "mur-shell, which runs the session's commands, was lost: %s", why).
		In("session").Name("step", "mur-shell").Name("reason", why)
}

func fatalError(e event) error {
	var f shellproto.Fatal
	if err := json.Unmarshal(e.raw, &f); err != nil || f.Code == "" {
		f = shellproto.Fatal{Code: "E-RUN-014", Message: "mur-shell ended the session without a reason"}
	}
	err := diag.Errorf(f.Code, "%s", f.Message).In("session").Name("step", f.Step)
	if f.Errno != 0 {
		err.Name("errno", f.Errno)
	}
	return err
}

// begin enters a request under a new id.
func (c *client) begin() (id string, answer chan event, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead != nil {
		return "", nil, c.dead
	}
	c.serial++
	id = "q" + strconv.Itoa(c.serial)
	answer = make(chan event, 1)
	c.waiting[id] = answer
	return id, answer, nil
}

func (c *client) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

// ask sends a request and waits for its answer, or for ctx.
func (c *client) ask(ctx context.Context, q shellproto.Request, files ...*os.File) (event, error) {
	id, answer, err := c.begin()
	if err != nil {
		return event{}, err
	}
	q.ID = id
	if err := c.conn.send(q, files...); err != nil {
		c.forget(id)
		return event{}, c.sendFault(err)
	}
	return c.await(ctx, id, answer)
}

func (c *client) sendFault(err error) error {
	if errors.Is(err, errTooLong) {
		return err
	}
	return lost(err)
}

// await waits for the answer of a request. When ctx ends first a command is
// killed, and what it comes to is still returned if that is soon.
func (c *client) await(ctx context.Context, id string, answer chan event) (event, error) {
	select {
	case e := <-answer:
		return e, nil
	case <-c.end:
		return c.last(answer)
	case <-ctx.Done():
	}
	_ = c.conn.send(shellproto.Request{Op: shellproto.OpKill, ID: id + "k", Target: id}) // its answer has no reader
	soon := time.NewTimer(c.patience)
	defer soon.Stop()
	select {
	case e := <-answer:
		return e, nil
	case <-c.end:
		return c.last(answer)
	case <-soon.C:
		c.forget(id)
		return event{}, context.Cause(ctx)
	}
}

// last is an answer that came before the end, else the reason of the end.
func (c *client) last(answer chan event) (event, error) {
	select {
	case e := <-answer:
		return e, nil
	default:
		return event{}, c.dead
	}
}

// shutdown ends the session's commands and mur-shell, as far as ctx lasts.
func (c *client) shutdown(ctx context.Context) error {
	c.mu.Lock()
	c.bye = true
	c.mu.Unlock()
	e, err := c.ask(ctx, shellproto.Request{Op: shellproto.OpShutdown})
	if err == nil && e.Event != shellproto.EventBye {
		err = fmt.Errorf("mur-shell answered shutdown with %s", e.Event)
	}
	return err
}

// decode reads an answer's members.
func decode[T any](e event) (T, error) {
	var v T
	if err := json.Unmarshal(e.raw, &v); err != nil {
		return v, fmt.Errorf("an answer of mur-shell can not be read: %w", err)
	}
	return v, nil
}
