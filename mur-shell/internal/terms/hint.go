package terms

import (
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine/readonly"
	"github.com/mur-capsules/mur/lib/shellproto"
	"github.com/mur-capsules/mur/lib/toolschema"
	"github.com/mur-capsules/mur/mur-shell/internal/call"
	"github.com/mur-capsules/mur/mur-shell/internal/recipe"
	"github.com/mur-capsules/mur/mur-shell/internal/room"
)

// StartMessage says why a program was not started, and which rule refused it.
func (t *Terms) StartMessage(program string, err *room.StartError) string {
	m := fmt.Sprintf("%s can not be started: %s: %s", program, err.Step, err.Errno.Error())
	switch {
	case err.Errno == unix.E2BIG:
		m = fmt.Sprintf("%s can not be started: its arguments and environment are too long (E2BIG)", program)
	case err.Errno == unix.EACCES && t.ExecHint(program) != "":
		m += "; " + t.ExecHint(program)
	}
	return m
}

// WithRecipe adds the recipe a call names, if one can be told (SHL section 11).
func (t *Terms) WithRecipe(c call.Call) call.Call {
	if c.Entry != "make" && c.Entry != "just" && c.Entry != "npm" {
		return c
	}
	root, err := os.OpenRoot(t.Plan.Folders.Work)
	if err != nil {
		return c
	}
	defer root.Close()
	if body, ok := recipe.Find(recipe.Folder{Root: root}, c.Entry, c.Args); ok {
		c.Recipe = &body
	}
	return c
}

// Protects asks the analyser of read_only paths about a call; data is the input it
// came with, nil for none (CON-241, SHL-27, SHL-136).
func (t *Terms) Protects(c call.Call, data *string) *shellproto.Protected {
	checker := readonly.New(t.Plan.Folders.Work, t.Policy.ReadOnly, realPath)
	if checker.Idle() {
		return nil
	}
	hit := checker.Direct(c.Entry, c.Args)
	for _, body := range []*string{c.Script, c.Recipe} {
		if hit == nil && body != nil {
			hit = checker.Body(*body)
		}
	}
	if hit == nil && call.IsInterpreter(c.Entry) && c.Script == nil {
		// run -- sh -c BODY: the words of a person.
		if i := slices.Index(c.Args, "-c"); i >= 0 && i+1 < len(c.Args) {
			hit = checker.Body(c.Args[i+1])
		}
	}
	if hit == nil && data != nil {
		hit = checker.Input(*data, toolschema.Annotations{})
	}
	if hit == nil {
		return nil
	}
	return &shellproto.Protected{Path: hit.Path, Entry: hit.Entry, Via: hit.Via}
}

// ExecHint says why a program that lies in a folder commands may write can not be
// executed, and what would allow it (CON-285); "" for any other.
func (t *Terms) ExecHint(program string) string {
	f := t.Plan.Folders
	if t.Policy.WorkdirExec {
		return ""
	}
	for dir, name := range map[string]string{f.Work: "the work folder", f.Tmp: "the temporary folder", f.Home: "the session's home"} {
		if within(program, dir) {
			return fmt.Sprintf("it lies in %s, where nothing can be executed; capabilities.filesystem.workdir_exec (--workdir-exec) would allow it", name)
		}
	}
	return ""
}
