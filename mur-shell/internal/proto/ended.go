package proto

import (
	"fmt"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/shellproto"
	"github.com/mur-capsules/mur/mur-shell/internal/call"
	"github.com/mur-capsules/mur/mur-shell/internal/room"
)

// Ended describes a call that ran (SHL section 2). binary is the canonical path of
// what ran, timeout the one that was set.
func Ended(c call.Call, binary string, r room.Result, p policy.Policy, timeout time.Duration) shellproto.Done {
	d := shellproto.Done{
		Event: shellproto.EventDone, Tool: c.Entry, Binary: binary, Command: c.Command, Argv: append([]string{}, c.Args...), Script: c.Script, Recipe: c.Recipe,
		ExitCode: r.ExitCode(), TimedOut: r.TimedOut,
		Stdout: room.Text(r.Stdout), Stderr: room.Text(r.Stderr), StdoutBytes: r.StdoutBytes, StderrBytes: r.StderrBytes,
		Truncated:  r.StdoutBytes > room.HeadBytes || r.StderrBytes > room.HeadBytes,
		DurationMS: r.Duration.Milliseconds(), Leftovers: r.Leftovers,
	}
	if r.Known && r.Status.Signaled() {
		name := signalName(r.Status.Signal())
		d.Signal = &name
	}
	if r.Limit != "" {
		d.ResourceLimit = &r.Limit
	}
	if note := notes(r, d, p, timeout); note != "" {
		d.RuntimeNote = &note
	}
	d.ToolResult = Finished(c.Entry, c.Line(), d)
	return d
}

func signalName(s syscall.Signal) string {
	if n := unix.SignalName(s); n != "" {
		return n
	}
	return fmt.Sprintf("SIG%d", int(s))
}

// notes are the runtime's own words about a command (SHL-32, SHL-87, CON-285).
func notes(r room.Result, d shellproto.Done, p policy.Policy, timeout time.Duration) string {
	var out []string
	if r.TimedOut {
		out = append(out, fmt.Sprintf("The command was ended by its time-out of %s.", timeout))
	}
	if r.Limit != "" {
		out = append(out, room.LimitNote(r.Limit, p.Resources))
	}
	if !r.Known {
		out = append(out, "How the command ended is not known: the process that ran it was lost.")
	}
	if d.ExitCode == 126 || d.ExitCode == 127 || strings.Contains(d.Stderr, "failed to map segment from shared object") {
		note := "Only these programs can be started: " + strings.Join(p.ShellAllow, ", ")
		if !p.WorkdirExec {
			note += "; nothing that lies in the work folder, the temporary folder or the home can be, nor loaded as a library (capabilities.filesystem.workdir_exec would allow it)"
		}
		out = append(out, note+".")
	}
	return strings.Join(out, " ")
}
