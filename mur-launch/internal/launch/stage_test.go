package launch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/confine/probe"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/ids"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/core"
	"github.com/mur-capsules/mur/lib/workfs"
)

// guest is testdata/guest, the capsule and the tool of these tests, in every
// form a session meets it in. It is made once.
type guest struct {
	make func() (made, error)
}

type made struct{ wasm, archive, form []byte }

var (
	plain = guest{sync.OnceValues(func() (made, error) { return makeGuest() })}
	web   = guest{sync.OnceValues(func() (made, error) { return makeGuest("-tags=web") })}
)

func makeGuest(flags ...string) (made, error) {
	dir, err := os.MkdirTemp("", "mur-launch-guest-")
	if err != nil {
		return made{}, err
	}
	defer os.RemoveAll(dir)
	var m made
	if m.wasm, err = buildGuest(dir, flags...); err != nil {
		return made{}, err
	}
	if m.archive, err = packGuest(dir); err != nil {
		return made{}, err
	}
	engine, err := core.New()
	if err != nil {
		return made{}, err
	}
	defer engine.Close()
	g, err := engine.Compile(context.Background(), m.wasm, wasmhost.Tool)
	if err != nil {
		return made{}, err
	}
	defer g.Close()
	m.form, err = g.Form()
	return m, err
}

// buildGuest builds the guest into dir/tool.wasm.
func buildGuest(dir string, flags ...string) ([]byte, error) {
	out := filepath.Join(dir, "tool.wasm")
	args := append([]string{"build", "-trimpath", "-ldflags=-s -w", "-o", out}, flags...)
	cmd := exec.Command("go", append(args, "./testdata/guest")...)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, text)
	}
	return os.ReadFile(out)
}

// packBytes packs wasm as the tool "tool".
func packBytes(wasm []byte) ([]byte, error) {
	dir, err := os.MkdirTemp("", "mur-launch-pack-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "tool.wasm"), wasm, 0o644); err != nil {
		return nil, err
	}
	return packGuest(dir)
}

// packGuest packs dir/tool.wasm as the tool "tool".
func packGuest(dir string) ([]byte, error) {
	root, err := workfs.OpenRoot(dir, workfs.Options{})
	if err != nil {
		return nil, err
	}
	defer root.Close()
	text := []byte("name: tool\nversion: '1'\nruntime: tool\nimplementation: wasm\nrequires_files: [tool.wasm]\n")
	m, _, err := manifest.ParseArtifact("murmur.yaml", text, manifest.ArtifactOptions{})
	if err != nil {
		return nil, err
	}
	limits := artifact.Limits{EntryBytes: artifact.DefaultCeiling}
	plan, err := artifact.PlanPack(root, text, m, filepath.Join(dir, "tool.zip"), limits)
	if err != nil {
		return nil, err
	}
	return plan.Build(limits)
}

var reading = sync.OnceValue(probe.Host)

// staged is a session laid out by hand, as mur-stage lays one out.
type staged struct {
	t    *testing.T
	dir  string // all of it lies here
	home string
	work string
	doc  *session.Document

	noEnvFile bool // as the flag
	task      *string
	stream    io.Writer
	deadline  time.Duration
	warn      func(diag.Warning) // nil fails the test
	environ   []string           // of the launch, beside HOME
}

// stage lays out a session of the test guest as a capsule that does steps, with
// the same guest as the tool "tool" and the skill "skill".
func stage(t *testing.T, steps string) *staged { return stageGuest(t, plain, steps) }

func stageGuest(t *testing.T, g guest, steps string) *staged {
	t.Helper()
	m, err := g.make()
	if err != nil {
		t.Fatal(err)
	}
	s := stageBytes(t, m.wasm, m.archive, steps)
	s.doc.Capsule.Compiled = s.form(s.doc.Capsule.Component.SHA256, m.form)
	s.doc.Artifacts[0].Compiled = s.form(s.doc.Artifacts[0].Archive.SHA256, m.form)
	return s
}

