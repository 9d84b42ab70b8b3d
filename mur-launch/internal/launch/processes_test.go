package launch

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/session"
)

func shellDocument() *session.Document {
	d := &session.Document{SessionID: "ses_0193f6a1b2c37d4e8f90a1b2c3d4e5f6", Kind: session.KindScript}
	d.Policy.ShellAllow = []string{"sh"}
	d.Policy.Resources = (*policy.DeclaredResources)(nil).Resolve()
	d.HostProbe.NetNS = true
	d.Sandbox.AppliedTier = string(confine.TierScoped)
	return d
}

// SES-107, SES-110, CON-28, CON-177
func TestWhatASessionOfProcessesNeeds(t *testing.T) {
	one := int64(1)
	for name, c := range map[string]struct {
		edit                   func(*session.Document)
		reaches, scope, guards bool
	}{
		"commands": {func(*session.Document) {}, true, true, true},
		"nothing":  {func(d *session.Document) { d.Policy.ShellAllow = nil }, false, true, true},
		"a native": {func(d *session.Document) {
			d.Policy.ShellAllow = nil
			d.Artifacts = []session.Artifact{{Implementation: session.ImplNative}}
		}, true, true, true},
		"children":   {func(d *session.Document) { d.Policy.ShellAllow, d.Policy.SpawnAllow = nil, []string{"a/b"} }, true, true, true},
		"unconfined": {func(d *session.Document) { d.Containment.Unconfined, d.Containment.Declared = true, policy.Unconfined }, true, false, false},
		"with a limit": {func(d *session.Document) {
			d.Containment.Unconfined, d.Containment.Declared = true, policy.Unconfined
			d.Policy.DeclaredResources.CgroupPidsMax = &one
		}, true, true, false},
		"with a size": {func(d *session.Document) {
			d.Containment.Unconfined, d.Containment.Declared = true, policy.Unconfined
			d.Policy.DeclaredResources.WorkdirMaxBytes = &one
		}, true, false, true},
	} {
		d := shellDocument()
		c.edit(d)
		if reachesProcess(d) != c.reaches || needsScope(d) != c.scope {
			t.Errorf("%s: reaches %v, scope %v", name, reachesProcess(d), needsScope(d))
		}
		if _, guarded := workdirLimit(d); guarded != c.guards {
			t.Errorf("%s: guarded %v", name, guarded)
		}
	}
}

// DIA-90, CON-178
func TestScopeThatCanNotBeMade(t *testing.T) {
	d := shellDocument()
	_, err := makeScope(d, confine.Cgroup{Blocker: &confine.Blocker{Name: "delegation-missing", Step: "make a group in /sys/fs/cgroup/x", Errno: 13}})
	var e *diag.Error
	if !errors.As(err, &e) || e.Code != "E-RUN-012" || !strings.Contains(e.Message, "make a group in /sys/fs/cgroup/x (permission denied, errno 13)") {
		t.Fatal(err)
	}
	if hints := strings.Join(e.Hints, "\n"); !strings.Contains(hints, "Delegate=yes") || !strings.Contains(hints, "mur-doctor") || e.Names["delegation"] == nil {
		t.Errorf("%q", hints)
	}
}

// CON-268, DIA-137 to DIA-141, DIA-146
func TestTierWarnings(t *testing.T) {
	for name, c := range map[string]struct {
		edit    func(*session.Document)
		verbose bool
		codes   string
	}{
		"scoped":        {func(*session.Document) {}, false, ""},
		"and more":      {func(*session.Document) {}, true, "W-SEC-005"},
		"seccomp alone": {func(d *session.Document) { d.Sandbox.AppliedTier = string(confine.TierSeccomp) }, true, "W-SEC-002"},
		"nothing":       {func(d *session.Document) { d.Sandbox.AppliedTier = string(confine.TierNone) }, false, "W-SEC-001"},
		"bash, held":    {func(d *session.Document) { d.Sandbox.AppliedTier = string(confine.TierNone); bash(d) }, false, "W-SEC-001"},
		"bash, unconfined": {func(d *session.Document) {
			d.Sandbox.AppliedTier = string(confine.TierNone)
			d.Containment.Unconfined, d.Containment.Declared = true, policy.Unconfined
			bash(d)
		}, false, "W-SEC-001 W-SEC-003"},
		"bash, no namespace": {func(d *session.Document) {
			d.Sandbox.AppliedTier = string(confine.TierNone)
			d.HostProbe.NetNS = false
			bash(d)
		}, false, "W-SEC-001 W-SEC-003"},
	} {
		d := shellDocument()
		c.edit(d)
		var codes []string
		for _, w := range tierWarnings(d, true, c.verbose) {
			codes = append(codes, string(w.Code))
		}
		if got := strings.Join(codes, " "); got != c.codes {
			t.Errorf("%s: %q, want %q", name, got, c.codes)
		}
	}
}

func bash(d *session.Document) {
	d.Policy.ShellAllow = []string{"bash"}
	d.Policy.NetworkAllow = policy.Rules{{Host: "example.com"}}
}

// SHL section 5, AGT-158
func TestVariablesOfTheSession(t *testing.T) {
	d := shellDocument()
	if v := variables(d); len(v) != 0 {
		t.Errorf("%v", v)
	}
	config := `{"a":1}`
	d.Inference = &session.Inference{Transport: "http", Model: "big", Choices: []session.Choice{{Driver: "ana/m", Model: "big", ConfigJSON: &config}}}
	var got []string
	for k, v := range variables(d) {
		got = append(got, k+"="+v)
	}
	slices.Sort(got)
	if want := `MURMUR_INFERENCE_DRIVER=ana/m MURMUR_INFERENCE_DRIVER_CONFIG={"a":1} MURMUR_INFERENCE_MODEL=big MURMUR_INFERENCE_TRANSPORT=http`; strings.Join(got, " ") != want {
		t.Errorf("%q", got)
	}
}

// SHL-22: a session that must end before its capsule runs ends as soon as it does,
// and for the first reason alone.
func TestOverBeforeTheCapsuleRuns(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	l := &launching{procs: &processes{}}
	l.procs.over(first)
	l.procs.over(second)
	ctx, fail := context.WithCancelCause(context.Background())
	l.failing(fail)
	if context.Cause(ctx) != first || l.procs.fatal != first {
		t.Errorf("%v, %v", context.Cause(ctx), l.procs.fatal)
	}
	ctx, fail = context.WithCancelCause(context.Background())
	l = &launching{procs: &processes{}}
	l.failing(fail)
	if ctx.Err() != nil {
		t.Error("ended for nothing")
	}
	l.procs.over(second)
	if context.Cause(ctx) != second {
		t.Errorf("%v", context.Cause(ctx))
	}
	(&launching{}).failing(fail)
	(&launching{}).closeProcesses()
}
