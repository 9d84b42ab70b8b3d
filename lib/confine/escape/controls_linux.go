package escape

import "fmt"

// control is the same operation inside the grants (CON-275). Each gets a file of
// its own, n, so that none disturbs another; the set-up made files own-0 to
// own-N in the work folder.
func control(t Try, n int) []string {
	if t.Control != nil {
		return t.Control
	}
	own := fmt.Sprintf("$WORK/controls/own-%d", n)
	fresh := fmt.Sprintf("$WORK/controls/fresh-%d", n)
	switch op := t.Do[0]; op {
	case "cat":
		return []string{"read", own}
	case "read", "stat", "chmod", "utimes", "truncate", "append", "unlink", "open", "open-write", "write", "open-trunc":
		return []string{op, own}
	case "setxattr":
		return []string{"chmod", own}
	case "list":
		return []string{op, "$WORK"}
	case "create", "mkdir", "mkfifo", "bind-unix":
		return []string{"create", fresh}
	case "rename", "link":
		return []string{op, own, fresh}
	case "symlink":
		if t.Do[3] == "cat" {
			return []string{op, own, fresh, "read"}
		}
		return []string{op, own, fresh, t.Do[3]}
	case "exec", "execveat", "copy-exec", "rename-exec", "link-exec", "symlink-exec":
		return []string{"exec", "$TRUE"}
	case "reopen", "up", "processes", "handle":
		return []string{"read", own}
	case "unix", "datagram-pair":
		return []string{"pass"}
	case "socket", "socket-garbage":
		return []string{"socket", "2", "1", "0"}
	case "call", "call-32", "clone", "clone3", "sweep":
		return []string{"call", "#getpid"}
	case "kill", "prlimit", "affinity", "pidfd-getfd", "vm-read":
		return []string{"kill", "0", "0"}
	case "raise":
		return []string{"prlimit", "0"}
	default:
		return nil
	}
}
