package stage

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/config"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/lockfile"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/workfs"
)

// staged is an artifact that was resolved and verified: what the document and
// the runtime directory get of it.
type staged struct {
	entry        manifest.Entry
	manifest     *manifest.Artifact
	manifestData []byte
	skill        []byte // text, for a skill
	program      []byte // of a native tool

	source  string // path of a local source, else empty
	store   string // label of the store that answered
	archive session.StagedFile
	payload *session.Payload
	guest   *guest
	gateway *int
	origin  lockfile.Origin
	hash    string // of the archive

	untagged bool // a native program whose stored file names no platform
}

func (a *staged) ref() string { return refOf(a.entry).String() }

func refOf(e manifest.Entry) artifact.Ref { return artifact.Ref{Full: e.Name, Version: e.Version} }

// pin is the lock entry of an artifact from a store.
func (a *staged) pin() lockfile.Entry {
	return store.Pin(refOf(a.entry), a.hash, a.manifest.Kind, artifact.Host())
}

// stores are the places artifacts are looked for, in order (ART-56).
func (s *staging) stores() store.Chain {
	limits := artifact.LimitsOf(s.environ)
	if len(s.opts.Stores) > 0 {
		var chain store.Chain
		for _, dir := range s.opts.Stores {
			abs := s.abs(dir)
			chain = append(chain, store.Folder(abs, abs, limits))
		}
		return chain
	}
	if s.bundle != nil {
		return store.Chain{store.OfProject(s.bundle.Dir, limits)}
	}
	return store.Chain{store.OfProject(s.dir, limits), store.OfHome(s.home, limits)}
}

// checkPresence wants every artifact that comes from a store to be in one, and
// names all that are not (step 6).
func (s *staging) checkPresence(ctx context.Context) error {
	chain := s.stores()
	var missing []string
	for _, e := range s.entries() {
		if e.Source != "" {
			continue
		}
		ok, err := chain.Has(ctx, refOf(e), artifact.Host())
		if err != nil {
			return err
		}
		if !ok {
			missing = append(missing, refOf(e).String())
		}
	}
	if missing == nil {
		return nil
	}
	list := strings.Join(missing, ", ")
	return diag.Errorf("E-RUN-008", "not installed: %s", list).
		Hint("install what the manifest declares: mur-lock install").
		In("resolve").Name("artifacts", list)
}

// resolveArtifacts resolves, verifies and compiles every artifact (step 23).
// Faults of the lock come before any store is read (ART-109). Artifacts are
// looked at side by side; the first refusal in manifest order counts.
func (s *staging) resolveArtifacts(ctx context.Context) error {
	entries := s.entries()
	pins := make([]lockfile.Entry, len(entries))
	for i, e := range entries {
		if e.Source != "" || !s.lockFound {
			continue
		}
		var err error
		if pins[i], err = store.CheckVersion(s.lock, refOf(e)); err != nil {
			return err
		}
		if err := s.checkOrigin(e, pins[i]); err != nil {
			return err
		}
	}
	s.artifacts = make([]staged, len(entries))
	faults := make([]error, len(entries))
	chain := s.stores()
	var wg sync.WaitGroup
	for i, e := range entries {
		wg.Go(func() {
			if e.Source != "" {
				s.artifacts[i], faults[i] = s.localSkill(e)
				return
			}
			s.artifacts[i], faults[i] = s.resolve(ctx, chain, e, pins[i])
		})
	}
	wg.Wait()
	for _, err := range faults {
		if err != nil {
			return err
		}
	}
	for i := range s.artifacts {
		if s.artifacts[i].native() {
			s.takeNative(i)
		}
	}
	return s.checkNamespace() // again: which artifacts are programs was not known before
}

func (a *staged) native() bool { return a.program != nil }

// takeNative lowers the entry of an artifact that turned out to be a program,
// which runs as commands do: its own grants and its configuration do nothing
// (MAN-85, MAN-299).
func (s *staging) takeNative(i int) {
	e, g := &s.artifacts[i].entry, &s.grants[i]
	if s.artifacts[i].untagged {
		s.warn(store.UntaggedWarning(refOf(*e))) // ART-57
	}
	if e.Config != nil {
		s.warn(s.capsule.ConfigWarning(e))
	}
	*g = grant{native: true}
	g.grant, g.warnings, g.late = policy.Narrow(s.policy, s.capsule.Name, e.Policy(true))
}

