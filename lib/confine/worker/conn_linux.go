//go:build linux && cgo

package worker

/*
#include "protocol.h"
*/
import "C"

import "unsafe"

var steps = map[uint32]string{
	C.MUR_STEP_PACKET: "read packet", C.MUR_STEP_PRIVATE_MOUNTS: "make mounts private", C.MUR_STEP_OPEN_TREE: "open writable tree",
	C.MUR_STEP_SAME_TREE: "compare writable tree", C.MUR_STEP_BIND_TREE: "bind writable tree", C.MUR_STEP_READ_ONLY: "make mounts read-only",
	C.MUR_STEP_WRITABLE_TREE: "set flags of writable tree", C.MUR_STEP_MOVE_TREE: "place writable tree", C.MUR_STEP_PROC: "mount proc", C.MUR_STEP_SHM: "mount shared memory",
	C.MUR_STEP_SUBREAPER: "become subreaper", C.MUR_STEP_CLOSE_RANGE: "mark descriptors close-on-exec", C.MUR_STEP_USER: "switch user",
	C.MUR_STEP_CAPABILITIES: "drop capabilities", C.MUR_STEP_NO_NEW_PRIVS: "set no_new_privs", C.MUR_STEP_RULESET: "create Landlock ruleset",
	C.MUR_STEP_RULE: "add Landlock rule", C.MUR_STEP_RESTRICT: "enter Landlock domain", C.MUR_STEP_SECCOMP: "install filter",
	C.MUR_STEP_DUMPABLE: "become non-dumpable", C.MUR_STEP_STRINGS: "read arguments", C.MUR_STEP_FORK: "fork", C.MUR_STEP_SESSION: "make session",
	C.MUR_STEP_LIMITS: "set limits", C.MUR_STEP_DIRECTORY: "change directory", C.MUR_STEP_STDIO: "place descriptors", C.MUR_STEP_EXECVE: "execve",
	C.MUR_STEP_USERNS: "unshare user namespace", C.MUR_STEP_SETGROUPS: "deny setgroups", C.MUR_STEP_UIDMAP: "write uid_map",
	C.MUR_STEP_GIDMAP: "write gid_map", C.MUR_STEP_REACH: "make tree reachable", C.MUR_STEP_GROUP: "enter group",
}

func bytesOf[T any](v *T) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v)) }
