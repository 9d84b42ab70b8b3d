//go:build linux && cgo

package worker

/*
#include "idmap.h"
*/
import "C"

import (
	"fmt"
	"os"
	"syscall"
)

// IDMap makes a user namespace whose map shows what root owns as uid's and gid's,
// for Setup.IDMap (CON-278, mount_setattr(2)). Only root can. The caller closes
// the file, which is all that keeps the namespace.
func IDMap(uid, gid int) (*os.File, error) {
	fd := C.mur_idmap(C.uint(uid), C.uint(gid))
	if fd < 0 {
		return nil, fmt.Errorf("make a user namespace that maps root to uid %d: %w", uid, syscall.Errno(-fd))
	}
	return os.NewFile(uintptr(fd), "id map"), nil
}