// checkOrigin keeps what a session pulled out of the roles of ART-119.
func (s *staging) checkOrigin(e manifest.Entry, pin lockfile.Entry) error {
	prompt := s.agent() && s.capsule.Inference.SystemPromptArtifact == e.Name.String()
	return store.CheckOrigin(pin, store.Use{Role: e.Role, Gateway: e.Gateway != nil, SystemPrompt: prompt})
}

// resolve reads one artifact from a store and verifies it against store and lock.
func (s *staging) resolve(ctx context.Context, chain store.Chain, e manifest.Entry, pin lockfile.Entry) (staged, error) {
	what := refOf(e).String()
	found, err := chain.Resolve(ctx, refOf(e), artifact.Host())
	if err != nil {
		return staged{}, err
	}
	if s.lockFound {
		if err := store.CheckHash(pin, found.SHA256, artifact.Host()); err != nil {
			return staged{}, err
		}
	}
	if err := s.checkSigned(ctx, found); err != nil {
		return staged{}, err
	}
	a := staged{
		entry: e, store: found.Store, hash: found.SHA256, origin: pin.Origin,
		archive: session.StagedFile{Path: found.Path, SHA256: found.SHA256, Bytes: int64(len(found.Bytes))},
	}
	fi, err := os.Lstat(found.Path)
	if err != nil {
		return staged{}, workfs.Fault(err, "cannot examine the archive of "+what)
	}
	a.archive.Mode = octal(fi.Mode())
	if a.manifestData, err = found.Archive.Manifest(); err != nil {
		return staged{}, artifact.Fault(what, err)
	}
	if a.manifest, _, err = manifest.ParseArtifact(found.Path+"/"+manifest.FileName, a.manifestData, manifest.ArtifactOptions{}); err != nil {
		return staged{}, err
	}
	if err := checkRole(e, a.manifest, what); err != nil {
		return staged{}, err
	}
	return a, s.readPayload(ctx, &a, found, what)
}

// checkRole compares what the capsule uses an artifact as with what it is
// (ART-112, ART-113), and refuses what this version can not run.
func checkRole(e manifest.Entry, m *manifest.Artifact, what string) error {
	fault := func(code diag.Code, format string, args ...any) error {
		return diag.Errorf(code, format, args...).In("resolve").About(refOf(e).Subject()).Name("name@version", what)
	}
	switch {
	case m.Role != e.Role:
		return fault("E-MAN-003", "%s: the capsule uses %s as %s, and its own manifest says it is a %s", at(e, "runtime"), what, e.Role, m.Role)
	case m.ProviderTool != nil:
		return fault("E-MAN-003", "%s is a provider tool, which this version can not offer", what)
	case m.Kind == manifest.Native && e.Gateway != nil:
		return fault("E-CAP-017", "%s: %s is a native program, and a gateway serves guests alone", at(e, "gateway"), what)
	case m.Kind == manifest.Native && e.Role == policy.Tool:
		return nil
	case m.Kind != manifest.WASM && e.Role != policy.Skill:
		return fault("E-IO-003", "%s is used as a %s, and its payload is %s: a WASM payload is expected", what, e.Role, m.Kind)
	}
	return nil
}

var kinds = map[policy.Role]wasmhost.Kind{policy.Tool: wasmhost.Tool, policy.Driver: wasmhost.Driver}

// readPayload takes the payload out of an archive: a skill's text, or a guest.
func (s *staging) readPayload(ctx context.Context, a *staged, found *store.Found, what string) error {
	if a.entry.Role == policy.Skill {
		name, text, err := found.Archive.Skill(what)
		a.skill = []byte(text)
		a.payload = &session.Payload{Entry: name, SHA256: hashOf(a.skill), Bytes: int64(len(text))}
		return err
	}
	if a.manifest.Kind == manifest.Native {
		name, program, err := found.Archive.Native(what, a.manifest.Name)
		if err != nil {
			return err
		}
		a.program, a.untagged = program, found.Platform == ""
		a.payload = &session.Payload{Entry: name, SHA256: hashOf(program), Bytes: int64(len(program))}
		return artifact.CheckProgram(what, program, artifact.Host())
	}
	kind := kinds[a.entry.Role]
	if g, ok := s.noted(found.SHA256, kind); ok {
		a.guest, a.payload = &g, &g.payload
		return nil
	}
	name, wasm, err := found.Archive.Component(what)
	if err != nil {
		return err
	}
	if process := processInterface(wasm); kind == wasmhost.Driver && process != "" {
		return diag.Errorf("E-RUN-030", "%s is a driver for transport: process, as it exports %s, and inference.transport is http", what, process).
			In("resolve").About(refOf(a.entry).Subject()).Name("name@version", what).Name("interface", process)
	}
	g, err := s.prepare(ctx, what, name, wasm, found.SHA256, kind)
	a.guest, a.payload = &g, &g.payload
	return err
}

