package confine

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/policy"
)

func capable() Reading {
	return Reading{BootID: "b", UID: 1000, Landlock: Landlock{State: LandlockEnforced, ABI: 7}, Seccomp: true, MountNS: true, NetNS: true}
}

func with(change func(*Reading)) Reading {
	r := capable()
	change(&r)
	return r
}

// untried is what a host reads whose mechanisms can not be tried.
func untried(blocker string) Reading {
	b := &Blocker{Name: blocker}
	return Reading{UID: 501, Landlock: Landlock{State: LandlockAbsent}, ProcView: "host", SealedBlocker: b, NetworkBlocker: b, Cgroup: Cgroup{Blocker: b}}
}

// CON-7: tier none, ceiling advisory, one plan without a mechanism.
func TestAnotherSystem(t *testing.T) {
	r := untried(NotLinux)
	if r.Linux() || !untried(ProbeUnavailable).Linux() || !capable().Linux() || !with(func(r *Reading) { r.SealedBlocker = &Blocker{Name: MountDenied} }).Linux() {
		t.Error("a host is taken for one of another system")
	}
	if r.Tier() != TierNone {
		t.Errorf("tier %s", r.Tier())
	}
	for declared, want := range map[policy.Class]policy.Class{
		policy.Unconfined: policy.Unconfined, policy.Advisory: policy.Advisory, policy.Scoped: policy.Advisory, policy.Sealed: policy.Advisory,
	} {
		d := Decide(r, declared, nil)
		if d.Achieved != want || d.AppliedTier != TierNone || (d.Refusal() != nil) != (declared > policy.Advisory) {
			t.Errorf("%s: achieved %s with %s, refusal %v", declared, d.Achieved, d.AppliedTier, d.Refusal())
		}
		p := MakePlan(Grants{Reading: r, Decision: d, Folders: Folders{Work: "/w", Tmp: "/t", Home: "/h"}})
		if p.Class != want || p.Network || p.Filter || p.Landlock != 0 || p.PrivateMounts || p.PrivateProc || p.ComposedRoot || len(p.Rules)+len(p.Inside) > 0 {
			t.Errorf("%s: plan %+v", declared, p)
		}
	}
	if r.Cgroup.Missing() == nil {
		t.Error("a scope could be made")
	}
}

