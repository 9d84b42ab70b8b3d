package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/workfs"
)

// room is a Desk over real folders and a scripted engine.
type room struct {
	*Desk
	dir    string
	engine *engine
	lines  []trace.Payload
	broken error // what the trace answers
	failed error
}

// engine is a wasmhost.Engine whose guests are Go functions, by their code.
type engine struct {
	run      map[string]func(context.Context, *wasmhost.Instance) (wasmhost.ToolResult, error)
	form     string // the bytes Load takes
	compiled []string
	loaded   []string
}

func (e *engine) Info() wasmhost.EngineInfo {
	return wasmhost.EngineInfo{Name: "script", Fingerprint: "f1"}
}
func (e *engine) Close() error { return nil }

func (e *engine) Compile(_ context.Context, wasm []byte, _ wasmhost.Kind) (wasmhost.Guest, error) {
	e.compiled = append(e.compiled, string(wasm))
	if e.run[string(wasm)] == nil {
		return nil, &wasmhost.LoadError{Reason: wasmhost.BadImport, Name: "env/f"}
	}
	return &scripted{e, string(wasm)}, nil
}

func (e *engine) Vet(context.Context, []byte, wasmhost.Kind) error { return errors.ErrUnsupported }

func (e *engine) Load(_ context.Context, file *os.File, _ wasmhost.Kind) (wasmhost.Guest, error) {
	form, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	e.loaded = append(e.loaded, string(form))
	if string(form) != e.form {
		return nil, &wasmhost.LoadError{Reason: wasmhost.NoCompile}
	}
	return &scripted{e, "code"}, nil
}

type scripted struct {
	engine *engine
	code   string
}

func (g *scripted) Interface() string     { return "murmur:tool/run@0.1.0" }
func (g *scripted) Form() ([]byte, error) { return nil, errors.New("no form") }
func (g *scripted) Close() error          { return nil }
func (g *scripted) RunTool(ctx context.Context, in *wasmhost.Instance, _ wasmhost.ToolInput) (wasmhost.ToolResult, error) {
	return g.engine.run[g.code](ctx, in)
}
func (g *scripted) RunCapsule(ctx context.Context, in *wasmhost.Instance) error {
	_, err := g.engine.run[g.code](ctx, in)
	return err
}

// source serves an engine and bytes by name; forms by their path.
type source struct {
	engine *engine
	bytes  map[string]string
}

func (s source) Engine(string) (wasmhost.Engine, error) { return s.engine, nil }
func (s source) Archive(f *session.File, entry string) ([]byte, error) {
	return []byte(s.bytes[entry]), nil
}
func (s source) File(f *session.File) ([]byte, error) { return []byte(s.bytes[f.Path]), nil }
func (s source) Form(_ string, c *session.Compiled) (*os.File, bool) {
	b, ok := s.bytes[c.Path]
	if !ok {
		return nil, false
	}
	f, err := os.CreateTemp("", "mur-launch-form-")
	if err != nil {
		panic(err)
	}
	os.Remove(f.Name())
	if _, err := f.WriteString(b); err != nil {
		panic(err)
	}
	f.Seek(0, io.SeekStart)
	return f, true
}

func (r *room) Record(p trace.Payload) error {
	if r.broken == nil {
		r.lines = append(r.lines, p)
	}
	return r.broken
}

