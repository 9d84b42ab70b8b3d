package terms

import "golang.org/x/sys/unix"

// owner are the ids that own a folder.
func owner(path string) (uid, gid int, ok bool) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return 0, 0, false
	}
	return int(st.Uid), int(st.Gid), true
}