// stageBytes lays out a session whose guest is wasm and whose tool comes in
// archive; no form of them is stored.
func stageBytes(t *testing.T, wasm, archiveBytes []byte, steps string) *staged {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &staged{t: t, dir: dir, home: filepath.Join(dir, "home"), work: filepath.Join(dir, "work")}
	id := ids.New(ids.Session)
	mirror, err := session.Mirror(s.work)
	if err != nil {
		t.Fatal(err)
	}
	sessionDir := filepath.Join(s.home, session.SessionsDir, id)
	records := filepath.Join(s.home, mirror, id)
	for _, d := range []string{s.home, s.work, filepath.Join(s.home, "running"), sessionDir + "/runtime", sessionDir + "/sealed-etc", sessionDir + "/harness",
		records + "/logs", records + "/tmp", records + "/home"} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.write("work/steps.json", steps)
	s.write("project/capsule.wasm", string(wasm))
	s.write("project/tool.zip", string(archiveBytes))
	runtime := filepath.Join(sessionDir, session.RuntimeDir)
	s.writeAt(filepath.Join(runtime, "tools/tool/murmur.yaml"), "name: tool\nversion: '1'\nruntime: tool\ndescription: does a step\n")
	s.writeAt(filepath.Join(runtime, "tools/skill/SKILL.md"), "# how\n")

	pol, err := policy.Resolve(nil, policy.Advisory)
	if err != nil {
		t.Fatal(err)
	}
	host := reading()
	decided := confine.Decide(host, policy.Advisory, nil)
	component, archive := s.file("project/capsule.wasm"), s.file("project/tool.zip")
	coreImpl := session.ImplCore
	sum := sha256.Sum256(wasm)
	s.doc = &session.Document{
		Schema: session.Schema, StagedAtMs: time.Now().UnixMilli(), SessionID: id, Kind: session.KindScript,
		Capsule: session.Capsule{Name: "demo", Version: "1.0.0", Artifact: "local/demo", Component: &component, Implementation: &coreImpl},
		Directories: session.Directories{
			Session: s.identity(sessionDir), Runtime: s.identity(runtime), SealedEtc: s.identity(sessionDir + "/sealed-etc"),
			Harness: s.identity(sessionDir + "/harness"), Records: s.identity(records),
			WorkdirRoot: s.identity(s.work), MurmurHome: s.identity(s.home),
		},
		Stores: session.Stores{DecompressionCeiling: artifact.DefaultCeiling},
		Lock: session.Lock{Resolved: []session.ResolvedPart{
			{Name: "local/tool", ResolvedVersion: "1", SHA256: archive.SHA256, Origin: session.Origin{Kind: "operator"}},
		}},
		AllowlistedTools: []string{"tool"},
		Artifacts: []session.Artifact{
			{
				Name: "local/tool", ToolName: "tool", Version: "1", Role: "tool", Kind: "wasm", Implementation: session.ImplCore,
				Origin: session.Origin{Kind: "operator"}, Archive: &archive, ManifestPath: "tools/tool/murmur.yaml",
				Payload: &session.Payload{Entry: "tool.wasm", SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(wasm))},
			},
			{
				Name: "local/skill", ToolName: "skill", Version: "local", Role: "skill", Kind: "static", Implementation: session.ImplSkill,
				Origin: session.Origin{Kind: "operator"}, ManifestPath: "tools/skill/murmur.yaml",
			},
		},
		Policy:      pol,
		Containment: session.Containment{Declared: policy.Advisory, Achieved: decided.Achieved, Tier: string(host.Tier()), TempMapping: "env-only"},
		HostProbe:   host,
		EffectiveGrants: confine.ScopeReport{
			DeclaredContainment: policy.Advisory, AchievedContainment: decided.Achieved, FloorMet: true, RuntimeWrites: confine.RuntimeWrites(),
			IOMax: confine.IOMax{Status: "not-probed"}, FilesystemBoundary: confine.FilesystemBoundary{Restriction: "advisory"},
			TempDir: confine.TempDir{Mapping: "env-only"}, ProcessBoundary: confine.ProcessBoundary{ProcView: "host", Signals: "unmediated"},
		},
		Manifest:  session.Manifest{FilesRoot: session.FilesRoot{Kind: "directory", Path: s.dir}},
		Sandbox:   confine.Sandbox{Version: 1, RunAs: confine.RunAs{Access: "self"}},
		Lifecycle: session.Lifecycle{TaskAcceptance: "single", AfterTask: "exit", QueueDepth: 1, Conversation: "stateless"},
		Network:   session.Network{BindAddr: "127.0.0.1"},
		Trace:     session.Trace{Capture: "content"},
		Files: []session.StagedFile{
			{Path: component.Path, SHA256: component.SHA256, Bytes: component.Bytes, Mode: "0644"},
			{Path: archive.Path, SHA256: archive.SHA256, Bytes: archive.Bytes, Mode: "0644"},
		},
	}
	w := s.identity(s.work)
	s.doc.Directories.Work = session.WorkDirectory{Path: w.Path, Dev: w.Dev, Ino: w.Ino}
	return s
}

