package terms

import "fmt"

// ExecHint says why a program that lies in a folder commands may write can not be
// executed, and what would allow it (CON-285); "" for any other.
func (t *Terms) ExecHint(program string) string {
	f := t.Plan.Folders
	if t.Policy.WorkdirExec {
		return ""
	}
	for dir, name := range map[string]string{f.Work: "the work folder", f.Tmp: "the temporary folder", f.Home: "the session's home"} {
		if within(program, dir) {
			return fmt.Sprintf("it lies in %s, where nothing can be executed; capabilities.filesystem.workdir_exec (--workdir-exec) would allow it", name)
		}
	}
	return ""
}