// processInterface is the process interface, of whatever version, that a component
// exports, "" for none.
func processInterface(wasm []byte) string {
	c, ok := artifact.ReadContracts(wasm)
	if !ok {
		return ""
	}
	for _, name := range c.Exports {
		if strings.HasPrefix(name, "murmur:driver/process@") {
			return name
		}
	}
	return ""
}

// maxSkill bounds a skill text that is read from a path.
const maxSkill = 16 << 20

// localSkill reads a skill from its source (MAN-56 to MAN-60).
func (s *staging) localSkill(e manifest.Entry) (staged, error) {
	missing := func(format string, args ...any) error {
		return diag.Errorf("E-IO-001", "%s: "+format, append([]any{at(e, "source")}, args...)...).
			In("resolve").About(diag.Subject{Kind: diag.Path, Name: e.Source}).
			Name("path", e.Source).Name("what was looked for", "skill.md")
	}
	name, err := s.skillName(e.Source)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return staged{}, missing("%s does not exist", s.named(e.Source))
	case err != nil:
		return staged{}, workfs.Fault(err, "cannot read a local source")
	case name == "":
		return staged{}, missing("%s holds no skill.md", s.named(e.Source))
	case e.Role != policy.Skill:
		return staged{}, missing("a %s can not be read from a path", e.Role)
	}
	text, path, err := s.companion(name, maxSkill)
	if err != nil {
		return staged{}, workfs.Fault(err, "cannot read a local source")
	}
	if !isText(text) {
		return staged{}, diag.Errorf("E-IO-003", "%s: %s is not UTF-8 text", at(e, "source"), path).
			In("resolve").About(diag.Subject{Kind: diag.Path, Name: path}).Name("path", path).Name("reason", "not UTF-8")
	}
	a := staged{entry: e, skill: text, source: path}
	a.manifestData = artifact.SkillManifest(artifact.SkillDefaults{Name: e.ToolName(), Version: manifest.LocalVersion})
	a.manifest, _, err = manifest.ParseArtifact(path, a.manifestData, manifest.ArtifactOptions{})
	return a, err
}

// tokenVariable names the variable a source's token is read from, where it is
// one (ART-60).
func tokenVariable(src config.Source) *string {
	if !src.HasToken {
		if src.Type == "github" {
			return ptr("GITHUB_TOKEN")
		}
		return nil
	}
	if name, ok := strings.CutPrefix(src.Token.Reveal(), "${"); ok {
		return optional(strings.TrimSuffix(name, "}"))
	}
	return nil
}

// compiledForms are the forms on disk; a murmur home in the work folder has none
// that could be trusted (ART-131).
func (s *staging) compiledForms() *store.Compiled {
	return store.OpenCompiled(s.home, s.workFolder(""))
}

// compileComponent verifies and compiles a script capsule's component (step 31).
func (s *staging) compileComponent(ctx context.Context) error {
	switch {
	case s.component == nil:
		return nil
	case s.pkg != nil:
		return s.compilePackaged(ctx)
	}
	path := s.component.path
	f, err := fileOf(path)
	if err != nil {
		return workfs.Fault(err, "cannot read the capsule's component")
	}
	s.component.file = f
	if g, ok := s.noted(f.SHA256, wasmhost.Capsule); ok {
		s.component.guest = g
		return nil
	}
	wasm, err := os.ReadFile(path)
	if err == nil && hashOf(wasm) != f.SHA256 {
		err = errors.New("it changed while it was read")
	}
	if err != nil {
		return workfs.Fault(err, "cannot read the capsule's component "+path)
	}
	s.component.guest, err = s.prepare(ctx, "the component "+path, filepath.Base(path), wasm, f.SHA256, wasmhost.Capsule)
	return err
}
