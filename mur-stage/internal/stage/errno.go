package stage

import "syscall"

// errNotEmpty is what removing a directory that holds something gives.
const errNotEmpty = syscall.ENOTEMPTY