func sum(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

// tool is a declared tool whose archive holds code.
func tool(name, code string) session.Artifact {
	return session.Artifact{
		Name: "local/" + name, ToolName: name, Version: "1", Role: "tool", Implementation: session.ImplCore,
		Archive: &session.File{Path: name}, Payload: &session.Payload{Entry: code, SHA256: sum(code)},
		Origin: session.Origin{Kind: "operator"},
	}
}

func newRoom(t *testing.T, artifacts ...session.Artifact) *room {
	t.Helper()
	r := &room{dir: t.TempDir(), engine: &engine{run: map[string]func(context.Context, *wasmhost.Instance) (wasmhost.ToolResult, error){}}}
	d := document()
	d.Artifacts = artifacts
	src := source{r.engine, map[string]string{}}
	for _, a := range artifacts {
		if a.Payload != nil {
			d.AllowlistedTools = append(d.AllowlistedTools, a.ToolName)
			src.bytes[a.Payload.Entry] = a.Payload.Entry
		}
	}
	open := func(name string) *workfs.Root {
		path := filepath.Join(r.dir, name)
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		root, err := workfs.OpenRoot(path, workfs.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { root.Close() })
		return root
	}
	d.Directories.MurmurHome.Path = filepath.Join(r.dir, "home")
	guests := NewGuests(src)
	r.Desk = NewDesk(Options{
		Document: d, Guests: guests, Trace: r, Fail: func(err error) { r.failed = err },
		Folders: Folders{Work: open("work"), Runtime: open("runtime"), Records: open("records"), Home: open("home")},
	})
	t.Cleanup(func() { r.Close(); guests.Close() })
	return r
}

func passed(data string) (wasmhost.ToolResult, error) {
	return wasmhost.ToolResult{Status: wasmhost.Passed, Data: &data}, nil
}

// TOL-25, TOL-26, TOL-106, TRC-34
func TestInvokeRunsAToolAndRecordsIt(t *testing.T) {
	r := newRoom(t, tool("a", "code"))
	r.engine.run["code"] = func(_ context.Context, in *wasmhost.Instance) (wasmhost.ToolResult, error) {
		if in.Name != "a" || in.HTTP == nil || in.Imports.Invoke != nil || in.Imports.Artifacts != nil {
			t.Errorf("instance %+v", in)
		}
		return passed("done")
	}
	for range 2 {
		res, err := r.Invoke(context.Background(), "a", wasmhost.ToolInput{Data: text(`{}`)})
		if err != nil || *res.Data != "done" {
			t.Fatalf("got %v, %v", res, err)
		}
	}
	if !slices.Equal(r.engine.compiled, []string{"code"}) {
		t.Errorf("compiled %q, want once", r.engine.compiled)
	}
	if len(r.lines) != 2 || r.lines[0].(trace.ToolCall).Status != "ok" {
		t.Errorf("lines %+v", r.lines)
	}
}

// TOL-26, TOL-45, WIT-45
func TestInvokeRefusesUndeclaredNames(t *testing.T) {
	r := newRoom(t, tool("a", "code"))
	_, err := r.Invoke(context.Background(), "b", wasmhost.ToolInput{})
	if !errors.Is(err, wasmhost.ErrDenied) || !strings.Contains(err.Error(), "it declares a") {
		t.Errorf("error %v", err)
	}
	if l := r.lines[0].(trace.ToolCall); l.Status != "error" || l.Error != err.Error() || len(r.engine.compiled) != 0 {
		t.Errorf("line %+v, compiled %q", l, r.engine.compiled)
	}
}

// TOL-40, TRC-35, TOL-26
func TestInvokeReadsASkill(t *testing.T) {
	skill := session.Artifact{Name: "local/s", ToolName: "s", Role: "skill", Implementation: session.ImplSkill, Origin: session.Origin{Kind: "operator"}}
	pulled := skill
	pulled.Name, pulled.ToolName, pulled.Origin = "local/p", "p", session.Origin{Kind: "runtime", Session: "ses_0"}
	r := newRoom(t, skill, pulled)
	for _, name := range []string{"s", "p"} {
		if err := r.folders.Runtime.WriteFile("tools/"+name+"/SKILL.md", []byte("# how")); err != nil {
			t.Fatal(err)
		}
		res, err := r.Invoke(context.Background(), name, wasmhost.ToolInput{})
		if err != nil || res.Status != wasmhost.Passed || *res.Data != "# how" {
			t.Fatalf("got %+v, %v", res, err)
		}
	}
	want := []trace.SkillCall{
		{SkillName: "s", Origin: "operator", Trust: "trusted", OutputBytes: 5, Status: "ok"},
		{SkillName: "p", Origin: "runtime", Trust: "untrusted", OutputBytes: 5, Status: "ok"},
	}
	for i, l := range r.lines {
		if got := l.(trace.SkillCall); got != want[i] {
			t.Errorf("line %+v, want %+v", got, want[i])
		}
	}
	if err := r.folders.Runtime.Remove("tools/s/SKILL.md"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Invoke(context.Background(), "s", wasmhost.ToolInput{}); err == nil || r.lines[2].(trace.SkillCall).Status != "error" {
		t.Errorf("a missing skill: %v, %+v", err, r.lines[2])
	}
}

// TOL-29, TRC-44, CON-262
func TestInvokeTellsHowACallEnded(t *testing.T) {
	r := newRoom(t, tool("a", "code"))
	var fault error
	r.engine.run["code"] = func(context.Context, *wasmhost.Instance) (wasmhost.ToolResult, error) {
		return wasmhost.ToolResult{}, fault
	}
	for _, c := range []struct {
		fault *wasmhost.Fault
		lines []trace.Type
		says  string
	}{
		{&wasmhost.Fault{Cause: wasmhost.Trapped}, []trace.Type{"tool_call"}, "E-RUN-001: local/a@1: the guest trapped"},
		{&wasmhost.Fault{Cause: wasmhost.LimitReached, Limit: "limits.memory_bytes"}, []trace.Type{"tool_call"}, "capabilities.limits.memory_bytes (1048576 bytes)"},
		{&wasmhost.Fault{Cause: wasmhost.DeadlinePassed}, []trace.Type{"call_deadline", "tool_call"}, "passed its deadline of 7s"},
	} {
		fault, r.lines = c.fault, nil
		_, err := r.Invoke(context.Background(), "a", wasmhost.ToolInput{})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want %q", c.fault.Cause, err, c.says)
		}
		var types []trace.Type
		for _, l := range r.lines {
			types = append(types, l.Type())
		}
		if !slices.Equal(types, c.lines) {
			t.Errorf("%s: lines %q, want %q", c.fault.Cause, types, c.lines)
		}
		if d, ok := r.lines[0].(trace.CallDeadline); ok && (d.Component != "local/a" || d.Role != "tool" || d.Seconds != 7) {
			t.Errorf("line %+v", d)
		}
	}
}

// TOL-97 to TOL-100, MAN-76, TRC-82
func TestInvokeGivesWhatTheGrantSays(t *testing.T) {
	scoped := tool("scoped", "code")
	scoped.Grant = &policy.Grant{FilesystemScope: text("in/side"), StateDir: text("")}
	nothing := tool("nothing", "code")
	nothing.Grant = &policy.Grant{}
	r := newRoom(t, scoped, nothing)
	store := filepath.Join(r.dir, "home", "state", "s")
	r.doc.Artifacts[0].Grant.StateDir = &store
	if err := os.MkdirAll(store, 0o700); err != nil {
		t.Fatal(err)
	}
	var dirs []string
	r.engine.run["code"] = func(_ context.Context, in *wasmhost.Instance) (wasmhost.ToolResult, error) {
		dirs = nil
		for _, d := range in.Dirs {
			dirs = append(dirs, d.Guest)
			if err := d.Root.WriteFile("mine", nil, 0o644); err != nil {
				t.Error(err)
			}
			if _, err := d.Root.Stat("../mine"); err == nil {
				t.Error("the folder is not a root of its own")
			}
		}
		if in.HTTP != nil {
			t.Error("a guest without rules got a client")
		}
		return passed("")
	}
	for name, want := range map[string]string{"scoped": ". state", "nothing": ""} {
		if _, err := r.Invoke(context.Background(), name, wasmhost.ToolInput{}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(dirs, " "); got != want {
			t.Errorf("%s has the folders %q, want %q", name, got, want)
		}
	}
	for _, path := range []string{"work/in/side/mine", "home/state/s/mine"} {
		if _, err := os.Stat(filepath.Join(r.dir, path)); err != nil {
			t.Error(err)
		}
	}
	// A link in the place of the scope is refused and not followed.
	if err := os.RemoveAll(filepath.Join(r.dir, "work/in")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(r.dir, filepath.Join(r.dir, "work/in")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Invoke(context.Background(), "scoped", wasmhost.ToolInput{}); err == nil || !strings.Contains(err.Error(), "folder can not be had") {
		t.Errorf("a scope through a link: %v", err)
	}
	if r.folders.Work.Latch().Err() == nil {
		t.Error("the refusal did not latch")
	}
}

// TRC-82
func TestInvokeEndsTheSessionWithoutATrace(t *testing.T) {
	r := newRoom(t, tool("a", "code"))
	r.engine.run["code"] = func(context.Context, *wasmhost.Instance) (wasmhost.ToolResult, error) { return passed("") }
	r.broken = errors.New("disk full")
	if _, err := r.Invoke(context.Background(), "a", wasmhost.ToolInput{}); err == nil || r.failed != r.broken {
		t.Errorf("error %v, session told %v", err, r.failed)
	}
}

// SES-92, ART-134, ART-128, ART-73
func TestGuestsPreferAVerifiedForm(t *testing.T) {
	for _, c := range []struct {
		name     string
		compiled *session.Compiled
		form     string
		loaded   bool
		compiles bool
	}{
		{"no form", nil, "", false, true},
		{"good form", &session.Compiled{Path: "form", Fingerprint: "f1"}, "native", true, false},
		{"form of another engine", &session.Compiled{Path: "form", Fingerprint: "f2"}, "native", false, true},
		{"form gone", &session.Compiled{Path: "elsewhere", Fingerprint: "f1"}, "native", false, true},
		{"form the engine refuses", &session.Compiled{Path: "form", Fingerprint: "f1"}, "damaged", true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := &engine{form: "native", run: map[string]func(context.Context, *wasmhost.Instance) (wasmhost.ToolResult, error){
				"code": func(context.Context, *wasmhost.Instance) (wasmhost.ToolResult, error) { return passed("") },
			}}
			a := tool("a", "code")
			a.Compiled = c.compiled
			g := NewGuests(source{e, map[string]string{"code": "code", "form": c.form}})
			defer g.Close()
			if _, err := g.Artifact(context.Background(), &a); err != nil {
				t.Fatal(err)
			}
			if (len(e.loaded) > 0) != c.loaded || (len(e.compiled) > 0) != c.compiles {
				t.Errorf("loaded %q, compiled %q", e.loaded, e.compiled)
			}
		})
	}
	e := &engine{}
	a := tool("a", "code")
	g := NewGuests(source{e, map[string]string{"code": "other"}})
	if _, err := g.Artifact(context.Background(), &a); err == nil || !strings.Contains(err.Error(), "not the ones staged") || len(e.compiled) > 0 {
		t.Errorf("other bytes: %v, compiled %q", err, e.compiled)
	}
}

// WIT-49, WIT-70
func TestGuestLogIsBounded(t *testing.T) {
	r := newRoom(t, tool("a", "code"))
	r.engine.run["code"] = func(_ context.Context, in *wasmhost.Instance) (wasmhost.ToolResult, error) {
		for range 3 {
			if n, err := io.WriteString(in.Stderr, strings.Repeat("e", 40<<10)); err != nil || n != 40<<10 {
				t.Errorf("wrote %d, %v", n, err)
			}
		}
		return passed("")
	}
	log := filepath.Join(r.dir, "records/logs/guest-a.log")
	for i := range 2 {
		if _, err := r.Invoke(context.Background(), "a", wasmhost.ToolInput{}); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(log); err != nil || info.Size() != int64(i+1)*maxGuestLog {
			t.Errorf("after %d calls: %v, %v", i+1, info, err)
		}
	}
	r.engine.run["code"] = func(_ context.Context, in *wasmhost.Instance) (wasmhost.ToolResult, error) { return passed("") }
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Invoke(context.Background(), "a", wasmhost.ToolInput{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(log); err == nil {
		t.Error("a silent call made a log")
	}
}

// TOL-105
func TestLimitsNeverOverflow(t *testing.T) {
	l := limits(policy.Limits{MemoryBytes: 1, TableElements: 1 << 40, Instances: 1 << 40, DeadlineSeconds: 1 << 62})
	if l.TableElements != 1<<32-1 || l.Instances != 1<<32-1 || l.Deadline < 100*365*24*time.Hour {
		t.Errorf("limits %+v", l)
	}
}
