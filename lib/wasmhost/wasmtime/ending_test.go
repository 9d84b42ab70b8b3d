package wasmtime

import (
	"errors"
	"testing"
)

// CON-263
func TestClassify(t *testing.T) {
	host := &Error{Kind: HostError, Err: errors.New("no")}
	panicked := &Error{Kind: HostPanic, Err: errors.New("bug")}
	handles := &Error{Kind: LimitHit, Limit: Handles}
	exit := func(n int) *Error { return &Error{Kind: Exited, Status: n} }
	late := errors.New("late")
	const trap = "error while executing\n\nCaused by:\n    wasm trap: integer divide by zero"
	for name, tc := range map[string]struct {
		d    ending
		want Error
	}{
		"a trap":                        {ending{report: trap}, Error{Kind: Trapped}},
		"anything else":                 {ending{report: "component imports instance `a:b/c`"}, Error{Kind: Failed}},
		"refused growth, then a trap":   {ending{report: trap, memoryRefused: true}, Error{Kind: LimitHit, Limit: MemoryBytes}},
		"refused growth, then late":     {ending{report: trap, memoryRefused: true, over: late}, Error{Kind: LimitHit, Limit: MemoryBytes}},
		"refused growth, then exit 2":   {ending{report: trap, memoryRefused: true, fault: host, exit: exit(2)}, Error{Kind: LimitHit, Limit: MemoryBytes}},
		"refused growth, then exit 0":   {ending{report: trap, memoryRefused: true, fault: host, exit: exit(0)}, Error{Kind: Exited}},
		"refused growth, then the host": {ending{report: trap, memoryRefused: true, fault: host}, Error{Kind: HostError}},
		"a panic of the host":           {ending{report: trap, memoryRefused: true, fault: panicked, over: late}, Error{Kind: HostPanic}},
		"a failure of the host":         {ending{report: trap, fault: host}, Error{Kind: HostError}},
		"a late failure of the host":    {ending{report: trap, fault: host, over: late}, Error{Kind: Interrupted}},
		"late":                          {ending{report: "late", over: late}, Error{Kind: Interrupted}},
		"an exit":                       {ending{report: trap, fault: host, exit: exit(1)}, Error{Kind: Exited, Status: 1}},
		"an exit when late":             {ending{report: trap, fault: host, exit: exit(1), over: late}, Error{Kind: Exited, Status: 1}},
		"handles":                       {ending{report: trap, fault: handles}, Error{Kind: LimitHit, Limit: Handles}},
		"a table":                       {ending{report: "table minimum size of 11 elements exceeds table limits"}, Error{Kind: LimitHit, Limit: TableElements}},
		"instances":                     {ending{report: "resource limit exceeded: instance count too high at 4"}, Error{Kind: LimitHit, Limit: Instances}},
		"a host that speaks of tables":  {ending{report: "exceeds table limits", fault: host}, Error{Kind: HostError}},
	} {
		got := tc.d.classify()
		if got.Kind != tc.want.Kind || got.Limit != tc.want.Limit || got.Status != tc.want.Status || got.Detail == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestErrorText(t *testing.T) {
	for _, tc := range []struct {
		e    Error
		want string
	}{
		{Error{Kind: Failed, Detail: "one\n\nCaused by:\n    0: two\n    1: three\n"}, "one: three"},
		{Error{Kind: Failed, Detail: "error while executing at wasm backtrace:\n  0: f\n\nCaused by:\n    too much"}, "too much"},
		{Error{Kind: Failed, Detail: "alone"}, "alone"},
		{Error{Kind: Exited, Status: 3}, "exit status 3"},
		{Error{Kind: LimitHit, Limit: Handles}, "limit reached: handles"},
		{Error{Kind: Trapped, Trap: "wasm trap: x", Detail: "long"}, "wasm trap: x"},
	} {
		if got := tc.e.Error(); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}
