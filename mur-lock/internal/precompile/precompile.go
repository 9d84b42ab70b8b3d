// Package precompile compiles what artifacts carry before a session needs it, so
// that staging finds the compiled forms on disk (ART-133). A form is a cache:
// what can not be compiled or kept here is compiled at staging.
package precompile

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/forms"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/workfs"

	"github.com/mur-capsules/mur/mur-lock/internal/project"
	"github.com/mur-capsules/mur/mur-lock/internal/report"
)

// built are the formats of this build; asking for them costs, so they are asked
// for once.
var built = sync.OnceValue(forms.Built)

// Item makes sure that the payload of an artifact has a compiled form among
// kept, and says what came of it: Compiled, AlreadyStored or NotWASM. The error is
// staging's own, or E-IO-003 for a form that can not be kept.
func Item(ctx context.Context, kept *store.Compiled, it *store.Item) (report.Outcome, error) {
	if it.Manifest.Kind != manifest.WASM {
		return report.NotWASM, nil
	}
	what := it.Ref.String()
	for _, kind := range kinds {
		if _, ok := built().Noted(kept, it.SHA256, kind); ok {
			return report.AlreadyStored, nil
		}
	}
	entry, wasm, err := it.Archive.Component(what)
	if err != nil {
		return "", err
	}
	g, err := built().Prepare(ctx, kept, forms.Source{What: what, Entry: entry, Wasm: wasm, Hash: it.SHA256, Kind: kindOf(it.Manifest.Role, wasm)})
	switch {
	case err != nil:
		return "", err
	case g.Form == nil:
		return "", diag.Errorf("E-IO-003", "%s: its compiled form can not be kept in the murmur home", what).
			About(it.Ref.Subject()).Name("name@version", what).Name("reason", "the form can not be kept")
	case g.Compiled:
		return report.Compiled, nil
	}
	return report.AlreadyStored, nil
}

var kinds = []wasmhost.Kind{wasmhost.Tool, wasmhost.Driver, wasmhost.Hook, wasmhost.Capsule}

// kindOf is the part a payload plays. The manifest of a whole capsule names no
// role, so a component is believed when it exports a capsule's interface.
func kindOf(role policy.Role, wasm []byte) wasmhost.Kind {
	switch role {
	case policy.Driver:
		return wasmhost.Driver
	case policy.Hook:
		return wasmhost.Hook
	}
	if c, ok := artifact.ReadContracts(wasm); ok {
		for _, name := range c.Exports {
			if strings.HasPrefix(name, "murmur:capsule/") {
				return wasmhost.Capsule
			}
		}
	}
	return wasmhost.Tool
}

// Archives compiles the payloads of archives, each a row. workdir is the work
// folder the forms are meant for, "" for none known: a murmur home that lies in
// it keeps no forms (ART-131), which is E-IO-003.
func Archives(ctx context.Context, p *project.Places, workdir string, archives []string) (report.Report, error) {
	kept := store.OpenCompiled(p.Home, workdir)
	if kept == nil {
		return report.Report{}, diag.Errorf("E-IO-003", "the murmur home %s lies in the work folder %s, which keeps no compiled forms", p.Home.Path(), workdir).
			Hint("set MURMUR_HOME to a directory outside the work folder").
			About(diag.Subject{Kind: diag.Path, Name: p.Home.Path()}).
			Name("path", p.Home.Path()).Name("reason", "in the work folder")
	}
	var rep report.Report
	for _, path := range archives {
		if ctx.Err() != nil {
			return rep, context.Cause(ctx)
		}
		rep.Rows = append(rep.Rows, one(ctx, p, kept, path))
	}
	return rep, nil
}

func one(ctx context.Context, p *project.Places, kept *store.Compiled, path string) report.Row {
	row := report.Row{Name: path, Path: path}
	data, err := workfs.ReadFile(path, p.Limits.ArchiveBytes())
	if err != nil {
		return row.Fail(workfs.Fault(err, "cannot read the archive"))
	}
	it, err := store.NewItem(data, artifact.Ref{Full: names.Full{Scope: names.Local}}, p.Host, p.Limits, path)
	if err != nil {
		return row.Fail(err)
	}
	row.Name, row.Version, row.SHA256 = it.Ref.Full.String(), it.Ref.Version, it.SHA256
	if row.Outcome, err = Item(ctx, kept, it); err != nil {
		return row.Fail(err)
	}
	row.Text = fmt.Sprintf("%s: %s", path, words[row.Outcome])
	return row
}

var words = map[report.Outcome]string{
	report.Compiled:      "compiled",
	report.AlreadyStored: "its compiled form is stored already",
	report.NotWASM:       "not WebAssembly, nothing to compile",
}