func (s *staged) write(rel, text string) { s.writeAt(filepath.Join(s.dir, rel), text) }

func (s *staged) writeAt(path, text string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// form stores the guest's compiled form as staging does.
func (s *staged) form(source string, form []byte) *session.Compiled {
	s.t.Helper()
	home, err := homeOf(s.doc)
	if err != nil {
		s.t.Fatal(err)
	}
	print := core.Info().Fingerprint
	sum, ok := store.OpenCompiled(home, s.work).Save(source, print, form)
	if !ok {
		s.t.Fatal("the form was not stored")
	}
	return &session.Compiled{Path: filepath.Join(s.home, "compiled", store.FormName(source, print)), SHA256: sum, Fingerprint: print}
}

func (s *staged) file(rel string) session.File { return s.fileAt(filepath.Join(s.dir, rel)) }

func (s *staged) fileAt(path string) session.File {
	s.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return session.File{Path: path, SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(data))}
}

func (s *staged) identity(path string) session.Directory {
	s.t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		s.t.Fatal(err)
	}
	return session.Directory{Path: path, Dev: uint64(st.Dev), Ino: st.Ino}
}

// document is the document as mur-stage prints it.
func (s *staged) document() string {
	s.t.Helper()
	data, err := s.doc.Encode()
	if err != nil {
		s.t.Fatal(err)
	}
	return string(data)
}

// launched is what a launch left.
type launched struct {
	outcome *Outcome
	err     error
	stderr  string
	start   *Start
}

func (s *staged) launch(ctx context.Context) launched { return s.launchText(ctx, s.document()) }

func (s *staged) launchText(ctx context.Context, document string) launched {
	s.t.Helper()
	var l launched
	var stderr bytes.Buffer
	env := cli.Env{Stdin: strings.NewReader(document), Stderr: &stderr, Environ: append([]string{"HOME=" + s.dir}, s.environ...), Dir: s.dir, Now: time.Now}
	l.outcome, l.err = Run(ctx, env, Options{
		NoEnvFile: s.noEnvFile, Task: s.task, Stream: s.stream, Deadline: s.deadline,
		Announce: func(st Start) { l.start = &st },
		Warn: func(w diag.Warning) {
			if s.warn == nil {
				s.t.Errorf("warning %s: %s", w.Code, w.Message)
				return
			}
			s.warn(w)
		},
	})
	l.stderr = stderr.String()
	return l
}

// records returns a file beneath the records directory, "" when missing.
func (s *staged) records(rel string) string {
	data, err := os.ReadFile(filepath.Join(s.doc.Directories.Records.Path, rel))
	if err != nil {
		return ""
	}
	return string(data)
}

// line is a line of the trace.
type line struct {
	Type       trace.Type `json:"event_type"`
	Parent     *string    `json:"parent_id"`
	ID         string     `json:"event_id"`
	ExitStatus string     `json:"exit_status"`
	Status     any        `json:"status"`
	ToolName   string     `json:"tool_name"`
	Error      string     `json:"error"`
	Output     string     `json:"output"`
	ToolCalls  int        `json:"total_tool_calls"`
	Declared   []string   `json:"tools_declared"`
}

func (s *staged) trace() []line {
	s.t.Helper()
	var lines []line
	for text := range strings.Lines(s.records(trace.FileName)) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			s.t.Fatalf("%v in %q", err, text)
		}
		lines = append(lines, l)
	}
	return lines
}

func (s *staged) types() string {
	var types []string
	for _, l := range s.trace() {
		types = append(types, string(l.Type))
	}
	return strings.Join(types, " ")
}

// left lists every file and directory beneath the home but the murmur home's
// own directories and the empty ones of the records.
func (s *staged) left() []string {
	var left []string
	_ = filepath.WalkDir(s.home, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasPrefix(path, s.home+"/compiled/") {
			left = append(left, strings.TrimPrefix(path, s.home+"/"))
		}
		return nil
	})
	return left
}

// grantOf narrows a tool to one folder and no network.
func grantOf(scope string) *policy.Grant {
	return &policy.Grant{FilesystemScope: &scope, NetworkAllow: policy.Rules{}}
}

func envFile(path, sum string) *session.EnvFile { return &session.EnvFile{Path: path, SHA256: sum} }
