package workfs

import (
	"fmt"
	"os"
	"syscall"
)

// Owner is whose a file is, links followed (stat(2)).
func Owner(path string) (uid, gid int, err error) {
	fi, err := os.Stat(path)
	if err != nil {
		return 0, 0, err
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, fmt.Errorf("the owner of %s is not known", path)
	}
	return int(st.Uid), int(st.Gid), nil
}
