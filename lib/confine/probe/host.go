// Package probe takes a confine.Reading of the host it runs on. It exercises
// every mechanism for real, each in a short-lived child, and infers nothing
// from version numbers or configuration files (CON-8). It decides nothing:
// what a reading means is package confine's.
package probe

import (
	"os"
	"strings"

	"github.com/mur-capsules/mur/lib/confine"
)

func trimmed(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// usernsGrant reads AppArmor's switches (P3, CON-18); read returns a file's
// trimmed text or "".
func usernsGrant(read func(path string) string) string {
	if on := read("/sys/module/apparmor/parameters/enabled"); on != "Y" && on != "1" {
		return confine.UsernsAppArmorAbsent
	}
	restricted := read("/sys/module/apparmor/parameters/restrict_unprivileged_userns")
	if restricted == "" {
		restricted = read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
	}
	switch {
	case restricted == "":
		return confine.UsernsAppArmorAbsent
	case restricted == "0" || restricted == "N":
		return confine.UsernsHostWide
	case strings.HasPrefix(read("/proc/self/attr/current"), "mur-sealed"):
		return confine.UsernsProfile
	default:
		return confine.UsernsWithheld
	}
}
