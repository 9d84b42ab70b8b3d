package record

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/trace/tracegen"

	"github.com/mur-capsules/mur/mur-trace/internal/source"
)

func load(t *testing.T, script string) *Record {
	t.Helper()
	dir := t.TempDir()
	if _, err := tracegen.Script(dir, script); err != nil {
		t.Fatal(err)
	}
	r, err := Load(source.Trace{Path: filepath.Join(dir, trace.FileName), RecordsDir: dir}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// TRC-142, TRC-143, TRC-144: the metrics the scripts of show do not meet, and
// that the quick way of report gives the same as the way of show.
func TestMetrics(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		want   map[string]any
	}{
		"rare events": {`
session_start
task_start
task_reopened {"task_id":"tsk_1","reopen_number":1}
task_end {"task_id":"tsk_1","exit_status":"ok","reopen_count":1}
task_start {"task_id":"tsk_2"}
task_end {"task_id":"tsk_2","exit_status":"canceled"}
plan_start {"plan_id":"p"}
plan_step {"plan_id":"p","step_id":"a","status":"success"}
plan_step {"plan_id":"p","step_id":"b","status":"success"}
plan_step {"plan_id":"p","step_id":"c","status":"skipped"}
plan_end {"plan_id":"p"}
delegation_start {"delegation_id":"dlg_1"}
delegation_start {"delegation_id":"dlg_2"}
delegation {"delegation_id":"dlg_1","outcome":"ok"}
delegation {"outcome":"refused"}
shell_detached {"work_id":"wrk_1"}
shell_abandoned {"work_id":"wrk_1"}
shell_lost {"work_id":"wrk_0"}
compaction {"turn":1,"tokens_before":9,"tokens_after":3}
compaction {"turn":4,"tokens_before":8,"tokens_after":2}
compaction_declined
call_denied
protected_path_denied
protected_path_denied
spend_ceiling_reached
hook_dispatch_error
skill_call {"status":"error","duration_ms":30}
skill_call {"duration_ms":10}
session_end
`, map[string]any{
			"reopens": 1.0, "tasks": 2.0, "tasks_ok": 1.0, "plans": 1.0, "plan_steps_by_status": map[string]any{"success": 2.0, "skipped": 1.0},
			"delegations_by_outcome": map[string]any{"ok": 1.0, "refused": 1.0, "in_flight": 1.0}, "shell_calls": 1.0, "shell_detached": 1.0,
			"shell_abandoned": 1.0, "shell_lost": 1.0, "shell_completed": 0.0, "shell_latency_ms_avg": nil, "compactions": 2.0, "compactions_declined": 1.0,
			"compaction_last": map[string]any{"turn": 4.0, "tokens_before": 8.0, "tokens_after": 2.0}, "denied_calls": 1.0, "protected_path_refusals": 2.0,
			"spend_refusals": 1.0, "hook_faults": 1.0, "skill_calls": 2.0, "skill_ok": 1.0, "skill_error": 1.0, "skill_success_rate": 0.5, "skill_latency_ms_avg": 20.0,
			"turns": 0.0, "input_per_turn": nil, "tool_success_rate": nil, "tool_latency_ms_avg": nil, "cache_read_rate": nil, "provider": map[string]any{
				"input": nil, "output": nil, "cached": nil, "cache_write": nil, "thinking": nil, "turns_reporting": 0.0},
		}},
		"transport process counts failed calls": {`
transport process
session_start {"tool_refresh":null}
inference {"decision":"error","input_tokens":5}
inference {"decision":"end_turn","input_tokens":7,"output_tokens":1}
`, map[string]any{"turns": 2.0, "failed_calls": 1.0, "agent_turns": 2.0, "input_tokens": 12.0, "exit_status": "incomplete"}},
		"http does not": {`
session_start
inference {"decision":"error","input_tokens":5}
inference {"decision":"end_turn","input_tokens":7,"output_tokens":1}
at 70
inference {"decision":"text","origin":"hook:x","input_tokens":1,"output_tokens":0}
`, map[string]any{"turns": 2.0, "failed_calls": 1.0, "agent_turns": 1.0, "input_tokens": 8.0, "duration_ms": 70.0}},
		"provider counts": {`
session_start
inference {"decision":"text","input_tokens_actual":100,"output_tokens_actual":7,"cached_tokens":50,"cache_write_tokens":3,"thinking_tokens":2}
inference {"decision":"text","input_tokens_actual":100}
inference {"decision":"text","cached_tokens":9}
session_end
`, map[string]any{"cache_read_rate": 0.5, "provider": map[string]any{"input": 200.0, "output": 7.0, "cached": 59.0, "cache_write": 3.0, "thinking": 2.0, "turns_reporting": 2.0}}},
	} {
		r := load(t, c.script)
		text, err := json.Marshal(r.Metrics)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		for k, want := range c.want {
			if have, there := got[k]; !there || !reflect.DeepEqual(have, want) {
				t.Errorf("%s: %s is %v, want %v", name, k, have, want)
			}
		}
		m, err := Measure(r.Trace, trace.NewReader(nil))
		if err != nil || m == nil || !reflect.DeepEqual(m.Metrics, r.Metrics) || m.ID != r.ID {
			t.Errorf("%s: report would count otherwise: %+v, %v", name, m, err)
		}
	}
}

// Events can be read again in any order, also those longer than the window.
func TestEventsAgain(t *testing.T) {
	r := load(t, "session_start\ntool_call {\"tool_name\":\"a\"}\ntool_call {\"tool_name\":\"b\"}\nshell\nsession_end\n")
	calls := r.Index("tool_call")
	if len(calls) != 2 || r.Len() != 5 || r.Count("tool_call", "shell") != 3 {
		t.Fatalf("%v of %d", calls, r.Len())
	}
	for _, order := range [][]int{{0, 1}, {1, 0, 1}} {
		for _, i := range order {
			if got := r.At(calls[i]).Get("tool_name").Str(); got != []string{"a", "b"}[i] {
				t.Errorf("%d is %s", i, got)
			}
		}
	}
	n := 0
	for number, l := range r.Events() {
		if n++; int64(n) != number || l.Type() == "" {
			t.Errorf("line %d is %s", number, l.Type())
		}
		if n == 3 {
			break
		}
	}
}
