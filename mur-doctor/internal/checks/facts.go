package checks

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/confine"
)

// Facts are what was found of the kernel beside the probe's reading: what mur
// builds on, and what a reader of a report asks next. Nothing in mur decides by
// them; they explain the reading. All are empty off Linux.
type Facts struct {
	// Namespaces says for each kind whether an own one can be made by this user:
	// "" for yes, else the system's error.
	Namespaces map[string]string `json:"namespaces"`
	// Calls says for each system call mur uses whether the kernel answers it.
	Calls map[string]bool `json:"calls"`
	// SeccompNotify says whether a filter can hand calls to a supervisor.
	SeccompNotify bool `json:"seccomp_notify"`
	// MemfdNoexec is vm.memfd_noexec, nil where the kernel has no such setting.
	MemfdNoexec *int64 `json:"memfd_noexec"`
	// MaxUserNamespaces is user.max_user_namespaces, nil where it is not shown.
	MaxUserNamespaces *int64 `json:"max_user_namespaces"`
	OpenFiles         Limit  `json:"open_files"`
	// CgroupV2 are the controllers of the v2 tree, nil where none is mounted;
	// CgroupV1 maps each v1 controller to its mount point.
	CgroupV2 []string          `json:"cgroup_v2"`
	CgroupV1 map[string]string `json:"cgroup_v1"`
	// Systemd says whether systemd runs this system (sd_booted(3)).
	Systemd bool `json:"systemd"`
}

// Limit is a limit of this process; a value without bound is the largest there is.
type Limit struct {
	Soft uint64 `json:"soft"`
	Hard uint64 `json:"hard"`
}

// leastOpenFiles is what a session with a few connections and guests opens.
const leastOpenFiles = 1024

// rows explains the facts.
func (f Facts) rows() []Check {
	rows := []Check{f.systemCalls(), f.namespaces(), f.cgroupLayout(), f.memfd(), f.openFiles()}
	return append(rows, Check{Name: "tun", Status: OK, Message: "/dev/net/tun is not needed: connections of commands are relayed without a tunnel device"})
}

func (f Facts) systemCalls() Check {
	var missing []string
	names := slices.Sorted(maps.Keys(f.Calls))
	for _, c := range names {
		if !f.Calls[c] {
			missing = append(missing, c)
		}
	}
	if missing != nil {
		return Check{
			Name: "system-calls", Status: Warning, Message: "the kernel, or a filter this process runs under, refuses " + strings.Join(missing, ", "),
			Remedy: "use Linux 5.12 or later, and a container profile that lets these calls through",
		}
	}
	return ok("system-calls", "the kernel answers "+strings.Join(names, ", "))
}

// cureNamespaces is what helps where namespaces of one's own can not be made.
func (f Facts) cureNamespaces() string {
	if f.MaxUserNamespaces != nil && *f.MaxUserNamespaces == 0 {
		return "raise the limit: sysctl user.max_user_namespaces=15000"
	}
	return "let this user make namespaces: sysctl kernel.unprivileged_userns_clone=1 where there is such a setting, and in a container a seccomp profile without its ban on unshare and clone, or the SYS_ADMIN capability"
}

func (f Facts) namespaces() Check {
	var can, cannot []string
	for _, kind := range slices.Sorted(maps.Keys(f.Namespaces)) {
		if reason := f.Namespaces[kind]; reason != "" {
			cannot = append(cannot, kind+" ("+reason+")")
		} else {
			can = append(can, kind)
		}
	}
	if cannot != nil {
		return Check{
			Name: "namespaces", Status: Warning, Code: "E-CAP-003", Message: "own namespaces can not be made: " + strings.Join(cannot, ", "),
			Remedy: f.cureNamespaces(),
		}
	}
	return ok("namespaces", "own namespaces can be made: "+strings.Join(can, ", "))
}