// CON-30, CON-31, CON-32, CON-33, CON-34, CON-278
func TestDecide(t *testing.T) {
	noLandlock := with(func(r *Reading) { r.Landlock = Landlock{State: LandlockAbsent} })
	partial := with(func(r *Reading) { r.Landlock.State = LandlockPartial })
	noMount := with(func(r *Reading) {
		r.MountNS = false
		r.SealedBlocker = &Blocker{Name: NamespaceDenied, Step: "unshare user namespace", Errno: 1}
	})
	bare := Reading{Landlock: Landlock{State: LandlockAbsent}}
	root := with(func(r *Reading) {
		r.UID = 0
		r.Root = &RootUser{Blocker: &Blocker{Name: IDMapDenied, Step: "map ids of mount", Errno: 22}}
	})
	exec := []Cap{{Key: "capabilities.filesystem.workdir_exec", Reason: "files in the work folder can be executed"}}
	for _, tc := range []struct {
		name     string
		reading  Reading
		declared policy.Class
		caps     []Cap
		achieved policy.Class
		applied  Tier
		says     []string // in the refusal, in order; empty: none
	}{
		{"sealed host, sealed", capable(), policy.Sealed, nil, policy.Sealed, TierSealed, nil},
		{"sealed host, scoped", capable(), policy.Scoped, nil, policy.Scoped, TierScoped, nil},
		{"sealed host, advisory", capable(), policy.Advisory, nil, policy.Scoped, TierScoped, nil},
		{"unconfined", capable(), policy.Unconfined, nil, policy.Unconfined, TierNone, nil},
		{"no mount namespace, scoped", noMount, policy.Scoped, nil, policy.Scoped, TierScoped, nil},
		{"no mount namespace, sealed", noMount, policy.Sealed, nil, policy.Scoped, TierScoped,
			[]string{"sealed is declared", "gives scoped", "landlock+seccomp", "namespace-denied at unshare user namespace", "errno 1", "never taken instead"}},
		{"no Landlock, scoped", noLandlock, policy.Scoped, nil, policy.Advisory, TierSeccomp, []string{"Landlock is absent"}},
		{"partial Landlock counts as none", partial, policy.Scoped, nil, policy.Advisory, TierSeccomp, []string{"Landlock is partial"}},
		{"nothing, advisory", bare, policy.Advisory, nil, policy.Advisory, TierNone, nil},
		{"another system, scoped", untried(NotLinux), policy.Scoped, nil, policy.Advisory, TierNone,
			[]string{"scoped is declared", "gives advisory", "mechanism: none", "not-linux", "never taken instead", "a Linux host or a Linux virtual machine", "lower the floor"}},
		{"another system, sealed", untried(NotLinux), policy.Sealed, nil, policy.Advisory, TierNone, []string{"sealed is declared", "gives advisory", "not-linux"}},
		{"another system, executable work folder", untried(NotLinux), policy.Scoped, exec, policy.Advisory, TierNone, []string{"workdir_exec"}},
		{"a build that can not probe, scoped", untried(ProbeUnavailable), policy.Scoped, nil, policy.Advisory, TierNone, []string{"probe-unavailable", "build mur with cgo"}},
		{"executable work folder", capable(), policy.Advisory, exec, policy.Advisory, TierScoped, nil},
		{"executable work folder, scoped", noLandlock, policy.Scoped, exec, policy.Advisory, TierSeccomp, []string{"capabilities.filesystem.workdir_exec: files"}},
		{"root without another user", root, policy.Scoped, nil, policy.Advisory, TierScoped, []string{"runs as root", "idmap-denied"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := Decide(tc.reading, tc.declared, tc.caps)
			if d.Achieved != tc.achieved || d.AppliedTier != tc.applied {
				t.Errorf("achieved %s applied %s, want %s %s", d.Achieved, d.AppliedTier, tc.achieved, tc.applied)
			}
			err := d.Refusal()
			if (err != nil) != (len(tc.says) > 0) {
				t.Fatalf("refusal %v", err)
			}
			if err == nil {
				return
			}
			if diag.CodeOf(err) != "E-CAP-003" {
				t.Errorf("code %s", diag.CodeOf(err))
			}
			rest := err.Error()
			if e, ok := diag.AsError(err); ok {
				rest += "\n" + strings.Join(e.Hints, "\n")
			}
			for _, s := range tc.says {
				_, after, found := strings.Cut(rest, s)
				if !found {
					t.Fatalf("%q does not say %q at its place", err, s)
				}
				rest = after
			}
		})
	}
}

// CON-20
func TestEveryBlockerHasARemedy(t *testing.T) {
	for _, name := range []string{NotLinux, AppArmorMissing, KernelUnsupported, NamespaceDenied, IDMapDenied, MountDenied, PivotDenied, LandlockUnavailable} {
		if (Blocker{Name: name}).Remedy() == "" {
			t.Errorf("%s has none", name)
		}
	}
}

// CON-5, DIA-178
func TestChanged(t *testing.T) {
	d := Decide(capable(), policy.Scoped, nil)
	if err := Changed(capable(), capable(), d); err != nil {
		t.Fatal(err)
	}
	for what, found := range map[string]Reading{
		"boot id":   with(func(r *Reading) { r.BootID = "other" }),
		"uid":       with(func(r *Reading) { r.UID = 1 }),
		"host tier": with(func(r *Reading) { r.Seccomp = false }),
		"achieved class": with(func(r *Reading) {
			r.Root = &RootUser{}
		}),
	} {
		err := Changed(capable(), found, d)
		var e *diag.Error
		if !errors.As(err, &e) || e.Code != "E-STG-104" || !strings.Contains(e.Message, what+" was ") || !slices.Contains([]string{"boot id", "uid", "host tier", "achieved class"}, what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
