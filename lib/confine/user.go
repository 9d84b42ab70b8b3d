package confine

import "github.com/mur-capsules/mur/lib/policy"

// ChooseUser is who the commands of a session run as (CON-278): this program's user,
// but never the host's root unless the session is unconfined. For root that is the
// owner of the work folder, when owner tells that it is not root's, else what the
// reading found, with the folders mapped. Where that is nothing either the class was
// refused.
func ChooseUser(r Reading, declared policy.Class, work string, owner func(path string) (uid, gid int, err error)) RunAs {
	self := RunAs{UID: r.UID, GID: r.GID, Access: "self"}
	if r.UID != 0 || r.Root == nil || declared == policy.Unconfined {
		return self
	}
	if uid, gid, err := owner(work); err == nil && uid != 0 {
		return RunAs{UID: uid, GID: gid, Access: "owner"}
	}
	if r.Root.RunAs == nil {
		return self
	}
	return *r.Root.RunAs
}
