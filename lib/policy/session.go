package policy

import "github.com/mur-capsules/mur/lib/diag"

// BackgroundWarning is W-SEC-022: commands are allowed and the lifecycle can not
// take the result of one that was moved to the background (MAN-124, MAN-216).
// The words are those of the resolved lifecycle. mur-launch prints it.
func BackgroundWarning(p Policy, taskAcceptance, afterTask string) (diag.Warning, bool) {
	if len(p.ShellAllow) == 0 || taskAcceptance == "queue" && afterTask == "sleep" {
		return diag.Warning{}, false
	}
	w := diag.Warningf("W-SEC-022", "shell",
		"a command that outlives lifecycle.shell_grace_secs goes to the background and its result reaches nobody: "+
			"lifecycle.task_acceptance is %s and lifecycle.after_task is %s, queue and sleep are needed", taskAcceptance, afterTask)
	w.Names = map[string]any{"task_acceptance": taskAcceptance, "after_task": afterTask, "demotes": "lifecycle.shell_grace_secs"}
	return w, true
}
