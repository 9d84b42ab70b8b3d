// Package confine decides how far a session can be confined on a host and says
// why. It is pure: a Reading of the host and a declared class go in, an achieved
// class with its reasons comes out. Nothing here touches the kernel; the leaves
// below it take readings (confine/probe) and carry plans out.
//
// mur-stage decides once and writes the result into the staged-session
// document (CON-1); mur-launch and mur-shell only compare (CON-2, CON-5);
// mur-doctor prints every reading, blocker and remedy (CON-4).
package confine

import (
	"fmt"
	"syscall"
)

// Reading is what one probe of the host found: the member host_probe of the
// staged-session document (CON-48).
type Reading struct {
	BootID         string    `json:"boot_id"`
	KernelRelease  string    `json:"kernel_release"`
	UID            int       `json:"uid"`
	GID            int       `json:"gid"`
	Landlock       Landlock  `json:"landlock"`
	Seccomp        bool      `json:"seccomp"`
	MountNS        bool      `json:"mountns"`
	NetNS          bool      `json:"netns"`
	IPv6           bool      `json:"ipv6"`
	ProcView       string    `json:"proc_view"`    // private or host
	UsernsGrant    *string   `json:"userns_grant"` // CON-17; null off Linux
	SealedBlocker  *Blocker  `json:"sealed_blocker"`
	NetworkBlocker *Blocker  `json:"network_blocker"`
	Cgroup         Cgroup    `json:"cgroup"`
	Root           *RootUser `json:"root"` // null unless uid is 0
}

// Linux tells whether the host runs Linux. On another system no mechanism is
// there, and what only Linux can give is not asked for either (CON-7).
func (r Reading) Linux() bool { return r.SealedBlocker == nil || r.SealedBlocker.Name != NotLinux }

// tried tells whether the mechanisms could be tried at all. Where they could not,
// that is the reason for whatever is missing, of every class.
func (r Reading) tried() bool {
	return r.SealedBlocker == nil || r.SealedBlocker.Name != NotLinux && r.SealedBlocker.Name != ProbeUnavailable
}

// The states of Landlock (CON-15): only Enforced counts as present.
const (
	LandlockEnforced = "enforced"
	LandlockPartial  = "partial"
	LandlockAbsent   = "absent"
)

// Landlock is the state of the security module and the ABI number it reports.
type Landlock struct {
	State string `json:"state"`
	ABI   int    `json:"abi"`
}

// Blocker names the piece that is missing, the step that showed it and the
// system's error number, 0 where there is none.
type Blocker struct {
	Name  string `json:"name"`
	Step  string `json:"step"`
	Errno int    `json:"errno"`
}

// Cgroup says which hierarchies would carry a session's scope. Version is 2, 1
// or null; Hierarchies maps a controller to the absolute path of the group it
// would be made in.
type Cgroup struct {
	Version     *int              `json:"version"`
	Controllers []string          `json:"controllers"`
	Hierarchies map[string]string `json:"hierarchies"`
	Blocker     *Blocker          `json:"blocker"`
}

// RootUser says as whom commands could run when the program runs as root
// (CON-278). Access is owner or idmap; RunAs is nil when neither is possible.
type RootUser struct {
	RunAs   *RunAs   `json:"run_as"`
	Blocker *Blocker `json:"blocker"`
}

// The values of userns_grant (CON-18).
const (
	UsernsAppArmorAbsent = "apparmor_absent"
	UsernsProfile        = "profile_confining"
	UsernsHostWide       = "restriction_disabled_host_wide"
	UsernsWithheld       = "withheld"
)

// Tier is the set of mechanisms a host has, by its wire name.
type Tier string

// The tiers, strongest first (CON section 2).
const (
	TierSealed  Tier = "mountns+pivot_root+landlock+seccomp"
	TierScoped  Tier = "landlock+seccomp"
	TierSeccomp Tier = "seccomp-only"
	TierNone    Tier = "none"
)

// Tier is the first row of the table in CON section 2 that the reading meets.
func (r Reading) Tier() Tier {
	landlock := r.Landlock.State == LandlockEnforced
	switch {
	case landlock && r.Seccomp && r.MountNS:
		return TierSealed
	case landlock && r.Seccomp:
		return TierScoped
	case r.Seccomp:
		return TierSeccomp
	default:
		return TierNone
	}
}

// The blockers of CON-20, in the order one is chosen.
const (
	NotLinux            = "not-linux"
	AppArmorMissing     = "apparmor-profile-missing"
	KernelUnsupported   = "kernel-unsupported"
	NamespaceDenied     = "namespace-denied"
	IDMapDenied         = "idmap-denied"
	MountDenied         = "mount-denied"
	PivotDenied         = "pivot-denied"
	LandlockUnavailable = "landlock-unavailable"
	ProbeUnfinished     = "probe-did-not-finish" // CON-11
	ProbeUnavailable    = "probe-unavailable"    // a build without cgo can not probe
)

var remedies = map[string]string{
	NotLinux:            "use a Linux host or a Linux virtual machine",
	AppArmorMissing:     "load the AppArmor profile mur-sealed",
	KernelUnsupported:   "enable CONFIG_USER_NS in the kernel and set the sysctl user.max_user_namespaces above 0",
	NamespaceDenied:     "in a container add the SYS_ADMIN capability, or run outside of it",
	IDMapDenied:         "look at the namespace limit, the security module, and whether an outer user namespace maps this user",
	MountDenied:         "look at the security module's mount rule",
	PivotDenied:         "allow pivot_root in the AppArmor profile or in the container's seccomp profile",
	LandlockUnavailable: "use a kernel from 5.13 on with landlock in its list of active security modules",
	ProbeUnfinished:     "run mur-doctor to see which probe hangs",
	ProbeUnavailable:    "build mur with cgo",
}

// String names the piece, the step and the system's error.
func (b *Blocker) String() string {
	if b == nil {
		return "unknown reason"
	}
	s := b.Name
	if b.Step != "" {
		s += " at " + b.Step
	}
	if b.Errno != 0 {
		s += fmt.Sprintf(" (%s, errno %d)", syscall.Errno(b.Errno), b.Errno)
	}
	return s
}

// Remedy says what cures the blocker (CON-20).
func (b Blocker) Remedy() string { return remedies[b.Name] }
