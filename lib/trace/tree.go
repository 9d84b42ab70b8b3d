package trace

import "strings"

// nodes are the current nodes of the event tree, as event ids; "" for none.
type nodes struct {
	session, task, turn string
}

// parentRule says which of the current nodes an event hangs from (TRC-10).
type parentRule int

const (
	underSession parentRule = iota // the session node
	underTask                      // the task node, else the session node
	underTurn                      // the turn node, else the task node, else the session node
	underPlan                      // a plan node the caller names, else the session node
	root                           // none
)

var parentRules = map[Type]parentRule{
	"session_start": root,

	"task_end": underTask, "task_failed": underTask, "task_reopened": underTask,
	"task_continued": underTask, "task_canceled": underTask, "context_seed": underTask,
	"harness_start": underTask, "harness_session": underTask, "harness_warning": underTask,
	"harness_note": underTask, "harness_retry": underTask, "harness_failed": underTask,
	"harness_interrupt": underTask, "harness_exit": underTask, "harness_session_forgotten": underTask,
	"member_call_busy": underTask, "member_call_start": underTask, "member_call": underTask,

	"tool_call": underTurn, "skill_call": underTurn, "shell": underTurn, "shell_detached": underTurn,
	"shell_detach_unrecorded": underTurn, "compaction": underTurn, "compaction_declined": underTurn,
	"tools_refreshed": underTurn, "control_applied": underTurn, "call_denied": underTurn,
	"protected_path_denied": underTurn, "tool_input_refused": underTurn,
	"spend_ceiling_reached": underTurn, "call_deadline": underTurn,

	"plan_step_start": underPlan, "plan_step": underPlan, "plan_end": underPlan,
}

// ruleOf is the row of the table in TRC-10 an event belongs to. An inference
// hangs from the task as an agent turn and from the turn as a hook's own.
func ruleOf(p Payload) parentRule {
	if i, ok := p.(Inference); ok {
		if i.Origin != "" {
			return underTurn
		}
		return underTask
	}
	return parentRules[p.Type()]
}

// parent returns the event id an event hangs from, "" for none.
func (n nodes) parent(r parentRule) string {
	switch r {
	case root:
		return ""
	case underTask:
		return first(n.task, n.session)
	case underTurn:
		return first(n.turn, n.task, n.session)
	default:
		return n.session
	}
}

// after returns the current nodes once the event with the given id is written
// (TRC-11): an agent turn's inference becomes the turn node, both ends of a
// task clear it, task_end clears the task node.
func (n nodes) after(p Payload, id string) nodes {
	switch e := p.(type) {
	case SessionStart:
		n.session = id
	case TaskStart:
		n.task, n.turn = id, ""
	case TaskEnd:
		n.task, n.turn = "", ""
	case Inference:
		if e.Origin == "" {
			n.turn = id
		}
	}
	return n
}

func first(ids ...string) string {
	for _, id := range ids {
		if id != "" {
			return id
		}
	}
	return ""
}

// HookOrigin is the origin of a hook's own inference.
func HookOrigin(hook string) string { return "hook:" + hook }

// HookName returns the hook an origin names, and whether it names one.
func HookName(origin string) (string, bool) { return strings.CutPrefix(origin, "hook:") }