// cgroupLayout says which hierarchies are there; whether a scope can be made in
// them is another row.
func (f Facts) cgroupLayout() Check {
	v1 := slices.Sorted(maps.Keys(f.CgroupV1))
	v2 := strings.Join(f.CgroupV2, ", ")
	if v2 == "" {
		v2 = "no controller"
	}
	message := "no cgroup hierarchy is mounted"
	switch {
	case f.CgroupV2 != nil && len(v1) > 0:
		message = "hybrid: v2 carries " + v2 + "; v1 carries " + strings.Join(v1, ", ")
	case f.CgroupV2 != nil:
		message = "v2 alone, with " + v2
	case len(v1) > 0:
		message = "v1 alone, with " + strings.Join(v1, ", ")
	}
	return ok("cgroup-layout", message)
}

// memfd is about hole 2 of what Landlock does not see: files without a name.
func (f Facts) memfd() Check {
	setting := "the kernel has no vm.memfd_noexec"
	if f.MemfdNoexec != nil {
		setting = fmt.Sprintf("vm.memfd_noexec is %d", *f.MemfdNoexec)
	}
	return ok("memfd", setting+"; it is not relied on: from scoped on the filter keeps commands from executing nameless files")
}

func (f Facts) openFiles() Check {
	message := fmt.Sprintf("%d files can be open at once, %d if raised", f.OpenFiles.Soft, f.OpenFiles.Hard)
	if f.OpenFiles.Hard >= leastOpenFiles {
		return ok("open-files", message)
	}
	return Check{Name: "open-files", Status: Warning, Message: message + fmt.Sprintf("; a session may need %d", leastOpenFiles), Remedy: fmt.Sprintf("raise the limit: ulimit -Hn %d, or LimitNOFILE of the service", leastOpenFiles)}
}

// landlockRights are what each ABI of Landlock added (landlock(7)).
var landlockRights = []struct {
	abi  int
	what string
}{
	{1, "files"}, {2, "renames between directories"}, {3, "truncation"}, {4, "TCP ports"}, {5, "ioctl on devices"}, {6, "signals and abstract sockets"}, {7, "audit"},
}

// landlock says what the security module can hold here and what it can not:
// nobody should take it for more than it is.
func landlock(l confine.Landlock) Check {
	var holds, lacks []string
	for _, r := range landlockRights {
		if l.ABI >= r.abi {
			holds = append(holds, r.what)
		} else {
			lacks = append(lacks, r.what)
		}
	}
	lacks = append(lacks, "UDP", "path-named unix sockets", "memory mapped for execution")
	if l.State == confine.LandlockEnforced {
		return ok("landlock", fmt.Sprintf("Landlock is enforced, ABI %d: it holds %s; it does not know %s, which the network namespace, the seccomp filter and noexec mounts hold",
			l.ABI, strings.Join(holds, ", "), strings.Join(lacks, ", ")))
	}
	return Check{
		Name: "landlock", Status: Warning, Code: "E-CAP-003", Message: fmt.Sprintf("Landlock is %s, so nothing keeps commands to their files and containment above advisory is refused", l.State),
		Remedy: confine.Blocker{Name: confine.LandlockUnavailable}.Remedy(),
	}
}

// appArmor explains userns_grant (CON-18) and how to load the profile (CON-19).
func appArmor(r confine.Reading) Check {
	const load = "load the profile: sudo apparmor_parser -r mur-sealed, from " + profilePlace
	if w, open := r.OpenNamespaces(); open {
		return Check{Name: "apparmor", Status: Warning, Code: w.Code, Message: w.Message, Remedy: load + ", then sysctl kernel.apparmor_restrict_unprivileged_userns=1"}
	}
	switch *r.UsernsGrant {
	case confine.UsernsAppArmorAbsent:
		return ok("apparmor", "AppArmor does not restrict user namespaces here (apparmor_absent)")
	case confine.UsernsProfile:
		return ok("apparmor", "this program runs under the AppArmor profile mur-sealed (profile_confining)")
	default:
		return Check{Name: "apparmor", Status: Warning, Code: "E-CAP-003", Message: "AppArmor withholds user namespaces from mur (withheld)", Remedy: load}
	}
}

// profilePlace is where the sources have the profile.
const profilePlace = "docs/apparmor/mur-sealed"
