package terms

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/workfs"
	"github.com/mur-capsules/mur/mur-shell/internal/room"
)

// Document reads a staged-session or sandbox document from a file, or from standard
// input for "-".
func Document(source string, env cli.Env) (*session.Document, error) {
	var in io.Reader = env.Stdin
	name := "<standard input>"
	if source != "-" {
		name = source
		if !filepath.IsAbs(name) {
			name = filepath.Join(env.Dir, name)
		}
		f, err := os.Open(name)
		if err != nil {
			return nil, diag.Errorf("E-STG-101", "the staged session from %s can not be opened: %w", name, err).Name("source", name)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, session.MaxBytes+1))
	if err != nil {
		return nil, diag.Errorf("E-STG-101", "the staged session from %s can not be read: %w", name, err).Name("source", name)
	}
	if isSandbox(data) {
		return decodeSandbox(data, name)
	}
	return session.Decode(data, name, nil)
}

// FromDocument takes the terms of a staged session: nothing is decided again, and
// a host that changed is E-STG-104 (CON-5). floor is a further vote, which can only
// refuse (CON-23).
func FromDocument(ctx context.Context, source string, floor policy.Class, env cli.Env, host Host, report bool) (*Terms, error) {
	doc, err := Document(source, env)
	if err != nil {
		return nil, err
	}
	t, err := Staged(ctx, doc, host, nil, report)
	if err != nil {
		return nil, err
	}
	if floor > t.Decision.Achieved {
		d := t.Decision
		d.Declared = floor
		if d.Shortfall == "" {
			d.Shortfall = "the session was staged at this class"
		}
		_ = t.Close()
		return nil, d.Refusal()
	}
	return t, nil
}

// Staged takes the terms of a document; notes may be nil.
func Staged(ctx context.Context, doc *session.Document, host Host, notes *Notes, report bool) (*Terms, error) {
	if notes == nil {
		notes = NewNotes()
	}
	dirs := doc.Directories
	t := &Terms{
		ID: doc.SessionID, Reading: doc.HostProbe, Policy: doc.Policy, Report: doc.EffectiveGrants, Binds: doc.Sandbox.Binds, notes: notes,
		Decision: confine.Decision{
			Declared: doc.Containment.Declared, Achieved: doc.Containment.Achieved, HostTier: doc.HostProbe.Tier(),
			AppliedTier: confine.Tier(doc.Sandbox.AppliedTier), Caps: doc.Sandbox.Caps,
		},
		Staged: []room.Identity{
			{Path: dirs.Work.Path, Dev: dirs.Work.Dev, Ino: dirs.Work.Ino},
			{Path: dirs.Runtime.Path, Dev: dirs.Runtime.Dev, Ino: dirs.Runtime.Ino},
			{Path: dirs.Records.Path, Dev: dirs.Records.Dev, Ino: dirs.Records.Ino},
		},
		Runtime: map[string]string{
			"MURMUR_SESSION_ID": doc.SessionID, "MURMUR_CAPSULE_NAME": doc.Capsule.Name, "MURMUR_CAPSULE_VERSION": doc.Capsule.Version,
			"MURMUR_RUNTIME_DIR": dirs.Runtime.Path, "MURMUR_RECORDS_DIR": dirs.Records.Path,
		},
		state: filepath.Join(dirs.Session.Path, "sealed-root"), etc: dirs.SealedEtc.Path,
	}
	f := confine.Folders{
		Work: dirs.Work.Path, Tmp: filepath.Join(dirs.Records.Path, session.TempDir), Home: filepath.Join(dirs.Records.Path, session.HomeDir),
		Runtime: dirs.Runtime.Path, ReadOnly: []string{filepath.Join(dirs.Records.Path, session.LogsDir), filepath.Join(dirs.Records.Path, "children")},
	}
	t.Plan = confine.MakePlan(confine.Grants{
		Reading: t.Reading, Decision: t.Decision, Policy: t.Policy, Exec: doc.Sandbox.Exec, Natives: doc.Sandbox.Natives, Folders: f, RunAs: doc.Sandbox.RunAs,
	})
	if report {
		return t, nil
	}
	var found confine.Reading
	var netErr error
	var wg sync.WaitGroup
	wg.Go(func() { found = host.ProbeRest() })
	if t.Plan.Network {
		wg.Go(func() { t.Network, netErr = room.StartNetwork(ctx, t.Policy.NetworkAllow, notes.Add) })
	}
	wg.Wait()
	// Which group a run is started in is no matter of the host.
	t.Reading.Cgroup = found.Cgroup
	err := confine.Changed(doc.HostProbe, found, t.Decision)
	if err == nil && t.Plan.Network {
		if t.made(netErr); netErr != nil {
			err = t.namespaceFault()
		}
	}
	for _, d := range []string{f.Tmp, f.Home} {
		if err == nil {
			if merr := os.Mkdir(d, 0o700); merr != nil && !errors.Is(merr, os.ErrExist) {
				err = workfs.Fault(merr, "cannot make a folder of the session")
			}
		}
	}
	if err != nil {
		_ = t.Close()
		return nil, err
	}
	return t, nil
}

// IsDocument reports whether a file is a staged-session document and no policy
// file: it names its schema.
func IsDocument(source string, env cli.Env) bool {
	if source == "-" {
		return false
	}
	path := source
	if !filepath.IsAbs(path) {
		path = filepath.Join(env.Dir, path)
	}
	data, err := workfs.ReadFile(path, session.MaxBytes)
	var head struct {
		Schema string `json:"schema"`
	}
	return err == nil && json.Unmarshal(data, &head) == nil && head.Schema != ""
}
